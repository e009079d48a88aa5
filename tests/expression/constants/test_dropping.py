"""A constant that is dropped leaves a term, a factor or an exponent less."""

from __future__ import annotations

import pytest

from ceql.expression import parametrise, parse_formula
from ceql.expression.constants.dropping import without_constant


def dropped(text: str, value: float, together: tuple[int, ...] = ()) -> set[str]:
    formula = parse_formula(text, ("x",))
    index = [float(v) for v in parametrise(formula).values].index(value)
    return {str(form) for form in without_constant(formula, index, together)}


def test_a_term_becomes_0_and_anything_else_0_or_1():
    assert dropped("exp(x) + 2.5", 2.5) == {"exp(x)"}
    assert dropped("2.5*exp(x)", 2.5) == {"0", "exp(x)"}
    assert dropped("x**2.3", 2.3) == {"1", "x"}


def test_forms_without_a_value_are_left_out():
    assert dropped("x/2.5", 0.4) == {"0", "x"}
    assert dropped("1/log(2.5*x)", 2.5) <= {"1/log(x)", "0"}


def test_constants_known_up_to_a_factor_are_divided_by_it():
    formula = parse_formula("(2.0*x + 3.0)/(4.0*x + 5.0)", ("x",))
    values = [float(v) for v in parametrise(formula).values]
    index = values.index(4.0)
    others = [k for k in range(4) if k != index]
    scaled = next(without_constant(formula, index, others))
    symbol = parse_formula("x", ("x",))
    assert float(scaled.xreplace({symbol: 2})) == pytest.approx(float(formula.xreplace({symbol: 2})))
    assert sorted(float(v) for v in parametrise(scaled).values) == [0.5, 0.75, 1.25]
