"""The root of a square, with its sign."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.expression import compile_numpy
from ceql.expression.algebra.squares import root_of_square, signed_root

X, U, T = SYMBOLS = sympy.symbols("x u t", real=True)
POINTS = np.random.default_rng(0).uniform(-1.0, 1.0, (50, 3))
coefficients = st.floats(0.2, 5.0).flatmap(lambda c: st.sampled_from((c, -c)))
powers = st.tuples(*[st.integers(0, 2)] * 3)


def values(expression: sympy.Expr) -> np.ndarray:
    return np.broadcast_to(compile_numpy(expression, SYMBOLS)(POINTS), len(POINTS))


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(powers.filter(any), coefficients, min_size=1, max_size=4))
def test_every_square_has_its_root(terms):
    parts = (c * sympy.prod(s**k for s, k in zip(SYMBOLS, e, strict=True)) for e, c in terms.items())
    root = sympy.Add(*parts)
    found = root_of_square(sympy.expand(root**2), list(SYMBOLS))
    assert found is not None
    scale = np.abs(values(root)).max()
    same = min(np.abs(values(found) - sign * values(root)).max() for sign in (1, -1))
    assert same <= 1e-6 * scale


@pytest.mark.parametrize("expression", [X**2 + U**2, X**3, -(X**2), X**2 + 2.1 * X + 1, sympy.sin(X), sympy.Float(4.0)])
def test_what_is_no_square_has_none(expression):
    assert root_of_square(expression, list(SYMBOLS)) is None


@pytest.mark.parametrize("sign", [1, -1])
def test_a_fraction_keeps_the_sign_of_its_square_part(sign):
    above, below = 0.25 * X**2 - 0.5 * X * U * T + 0.25 * U**2 * T**2, 1.5 - U**2
    root = signed_root(sympy.expand(sign * above) / sympy.expand(sign * below))
    truth = 0.5 * (X - U * T) / sympy.sqrt(1.5 - U**2)
    assert min(np.abs(values(root) - sign * values(truth)).max() for sign in (1, -1)) < 1e-12


def test_what_is_no_fraction_of_squares_gets_a_plain_root():
    assert signed_root(X + 2) == sympy.sqrt(X + 2)
