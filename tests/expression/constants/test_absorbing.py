"""A sum takes in the number beside it."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.expression import compile_numpy, node_count, parametrise
from ceql.expression.constants.rewrites import with_factors_absorbed

X, Y = sympy.symbols("x y", real=True)
numbers = st.floats(0.3, 9.0).filter(lambda c: abs(c - round(c)) > 1e-3)


def constants(expression: sympy.Expr) -> int:
    return len(parametrise(expression).symbols)


@pytest.mark.parametrize(
    "expression",
    [0.5 * X * (2.1 * X + 3.7), 0.5 * X / (2.1 * X + 3.7), sympy.sin(0.5 * X * (2.1 * X + 3.7)) + 1.5],
)
def test_a_number_too_many_is_taken_in(expression):
    assert constants(with_factors_absorbed(expression)) == constants(expression) - 1


def test_a_number_that_a_sum_would_not_have_stays():
    expression = 0.5 * X * (X + Y)
    assert with_factors_absorbed(expression) == expression


@settings(max_examples=40, deadline=None)
@given(numbers, numbers, numbers, st.sampled_from((1, -1, 2)))
def test_neither_values_nor_sizes_suffer(a, b, c, power):
    expression = a * Y * (b * X + c) ** power + a
    absorbed = with_factors_absorbed(expression)
    x = np.random.default_rng(0).uniform(0.5, 2.0, (20, 2))
    before, after = (compile_numpy(e, (X, Y))(x) for e in (expression, absorbed))
    assert np.allclose(before, after, rtol=1e-12)
    assert node_count(absorbed) <= node_count(expression)
