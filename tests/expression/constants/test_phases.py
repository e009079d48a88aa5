from __future__ import annotations

import math

import numpy as np
import pytest

from ceql.expression import compile_numpy, parametrise, parse_formula
from ceql.expression.constants.rewrites import with_small_phases

NAMES = ("x1", "x2")
SYMBOLS = [parse_formula(name, NAMES) for name in NAMES]
X = np.random.default_rng(0).uniform(-2, 2, (50, 2))


@pytest.mark.parametrize("text", ["sin(2.1*x1 - 12.1665) + x2", "x2*cos(x1 + 45.95)", "log(2.0 + sin(x1*x2 + 9.0))"])
def test_whole_turns_go_and_the_value_stays(text):
    expr = parse_formula(text, NAMES)
    small = with_small_phases(expr)
    np.testing.assert_allclose(compile_numpy(small, SYMBOLS)(X), compile_numpy(expr, SYMBOLS)(X), atol=1e-12)
    assert max(abs(value) for value in parametrise(small).values) <= math.pi


@pytest.mark.parametrize("text", ["sin(2.1*x1 + 0.4)", "exp(x1 + 12.5)", "sin(12.5*x1)", "x1 + 7.5", "cos(x1 + 7)"])
def test_what_has_no_whole_turn_stays(text):
    expr = parse_formula(text, NAMES)
    assert with_small_phases(expr) == expr
