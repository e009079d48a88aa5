"""What it takes to say a formula: laws that prices keep to, whatever their numbers are."""

from __future__ import annotations

from dataclasses import fields, replace
from math import isfinite, log
from typing import Any

import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sympy import Float, Integer, Rational, cos, exp, sin, sqrt

from ceql.expression import parse_formula
from ceql.expression.prices import PRICES, Prices, structure_price
from ceql.formula import make_symbols
from ceql.operators import functions

NAMES = ("x", "y", "z")
X, Y, Z = make_symbols(NAMES)


def of_function(name: str) -> float:
    return functions.get(name).price


def priced(text: str, prices: Prices = PRICES) -> float:
    return structure_price(parse_formula(text, NAMES), prices)


# ---- each price by itself -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x", 1.10),
        ("2.5", 1.10),
        ("x + y", 2 * 1.10 + 1.78),
        ("x - y", 2 * 1.10 + 2.67),
        ("x*y", 2 * 1.10 + 0.99),
        ("x*y*z", 3 * 1.10 + 2 * 0.99),
        ("x/y", 2 * 1.10 + 1.88),
        ("1/x", 2 * 1.10 + 1.88),
        ("-x", 1.10),
        ("-x/y", 2 * 1.10 + 1.88),
        ("x**2.51739", 2 * 1.10 + 2.44),
        ("x**(5/2)", 2 * 1.10 + 2.44 + log(10)),
        ("x**y", 2 * 1.10 + 2.44),
        ("x**2", 1.10 + of_function("square")),
        ("x**3", 1.10 + of_function("cube")),
        ("sqrt(x)", 1.10 + of_function("sqrt")),
        ("1/x**2", 2 * 1.10 + 1.88 + of_function("square")),
        ("x**4", 2 * 1.10 + 2.44 + log(4)),
        ("exp(x)", 1.10 + of_function("exp")),
        ("sin(x)", 1.10 + of_function("sin")),
        ("log(x) + log(y)", 2 * 1.10 + 0.99 + of_function("log")),
        ("log(x) - 2*log(y) + 2.5", 3 * 1.10 + 0.99 + 1.88 + of_function("square") + of_function("log")),
        ("log(x) + 2.5", 2 * 1.10 + 1.78 + of_function("log")),
        ("log(x) + 0.7*log(y)", 3 * 1.10 + 1.78 + 0.99 + 2 * of_function("log")),
        ("sin(exp(x))", 1.10 + of_function("sin") + of_function("exp") + 3.0),
    ],
)
def test_a_formula_is_read_part_by_part(text, parts):
    assert priced(text) == pytest.approx(parts)


def test_a_quotient_is_no_product_with_a_power():
    assert priced("x/y") - priced("x*y") == pytest.approx(PRICES.div - PRICES.mul)
    assert priced("x/y") < priced("x*y**1.5")


@pytest.mark.parametrize(
    ("whole", "decimal"), [("2/x", "2.51739/x"), ("3*exp(-x)", "2.51739*exp(-x)"), ("3*x/y", "2.51739*x/y")]
)
def test_a_whole_number_stands_where_a_decimal_would(whole, decimal):
    for_nothing = replace(PRICES, whole_number=0.0)
    assert priced(whole, for_nothing) == pytest.approx(priced(decimal, for_nothing))


def test_a_decay_costs_as_much_as_a_growth():
    assert priced("2.51739*x*exp(-0.31739*y)") == priced("2.51739*x*exp(0.31739*y)")
    assert priced("x*exp(-y)") == priced("x*exp(y)")


@pytest.mark.parametrize(
    ("text", "taken_off"),
    [("x - y", 1), ("exp(x) - x", 1), ("sin(x) - sin(y)", 1), ("3*x - 2*y", 1), ("x**2 - x - 2*y", 2), ("x - 2", 0)],
)
def test_what_is_taken_off_is_no_sum_whatever_order_sympy_has(text, taken_off):
    """A number keeps its own sign: x - 2 is the sum of x and -2."""
    assert priced(text, replace(PRICES, sub=PRICES.sub + 1.0)) - priced(text) == pytest.approx(taken_off)


def test_a_sum_of_nothing_but_what_is_taken_off_has_one_sign_for_nothing():
    assert priced("-x - y") == priced("x - y")


# ---- numbers ------------------------------------------------------------------------------------------------------


@given(st.integers(1, 300), st.integers(1, 300))
def test_a_fraction_costs_the_logarithm_of_both_its_numbers_up_to_the_dearest(p, q):
    number: Any = Rational(p, q)
    extra = structure_price(X + number) - structure_price(X + 1)
    assert extra == pytest.approx(min(log(number.p * number.q), PRICES.largest_number))


def test_the_sign_of_a_number_is_for_nothing():
    assert structure_price(Integer(-7)) == structure_price(Integer(7))
    assert structure_price(-7 * X) == structure_price(7 * X)
    assert structure_price(Integer(0)) == PRICES.leaf


def test_a_known_constant_is_one_number_however_many_digits_it_has():
    law = Rational(981, 200) * X**2
    expected = PRICES.mul + 2 * PRICES.leaf + PRICES.largest_number + of_function("square")
    assert structure_price(law) == pytest.approx(expected)
    assert structure_price(Rational(98061, 20000) * X**2) == pytest.approx(expected)


