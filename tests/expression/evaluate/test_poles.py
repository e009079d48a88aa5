from __future__ import annotations

import numpy as np
import pytest

from ceql.expression import parse_formula
from ceql.expression.evaluate.poles import count_overlooked, find_poles, not_negative
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


def nested_tangents(depth: int, count: int = 1) -> str:
    return " + ".join("tan(" * depth + f"(x + {k})" + ")" * depth for k in range(count))


def test_where_zeros_are_too_many_an_equation_stands_for_them():
    symbols, box = make_symbols(("x",)), (np.array([1.0]), np.array([2.0]))
    poles = find_poles(parse_formula(nested_tangents(31), ("x",)), symbols, *box)
    located = [pole for pole in poles if pole.location is not None]
    assert 0 < len(located) < 500
    assert len({pole.vanishes for pole in poles}) == 31
    assert len(poles) - len(located) > 20
    assert all(str(pole).endswith(" = 0") for pole in poles if pole.location is None)


def test_a_formula_with_thousands_of_factors_says_what_was_not_looked_at():
    expression = parse_formula(nested_tangents(38, 17), ("x",))
    symbols, box = make_symbols(("x",)), (np.array([1.0]), np.array([2.0]))
    poles = find_poles(expression, symbols, *box)
    assert len(poles) < 1000
    assert 400 < count_overlooked(expression) < 38 * 17
    assert count_overlooked(parse_formula("1/(x - 0.5) + log(x)/tan(x)", ("x",))) == 0


def test_the_poles_of_a_fast_oscillation_are_all_located():
    symbols, box = make_symbols(("x",)), (np.array([-10.0]), np.array([10.0]))
    poles = find_poles(parse_formula("1/sin(50*x + 0.1)", ("x",)), symbols, *box)
    assert len(poles) == 319
    assert all(pole.location is not None for pole in poles)


def test_pole_lines_of_two_variables():
    symbols = make_symbols(("a", "b"))
    box = np.array([-1.0, -1.0]), np.array([1.0, 1.0])
    crossing = find_poles(parse_formula("1/(a - b)", ("a", "b")), symbols, *box)
    assert [p.location for p in crossing] == [None]
    assert str(crossing[0]) == "a - b = 0"
    assert not find_poles(parse_formula("1/(a - b + 5)", ("a", "b")), symbols, *box)


@pytest.mark.parametrize(("text", "inside"), [("x**0.7", ["x"]), ("(x - 1)**x", ["x - 1"]), ("2**x + x**3", [])])
def test_bases_of_powers_must_not_be_negative(text, inside):
    assert [str(inner) for inner in not_negative(parse_formula(text, ("x",)))] == inside
