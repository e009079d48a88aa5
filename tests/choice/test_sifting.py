"""From all formulas to those that are shown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ceql.choice.criterion import constants_of, criterion
from ceql.choice.sifting import SIFTING, Sifted, sifted
from ceql.data.dataset import Dataset
from ceql.engine.deadline import Deadline
from ceql.expression import parse_formula
from ceql.expression.operations import contained
from ceql.expression.prices import PRICES
from ceql.formula import Formula, LawConstant, NamedLaw, as_it_stands, constant_formula, make_symbols, refitted

ROWS = 40
X = np.linspace(0.2, 4.0, ROWS)
Y = 2.0 * np.exp(-0.7 * X) + 0.5 + 0.02 * np.random.default_rng(0).standard_normal(ROWS)
DATA = Dataset.of(X[:, None], Y)
SYMBOLS = make_symbols(DATA.names)
CONSTANT = constant_formula(DATA)
# The truth, others of all sizes, and one with a pole between two rows.
TRUTH = "2.02*exp(-0.71*x1) + 0.51"
OTHERS = (
    "1.9 - 0.33*x1",
    "2.3*exp(-0.4*x1)",
    "1/(0.4 + 0.3*x1)",
    "2.3 - 1.1*x1 + 0.17*x1**2",
    "0.3 + 1.1/(x1 + 0.4)",
    "1.5 - 0.8*log(x1)",
    "0.9 + 0.4/x1",
    "2.6 - 0.95*sqrt(x1)",
)
WITH_POLE = "(2.02*exp(-0.71*x1) + 0.51)*(x1 - 2.0501)/(x1 - 2.05)"


def fitted(text: str) -> Formula:
    formula = refitted(parse_formula(text, DATA.names), DATA, SYMBOLS)
    assert formula is not None
    return formula


def written(text: str) -> Formula:
    formula = as_it_stands(parse_formula(text, DATA.names), DATA, SYMBOLS)
    assert formula is not None
    return formula


def named(formula: Formula, name: str = "Newton's cooling", known: int = 2) -> Formula:
    constants = tuple(LawConstant(f"c{k}", "constant", v, e) for k, (v, e) in enumerate(formula.constants))
    return replace(formula, law=NamedLaw(name, "heat", name, constants, known))


@pytest.fixture(scope="module")
def truth() -> Formula:
    return fitted(TRUTH)


@pytest.fixture(scope="module")
def others() -> list[Formula]:
    return [fitted(text) for text in OTHERS]


def shown(found: Sifted) -> tuple[Formula, ...]:
    return (*found.front, *found.beside)


# ---- struck -------------------------------------------------------------------------------------------------------


def test_a_struck_formula_is_not_shown_and_has_its_sentence(truth, others):
    bad = written(WITH_POLE)
    found = sifted([truth, bad, *others], CONSTANT, DATA, 5)
    assert bad not in shown(found)
    assert [struck.formula for struck in found.struck if struck.formula is bad] == [bad]
    assert "pole" in next(struck.why for struck in found.struck if struck.formula is bad)


def test_its_place_on_the_front_goes_to_the_next(truth):
    bad = replace(written(WITH_POLE), loss=truth.loss / 2)
    found = sifted([truth, bad], CONSTANT, DATA, 0)
    assert truth in found.front
    assert bad not in found.front


def test_each_formula_is_struck_once(truth, others):
    bad = written(WITH_POLE)
    found = sifted([truth, bad, *others], CONSTANT, DATA, 5)
    assert len({id(struck.formula) for struck in found.struck}) == len(found.struck)


def test_what_the_vetoes_were_not_asked_about_is_not_shown(truth, others):
    found = sifted([truth, *others], CONSTANT, DATA, 5, policy=replace(SIFTING, checked=1))
    assert len(shown(found)) == 2
    assert CONSTANT in found.front
    assert truth in found.front  # the best is the first that is asked about


def test_no_veto_is_asked_about_what_would_not_be_shown_anyway(truth, others):
    bad = written(WITH_POLE)
    assert any(struck.formula is bad for struck in sifted([truth, bad, *others], CONSTANT, DATA, 50).struck)
    assert sifted([truth, bad, *others], CONSTANT, DATA, 0).struck == ()


def test_time_is_kept_for_it_by_the_rows_but_never_most_of_the_limit():
    assert SIFTING.seconds_for(10, 1e6) < SIFTING.seconds_for(1500, 1e6)
    assert SIFTING.seconds_for(10**7, 1e6) == SIFTING.seconds_for(SIFTING.checked_rows, 1e6)
    assert SIFTING.seconds_for(1500, 1.0) == SIFTING.most_of_limit


# ---- the constant -------------------------------------------------------------------------------------------------


def test_the_constant_is_always_there(truth, others):
    assert sifted([truth, *others], CONSTANT, DATA, 5).front[0] is CONSTANT
    assert shown(sifted([], CONSTANT, DATA, 5)) == (CONSTANT,)
    only_bad = sifted([written(WITH_POLE)], CONSTANT, DATA, 5, policy=replace(SIFTING, lightened=0))
    assert shown(only_bad) == (CONSTANT,)


def test_a_formula_without_a_column_is_never_beside_the_front(truth):
    found = sifted([truth, written("1.3"), written("0.9")], CONSTANT, DATA, 5)
    assert all(formula.expression.free_symbols for formula in found.beside)


# ---- beside the front ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [0, 1, 3, 50])
def test_no_more_than_asked_for_stand_beside_the_front(truth, others, more):
    found = sifted([truth, *others], CONSTANT, DATA, more)
    assert len(found.beside) <= more
    assert not {id(formula) for formula in found.front} & {id(formula) for formula in found.beside}
    scores = [criterion(formula, ROWS) for formula in found.beside]
    assert scores == sorted(scores)
    assert np.isfinite(scores).all()


def test_of_each_number_of_constants_only_some_are_shown(truth, others):
    policy = replace(SIFTING, a_size=1, sure=1, ahead=1)
    found = sifted([truth, *others], CONSTANT, DATA, 50, policy=policy)
    sizes = [constants_of(formula) for formula in found.beside]
    assert len(sizes) == len(set(sizes))


def test_a_formula_that_could_meet_any_rows_is_not_beside_the_front():
    few = Dataset.of(X[:6, None], Y[:6])
    constant = constant_formula(few)
    cubic = refitted(parse_formula("2.5 - 1.1*x1 + 0.17*x1**2 - 0.01*x1**3", few.names), few, SYMBOLS)
    line = refitted(parse_formula("1.9 - 0.33*x1", few.names), few, SYMBOLS)
    assert cubic is not None
    assert line is not None
    found = sifted([cubic, line], constant, few, 5)
    assert cubic not in found.beside


# ---- twins --------------------------------------------------------------------------------------------------------


def same_values(one: Formula, other: Formula) -> bool:
    return bool(np.max(np.abs(one(DATA.x) - other(DATA.x))) <= SIFTING.same * np.sqrt(one.loss))


def test_nothing_beside_the_front_says_the_same_as_another(truth, others):
    twins = [fitted("0.51 + exp(0.7 - 0.71*x1)"), fitted("0.51 + 2.02/exp(0.71*x1)"), fitted(TRUTH)]
    found = sifted([*twins, truth, *others], CONSTANT, DATA, 50)
    formulas = shown(found)
    for k, one in enumerate(formulas):
        for other in formulas[k + 1 :]:
            assert constants_of(one) != constants_of(other) or not same_values(one, other)


@pytest.mark.parametrize("known", [2, 0])
def test_of_two_that_say_the_same_the_one_with_a_name_stays(truth, known):
    law = named(fitted("0.51 + exp(0.7 - 0.71*x1)"), known=known)
    assert constants_of(law) == constants_of(truth)
    assert same_values(truth, law)
    for order in ([truth, law], [law, truth]):
        found = sifted(order, CONSTANT, DATA, 5)
        assert law in shown(found)
        assert truth not in shown(found)


def test_a_name_does_not_replace_what_has_fewer_constants(truth):
    dearer = named(fitted("2.02*exp(-0.71*x1) + 0.51 + 0.001*x1"), "another law", 3)
    found = sifted([truth, dearer], CONSTANT, DATA, 5, policy=replace(SIFTING, same=1e3))
    assert truth in shown(found)
    assert dearer not in shown(found)


# ---- lighter formulas ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def loose() -> Formula:
    """The amplitude and the place of the step are one number far above it."""
    formula = fitted("0.5 + 1.0/(1.0 + exp(0.7*(x1 + 30.0)))*exp(22.0)")
    return replace(formula, constants=tuple((value, np.inf) for value, _ in formula.constants))


def test_a_struck_formula_comes_back_without_the_constant_that_nothing_determines(loose):
    found = sifted([loose], CONSTANT, DATA, 5)
    assert found.struck[0].formula is loose
    assert len(found.front) > 1
    assert all(constants_of(formula) < constants_of(loose) for formula in shown(found))


def test_lighter_formulas_keep_to_the_constraints(loose):
    without_exp = sifted([loose], CONSTANT, DATA, 5, allows=lambda e: "exp" not in contained(e))
    assert not any("exp" in contained(formula.expression) for formula in shown(without_exp))


def test_lighter_formulas_have_the_costs_of_the_one_they_were_made_of(loose):
    found = sifted([replace(loose, costs={"exp": 7})], CONSTANT, DATA, 5)
    lighter = [formula for formula in shown(found) if formula is not CONSTANT]
    assert lighter
    assert all(formula.costs == {"exp": 7} for formula in lighter)


def test_no_squares_are_fitted_where_another_loss_is_the_judge(loose):
    assert shown(sifted([replace(loose, surprise=10.0)], CONSTANT, DATA, 5)) == (CONSTANT,)


def test_in_haste_nothing_is_refitted(loose):
    assert SIFTING.hasty.checked < SIFTING.checked
    assert shown(sifted([loose], CONSTANT, DATA, 5, policy=SIFTING.hasty)) == (CONSTANT,)


# ---- prices -------------------------------------------------------------------------------------------------------


def test_prices_decide_which_of_two_comes_first(truth):
    rival = fitted("0.3 + 1.1/(x1 + 0.4)")
    rival = replace(rival, loss=truth.loss)
    usual = sifted([truth, rival], CONSTANT, DATA, 5)
    dear = sifted([truth, rival], CONSTANT, DATA, 5, replace(PRICES, div=PRICES.div + 30.0))
    assert rival in shown(usual)
    assert criterion(rival, ROWS, replace(PRICES, div=31.88)) > criterion(truth, ROWS)
    assert truth in dear.front


def test_the_same_formulas_give_the_same_answer(truth, others):
    first, second = (sifted([truth, *others], CONSTANT, DATA, 4) for _ in range(2))
    assert [str(f) for f in shown(first)] == [str(f) for f in shown(second)]


def test_when_the_time_is_up_a_few_are_asked_about_and_no_other_is_shown():
    formulas, anyway = [fitted(text) for text in (TRUTH, *OTHERS)], replace(SIFTING, checked_anyway=3)
    left = sifted(formulas, CONSTANT, DATA, 16, PRICES, anyway, until=Deadline.after(-1.0))
    shown = [formula for formula in (*left.front, *left.beside) if formula is not CONSTANT]
    assert 0 < len(shown) + len(left.struck) <= 3
    assert formulas[0] in shown  # the best are asked about first