def test_a_decimal_costs_no_more_than_its_place():
    """The rows determine it, so the criterion is the one to charge for it."""
    assert structure_price(Float(2.25) * X) == pytest.approx(PRICES.mul + 2 * PRICES.leaf)
    assert structure_price(Float(2.25) * X) < structure_price(7 * X)


def test_whole_numbers_may_be_for_nothing():
    assert structure_price(7 * X, replace(PRICES, whole_number=0.0)) == structure_price(2.5 * X)


# ---- changing a price ---------------------------------------------------------------------------------------------

HOLDS = {
    "leaf": "x",
    "add": "x + y",
    "sub": "x - y",
    "mul": "x*y",
    "div": "x/y",
    "power": "x**y",
    "nested": "sin(exp(x))",
    "whole_number": "3*x",
}
PLAIN = "2.5"


@pytest.mark.parametrize("name", HOLDS)
def test_a_raised_price_is_paid_by_the_formulas_that_have_it_and_by_no_other(name):
    raised = replace(PRICES, **{name: getattr(PRICES, name) + 0.5})
    for other, text in HOLDS.items():
        pays = name in (other, "leaf") or (name == "mul" and other == "whole_number")
        assert (priced(text, raised) > priced(text)) == pays, text
    assert (priced(PLAIN, raised) > priced(PLAIN)) == (name == "leaf")


@pytest.mark.parametrize("name", ["constant", "few_rows", "everyday_law", "common_law", "known_law", "other_law"])
def test_prices_of_constants_and_names_are_no_part_of_the_structure(name):
    raised = replace(PRICES, **{name: 50.0})
    assert [priced(text, raised) for text in HOLDS.values()] == [priced(text) for text in HOLDS.values()]


def test_names_of_laws_are_dearer_the_less_they_are_known():
    assert [PRICES.of_law(known) for known in (1, 2, 3, 4)] == [2.0, 4.0, 8.0, 12.0]


# ---- any formula --------------------------------------------------------------------------------------------------

numbers = st.sampled_from([Integer(2), Integer(-3), Rational(1, 2), Rational(-7, 4), Float(2.25), Float(-0.6)])
leaves = st.one_of(st.sampled_from([X, Y, Z]), numbers)


def larger(inner):
    """SymPy writes sin(y - x) as -sin(x - y), by the names of the columns; even functions have no such sign."""
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda pair: pair[0] + pair[1]),
        pairs.map(lambda pair: pair[0] - pair[1]),
        pairs.map(lambda pair: pair[0] * pair[1]),
        pairs.map(lambda pair: pair[0] / (1 + pair[1] ** 2)),
        inner.map(lambda one: cos(one)),
        inner.map(lambda one: exp(one)),
        inner.map(lambda one: sqrt(1 + one**2)),
        inner.map(lambda one: (1 + one**2) ** Float(1.3)),
    )


formulas = st.recursive(leaves, larger, max_leaves=6)
renamings = st.permutations(make_symbols(("gamma", "x9", "Temperature in K")))


@settings(deadline=None)
@given(formulas)
def test_every_price_is_finite_and_at_least_that_of_a_leaf(formula):
    price = structure_price(formula)
    assert isfinite(price)
    assert price >= PRICES.leaf - 1e-9


@settings(deadline=None)
@given(formulas, renamings)
def test_columns_may_have_any_names(formula, names):
    renamed = formula.xreplace(dict(zip((X, Y, Z), names, strict=True)))
    assert structure_price(renamed) == pytest.approx(structure_price(formula))


@settings(deadline=None)
@given(formulas)
def test_a_longer_formula_is_dearer(formula):
    """A column that the formula does not have yet is added, multiplied or put outside."""
    assume(formula.free_symbols)
    new = sympy.Symbol("new", real=True)
    price = structure_price(formula)
    for longer in (formula + new, formula * new, formula / new, formula / (1 + new), cos(formula + new)):
        assert structure_price(longer) > price


@settings(deadline=None)
@given(formulas, st.sampled_from([field.name for field in fields(Prices)]))
def test_raising_a_price_makes_no_formula_cheaper(formula, name):
    raised = replace(PRICES, **{name: getattr(PRICES, name) + 1.0})
    assert structure_price(formula, raised) >= structure_price(formula)


@pytest.mark.parametrize("outer", [sin, exp, sympy.log, sympy.tanh])
def test_a_function_inside_a_function_costs_extra_at_any_depth(outer):
    shallow, deep = outer(X) + cos(Y), outer(1 + 2 * cos(Y))
    without = replace(PRICES, nested=0.0)
    assert structure_price(shallow) == structure_price(shallow, without)
    assert structure_price(deep) - structure_price(deep, without) == pytest.approx(PRICES.nested)
    with_power = outer(X ** Float(1.5))  # a power is no function
    assert structure_price(with_power) == structure_price(with_power, without)


def test_a_function_that_nobody_has_counted_costs_as_much_as_the_rarest():
    unknown = sympy.Function("airy")(X)
    assert structure_price(unknown) == pytest.approx(functions.RAREST + PRICES.leaf)
