from __future__ import annotations

import numpy as np
import pytest

from ceql.expression import parse_formula
from ceql.expression.poles import find_poles
from ceql.formula import make_symbols

CASES = {
    "1/(x - 0.5)": [0.5],
    "1/(x**2 - 0.25)": [-0.5, 0.5],
    "1/(x**2 + 1)": [],
    "3/(x*(x - 1))": [0.0, 1.0],
    "1/(x - 5)": [],
    "1/(x - 0.3)**2": [0.3],
    "log(x + 0.75)": [-0.75],
    "x + 2": [],
    "1/(1 + 1/x)": [-1.0],
}


@pytest.mark.parametrize("text", CASES)
def test_poles_of_one_variable(text):
    symbols = make_symbols(("x",))
    poles = find_poles(parse_formula(text, ("x",)), symbols, np.array([-2.0]), np.array([2.0]))
    found = sorted({round(p.location, 6) for p in poles if p.location is not None})
    expected = CASES[text] if "1/x" not in text else [-1.0, 0.0]
    assert found == expected


def test_pole_lines_of_two_variables():
    symbols = make_symbols(("a", "b"))
    box = np.array([-1.0, -1.0]), np.array([1.0, 1.0])
    crossing = find_poles(parse_formula("1/(a - b)", ("a", "b")), symbols, *box)
    assert [p.location for p in crossing] == [None]
    assert str(crossing[0]) == "a - b = 0"
    assert not find_poles(parse_formula("1/(a - b + 5)", ("a", "b")), symbols, *box)
