"""The criterion: what names, structure, constants and few rows cost, and that interpolation proves nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ceql.catalogue.fitting import fitted
from ceql.catalogue.law import catalogue
from ceql.choice.criterion import constants_of, criterion, description, interpolates, price_of_constants
from ceql.data.dataset import Dataset
from ceql.expression import parametrise, parse_formula
from ceql.expression.prices import PRICES, Prices, structure_price
from ceql.formula import Formula, LawConstant, NamedLaw, make_symbols

SYMBOLS = make_symbols(("x",))
# One constant of the law at two places of its text, as in a kinetic of second order or the van der Waals equation.
TIED = "2.51739*x/(1 + 2.51739*x) + 0.31739*log(1 + 2.51739*x)"


def formula(text: str, loss: float = 1.0, law: NamedLaw | None = None, **others) -> Formula:
    return Formula(parse_formula(text, ("x",)), SYMBOLS, loss, law=law, **others)


def law(known: int, *names: str) -> NamedLaw:
    constants = tuple(LawConstant(name, "constant", 1.0, 0.1) for name in names)
    return NamedLaw("somebody's law", "a field", "a*x", constants, known)


# ---- names and structure ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [1, 2, 3, 4])
@pytest.mark.parametrize("text", ["2.51739*x", TIED, "x"])
def test_a_law_is_said_by_its_name_or_written_down_whichever_is_cheaper(known, text):
    named, bare = formula(text, law=law(known, "a")), formula(text)
    assert description(named) == min(PRICES.of_law(known), structure_price(bare.expression))
    assert description(named) <= description(bare)


def test_a_family_of_curves_that_is_no_law_pays_for_its_structure():
    assert description(formula(TIED, law=law(0, "a", "b"))) == description(formula(TIED))


def test_a_power_with_a_tiny_exponent_costs_more_than_the_logarithm_that_it_nearly_is():
    power = formula("15.8*x**(-0.07)", law=law(1, "a", "b"))
    assert description(power) == pytest.approx(PRICES.everyday_law + np.log(1 / 0.07))
    assert criterion(power, 26) > criterion(formula("15.6 - 0.95*log(x)", law=law(2, "a", "b")), 26)


def test_an_exponent_that_occurs_twice_is_paid_once():
    hill = formula("5.1*x**2.3/(3.4 + x**2.3)", law=law(2, "V", "K", "n"))
    assert description(hill) == pytest.approx(PRICES.common_law + np.log(2.3))


def test_a_better_known_law_is_preferred():
    prices = [description(formula(TIED, law=law(known, "a", "b"))) for known in (1, 2, 3, 4, 0)]
    assert prices == sorted(prices)
    assert len(set(prices)) == 5


def test_operators_that_count_more_are_paid_beside_the_name():
    plain, dear = (formula(TIED, law=law(1, "a", "b"), costs=costs) for costs in ({}, {"log": 3}))
    assert description(dear) - description(plain) == pytest.approx(2 * PRICES.leaf)


def test_the_names_of_all_laws_cost_no_more_than_their_structure():
    for one in catalogue():
        values = [constant.typical for constant in one.constants]
        names = tuple(column.name for column in one.columns)
        expression = one.with_numbers(values, names)
        name = NamedLaw(one.name, one.field, one.formula, (), one.known)
        bare = Formula(expression, make_symbols(names), 1.0)
        assert description(replace(bare, law=name)) <= description(bare), one.name


# ---- constants ----------------------------------------------------------------------------------------------------


def test_a_constant_that_occurs_twice_in_a_law_is_one_constant():
    bare = formula(TIED)
    assert constants_of(bare) == len(parametrise(bare.expression).symbols) == 3
    assert constants_of(formula(TIED, law=law(1, "a", "b"))) == 2


def test_a_fitted_law_with_a_constant_at_two_places_counts_it_once():
    lens = next(one for one in catalogue() if one.name == "thin lens")  # f*x1/(x1 - f)
    x = np.linspace(15.0, 60.0, 12)
    y = 10.0 * x / (x - 10.0) * (1 + 0.01 * np.random.default_rng(0).normal(size=12))
    fit = fitted(lens, Dataset.of(x[:, None], y))
    assert fit is not None
    assert len(parametrise(fit.formula.expression).symbols) == 2
    assert constants_of(fit.formula) == 1
    assert len(fit.formula.constants) == 2  # those that are shown
    assert criterion(fit.formula, 12) < criterion(replace(fit.formula, law=None), 12)


def test_whole_numbers_are_no_constants():
    assert constants_of(formula("3*x**2 + 1/2")) == 0


@given(st.integers(1, 6), st.integers(14, 200))
def test_each_further_constant_costs_more_than_the_one_before(constants, rows):
    steps = [price_of_constants(k + 1, rows) - price_of_constants(k, rows) for k in range(constants + 1)]
    assert all(step >= np.log(rows) for step in steps)
    assert steps == sorted(steps)


@given(st.integers(1, 5))
def test_the_correction_for_few_rows_grows_as_they_become_fewer(constants):
    without = replace(PRICES, few_rows=0.0)
    extra = [price_of_constants(constants, n) - price_of_constants(constants, n, without) for n in (12, 20, 50, 1000)]
    assert extra == sorted(extra, reverse=True)
    assert extra[-1] == pytest.approx(constants, rel=0.01)  # as in AIC, where rows are many


def test_the_correction_is_finite_where_there_are_as_many_constants_as_rows():
    assert np.isfinite(price_of_constants(5, 5))
    assert np.isfinite(price_of_constants(7, 5))


def test_the_size_of_the_noise_is_one_constant_more():
    assert price_of_constants(0, 100) == pytest.approx(np.log(100))


# ---- altogether ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "is_infinite"), [(6, True), (7, False), (3, True)])
def test_a_formula_that_could_meet_any_rows_is_infinitely_bad(rows, is_infinite):
    found = formula(TIED, loss=1e-30)
    assert interpolates(found, rows) == is_infinite
    assert np.isinf(criterion(found, rows)) == is_infinite


def test_a_tied_constant_lets_a_law_stand_on_fewer_rows():
    assert np.isinf(criterion(formula(TIED), 6))
    assert np.isfinite(criterion(formula(TIED, law=law(1, "a", "b")), 6))


@given(st.floats(1e-12, 1e6), st.floats(1.01, 100.0))
def test_a_larger_loss_is_worse_by_the_rows_times_its_logarithm(loss, times):
    near, far = formula("2.51739*x", loss), formula("2.51739*x", loss * times)
    assert criterion(far, 50) - criterion(near, 50) == pytest.approx(50 * np.log(times), rel=1e-6, abs=1e-6)


def test_a_loss_of_zero_has_a_finite_criterion():
    assert np.isfinite(criterion(formula("2*x", 0.0), 50))


def test_a_loss_that_is_not_of_squares_brings_its_own_likelihood():
    given_one, other = (formula("2.51739*x", loss, surprise=30.0) for loss in (1.0, 5.0))
    assert criterion(given_one, 50) == criterion(other, 50)
    price = 2 * (description(given_one) + price_of_constants(1, 50))
    assert criterion(given_one, 50) == pytest.approx(30.0 + price)


def test_prices_of_zero_leave_the_misfit():
    free = Prices(*[0.0] * len(Prices.__dataclass_fields__))
    assert criterion(formula("2.51739*x", np.e), 50, free) == pytest.approx(50.0)
