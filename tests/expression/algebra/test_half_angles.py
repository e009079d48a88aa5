"""One plus or minus a cosine as a square."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from ceql.expression import compile_numpy
from ceql.expression.algebra.half_angles import with_half_angles

U, V = SYMBOLS = sympy.symbols("u v", real=True)
cos, sin = sympy.cos, sympy.sin


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (1 - cos(U), 2 * sin(U / 2) ** 2),
        (cos(U) - 1, -2 * sin(U / 2) ** 2),
        (1 + cos(U * V), 2 * cos(U * V / 2) ** 2),
        (2.5 - 2.5 * cos(U), 5.0 * sin(U / 2) ** 2),
        (V * (1 - cos(U)) / (1 - cos(V)), V * sin(U / 2) ** 2 / sin(V / 2) ** 2),
    ],
)
def test_squares_take_their_place(before, after):
    assert sympy.simplify(with_half_angles(before) - after) == 0
    assert not with_half_angles(before).has(sympy.Add)


@pytest.mark.parametrize("formula", [1 - sin(U), 2 - cos(U), 1 - cos(U) + V, U * cos(V), U])
def test_others_stay(formula):
    assert with_half_angles(formula) == formula


def test_digits_are_kept_near_zero():
    u = np.column_stack([np.geomspace(1e-6, 1e-3, 20), np.ones(20)])
    exact = u[:, 0] ** 2 / 2 - u[:, 0] ** 4 / 24
    got = compile_numpy(with_half_angles(1 - cos(U)), SYMBOLS)(u)
    np.testing.assert_allclose(got, exact, rtol=1e-12)
