"""What is offered without a search keeps to what was asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ceql.catalogue.law import PLAIN
from ceql.catalogue.offers import offers, seconds_for_offers
from ceql.catalogue.policy import POLICY
from ceql.choice.criterion import criterion
from ceql.constraints import Constraints
from ceql.data.dataset import Dataset
from ceql.engine.deadline import Deadline
from ceql.expression.operations import contained
from ceql.expression.text.formula_values import can_be_read
from ceql.formula import Formula, mean_square

QUICK = replace(POLICY, most_finished=6, finished_per_size=2, forms_per_size=3)
RNG = np.random.default_rng(0)
X = np.linspace(0.3, 6.0, 24)[:, None]
SATURATING = Dataset.of(X, 5.0 * X[:, 0] / (1.5 + X[:, 0]) * (1 + 0.01 * RNG.standard_normal(24)))
PAIR = RNG.uniform(0.5, 3.0, (40, 2))
PRODUCT = Dataset.of(PAIR, 2.0 * PAIR[:, 0] * PAIR[:, 1] * (1 + 0.01 * RNG.standard_normal(40)))


@pytest.fixture(scope="module")
def everything() -> list[Formula]:
    return offers(SATURATING, policy=QUICK)


def names(formulas: list[Formula]) -> set[str]:
    return {formula.law.name for formula in formulas if formula.law is not None}


def test_laws_plain_models_and_small_forms_are_offered(everything):
    found = everything
    assert {"Michaelis-Menten", "straight line"} <= names(found)
    assert any(formula.law is None for formula in found)
    best = min(found, key=lambda formula: criterion(formula, 24))
    assert best.law is not None
    assert best.law.name == "Michaelis-Menten"


def test_without_laws_no_name_but_those_of_plain_models():
    found = offers(SATURATING, with_laws=False, policy=QUICK)
    fields = {formula.law.field for formula in found if formula.law is not None}
    assert fields == {PLAIN}
    assert "straight line" in names(found)
    assert any(formula.law is None for formula in found)


def test_with_no_room_for_laws_and_forms_the_plain_models_are_left():
    least = replace(QUICK, most_finished=0, finished_per_size=0, forms_per_size=0)
    found = offers(SATURATING, with_laws=False, policy=least)
    assert found
    assert all(formula.law is not None and formula.law.field == PLAIN for formula in found)


@pytest.mark.parametrize(
    "constraints",
    [
        Constraints(without=("exp", "div")),
        Constraints(constants_within=(0.0, 10.0)),
        Constraints(forbidden_nesting={"div": ("exp", "pow"), "exp": ("div",)}),
        Constraints(required=("x1",)),
    ],
    ids=["without", "within", "nesting", "required"],
)
def test_constraints_are_kept_to(constraints, everything):
    found = offers(SATURATING, constraints=constraints, policy=QUICK)
    assert found
    assert all(constraints.allows(formula.expression) for formula in found)
    assert len(found) < len(everything)


def test_operators_that_count_more_do_so_here_as_well(everything):
    found = offers(SATURATING, constraints=Constraints(costs={"exp": 5}), policy=QUICK)
    plain = {str(formula): formula.complexity for formula in everything}
    with_one = [formula for formula in found if "exp" in contained(formula.expression)]
    assert with_one
    assert all(formula.complexity >= plain[str(formula)] + 4 for formula in with_one)


@pytest.mark.parametrize("operators", [("div",), ("mul", "exp"), ("log",)])
def test_only_operators_that_were_asked_for(operators):
    found = offers(SATURATING, operators=operators, policy=QUICK)
    implied = {"square", "cube", "pow"} if "mul" in operators else {"mul"} if "div" in operators else set()
    assert found
    assert all(contained(formula.expression) <= {*operators, *implied} for formula in found)


def test_no_product_of_columns_where_none_was_asked_for():
    assert any("mul" in contained(formula.expression) for formula in offers(PRODUCT, policy=QUICK))
    found = offers(PRODUCT, operators=("sin",), policy=QUICK)
    assert found
    assert not any("mul" in contained(formula.expression) for formula in found)


def test_what_is_offered_can_be_read_back():
    steep = Dataset.of(X, (X[:, 0] / 3.0) ** 60.0 * (1 + 0.01 * RNG.standard_normal(24)))
    assert all(can_be_read(formula.expression) for formula in offers(steep, policy=QUICK))


def test_offers_are_the_same_every_time(everything):
    assert [str(formula) for formula in offers(SATURATING, policy=QUICK)] == [str(formula) for formula in everything]


# ---- longer tables ------------------------------------------------------------------------------------------------

LONG = np.linspace(0.3, 6.0, 240)[:, None]
LONG_TABLE = Dataset.of(LONG, 5.0 * LONG[:, 0] / (1.5 + LONG[:, 0]) + 0.05 * RNG.standard_normal(240))
SHORTER = replace(QUICK, offered_rows=60, screened_rows=40, offered=5)


def test_a_long_table_is_judged_on_all_its_rows():
    found = offers(LONG_TABLE, policy=SHORTER)
    assert 0 < len(found) <= SHORTER.offered
    assert "Michaelis-Menten" in names(found)
    for formula in found:
        assert formula.loss == pytest.approx(mean_square(formula(LONG) - LONG_TABLE.y, LONG_TABLE.weight))


def test_constants_that_move_on_all_rows_still_keep_to_the_constraints():
    """The slope of a line through zero is within the bounds on some rows, but not on all."""
    few = LONG_TABLE.thinned(SHORTER.offered_rows)

    def slope(data: Dataset) -> float:
        return float(np.linalg.lstsq(data.x, data.y, rcond=None)[0][0])

    bounds = sorted((slope(few), slope(LONG_TABLE)))
    between = float(np.mean(bounds))
    within = (0.0, between) if slope(few) < between else (between, 1e3)
    constraints = Constraints(constants_within=within)
    found = offers(LONG_TABLE, constraints=constraints, policy=replace(SHORTER, offered=30))
    assert all(constraints.allows(formula.expression) for formula in found)


def test_the_price_list_grows_with_rows_and_columns_up_to_a_point():
    assert seconds_for_offers(50, 1) < seconds_for_offers(500, 1) < seconds_for_offers(500, 2)
    assert seconds_for_offers(10**6, 1) == seconds_for_offers(10**7, 1)
    assert seconds_for_offers(500, POLICY.form_columns) == seconds_for_offers(500, 50)


def test_when_the_time_is_up_no_further_model_is_begun(everything):
    found = offers(SATURATING, policy=QUICK, until=Deadline.after(-1.0))
    assert 0 < len(found) < len(everything) / 2


@pytest.mark.parametrize("columns", [1, 5])
def test_fits_to_some_rows_of_a_long_table_are_judged_on_all(columns):
    x = RNG.uniform(0.5, 3.0, (5000, columns))
    data = Dataset.of(x, 3.0 * x[:, 0] - 1.0 + 0.1 * RNG.standard_normal(5000))
    on_all, on_some = (offers(data, False, policy=replace(QUICK, most_rows=rows)) for rows in (5000, 2500))
    best, other = (min(found, key=lambda formula: criterion(formula, 5000)) for found in (on_all, on_some))
    assert contained(best.expression) == contained(other.expression)
    assert other.loss == pytest.approx(mean_square(other(data.x) - data.y, data.weight))
    assert other.loss == pytest.approx(best.loss, rel=5e-3)


def test_a_longer_limit_leaves_more_rows_for_fits():
    rows = [POLICY.within(seconds).most_rows for seconds in (0.1, 1.0, 10.0, 1e4, np.inf)]
    assert rows == sorted(rows)
    assert rows[0] == POLICY.fitted_rows
    assert rows[-1] == POLICY.most_rows
