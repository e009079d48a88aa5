"""Laws with simple numbers between groups without dimension."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from ceql.closed_form import pure_law
from ceql.dimensions.explained import simple_number
from ceql.expression import compile_numpy
from ceql.expression.prices import structure_price

U, V, ANGLE = sympy.symbols("u v angle", real=True)
exp, cos, sin, sqrt, pi = sympy.exp, sympy.cos, sympy.sin, sympy.sqrt, sympy.pi


def _laws(truth, symbols, x, angles=()):
    y = compile_numpy(truth, symbols)(x)
    return pure_law(x, y, symbols, angles, simple_number, structure_price)


@pytest.mark.parametrize(
    "truth",
    [
        1 / (exp(U) - 1),
        U**3 / (2 * pi * (exp(U / 2) - 1)),
        U * sympy.tanh(2 * U),
        3 / (1 + U**2) ** 2,
        sqrt(1 + 2 * U),
        1 + U / sqrt(1 - U / 3),
        sin(2 * pi * U) ** 2,
        1 - cos(U),
    ],
)
def test_a_law_of_one_group_is_found(truth):
    u = np.geomspace(1e-3, 2.0, 150)[:, None]
    found = _laws(truth, (U,), u)
    assert found
    assert sympy.simplify(found[0] - truth) == 0


@pytest.mark.parametrize(
    ("truth", "angles"),
    [
        (1 / (1 + U * (1 - cos(ANGLE))), (1,)),
        (1 + sqrt(1 + 2 * U) * cos(ANGLE), (1,)),
        (exp(-U * cos(ANGLE)) / 4, (1,)),
    ],
)
def test_an_angle_stands_beside_a_group(truth, angles):
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(0.1, 2.0, 150), rng.uniform(0.1, 3.0, 150)])
    found = _laws(truth, (U, ANGLE), x, angles)
    assert found
    assert sympy.simplify(found[0] - truth) == 0


def test_digits_that_are_lost_tell_laws_apart():
    """exp(u) - 1 of a tiny u is a step function in the last digits; a line would be as good otherwise."""
    u = np.geomspace(1e-13, 1e-10, 200)[:, None]
    found = _laws(U**3 / (exp(U) - 1), (U,), u)
    assert found[0] == U**3 / (exp(U) - 1)


def test_a_small_term_beside_a_law_is_found():
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.uniform(0.1, 0.8, 200), rng.uniform(1.0, 2.0, 200) * 1e-9])
    truth = U / (1 - U**2) ** 2 + 3 * U * V
    found = _laws(truth, (U, V), x)
    assert found
    assert sympy.simplify(found[0] - truth) == 0


@pytest.mark.parametrize("truth", [1.2345 * exp(-U), exp(-1.2345 * U) * U, U**0.3 * exp(U)])
def test_other_numbers_are_left_to_the_search(truth):
    u = np.geomspace(0.01, 2.0, 150)[:, None]
    assert _laws(truth, (U,), u) == []


def test_noise_is_no_law():
    rng = np.random.default_rng(2)
    u = rng.uniform(0.1, 2.0, (150, 1))
    assert pure_law(u, 1.0 + rng.normal(size=150), (U,), (), simple_number, structure_price) == []


def test_functions_that_may_not_be_used_are_not():
    u = np.geomspace(0.01, 2.0, 150)[:, None]
    y = 1.0 / np.expm1(u[:, 0])
    assert pure_law(u, y, (U,), (), simple_number, structure_price, ("sin", "cos")) == []
