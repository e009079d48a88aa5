"""Long sums of simple terms: made where many columns have a say, with terms chosen anew for the rows held out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ceql import Constraints, Dataset, Settings, discover
from ceql.choice.sifting import SIFTING
from ceql.choice.validation import held_out, is_beaten
from ceql.closed_form.policy import ClosedFormPolicy, LongSumPolicy
from ceql.estimator.parameters import checked_policy
from ceql.expression import parse_formula
from ceql.expression.operations import contained
from ceql.formula import Formula, make_symbols, refitted
from ceql.search.long_sums import long_sum, seconds_for_long_sum
from ceql.search.policy import SearchPolicy

NAMES = ("a", "b", "c", "d", "e", "f")


def friedman(x: np.ndarray) -> np.ndarray:
    a, b, c, d, e, _ = x.T
    return 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e


def impedance(x: np.ndarray) -> np.ndarray:
    a, b, c, d, *_ = x.T
    return np.hypot(a, 2 * b * c - 1 / (1 + d))


def additive(x: np.ndarray) -> np.ndarray:
    a, b, c, d, e, f = x.T
    return a**2 + np.exp(b) + np.sqrt(c) - 2 / (1 + d) + np.abs(e - 0.5) + f * a


def table(law: Callable[[np.ndarray], np.ndarray], rows: int = 300, seed: int = 0, noise: float = 0.1) -> Dataset:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 1.0, (rows, len(NAMES)))
    y = law(x)
    return Dataset(x, y + noise * y.std() * rng.standard_normal(rows), np.ones(rows), NAMES)


def r2(formula: Formula, law: Callable[[np.ndarray], np.ndarray]) -> float:
    new = table(law, 500, 99, 0.0)
    return 1.0 - float(np.mean((formula(new.x) - new.y) ** 2) / np.var(new.y))


@pytest.mark.parametrize("law", [friedman, impedance, additive])
def test_it_predicts_new_rows_as_well_as_it_says(law):
    found = long_sum(table(law))
    assert found is not None
    assert r2(found.formula, law) > found.held.r2[0] > 0.9


def test_what_rows_held_out_do_not_ask_for_is_left_out():
    """One term explains all there is, whatever else would follow the noise."""
    found = long_sum(table(lambda x: x[:, 0] * x[:, 1], noise=0.5))
    assert found is not None
    assert len(found.formula.constants) <= 3


def test_noise_alone_is_not_predicted():
    """Terms are chosen without the rows held out: of hundreds some would suit them by chance."""
    rng = np.random.default_rng(3)
    data = Dataset(rng.uniform(0.0, 1.0, (60, 6)), rng.standard_normal(60), np.ones(60), NAMES)
    found = long_sum(data)
    assert found is not None
    assert found.held.r2[0] < 0.1


def test_it_keeps_to_operators_and_to_the_largest_size():
    data = table(additive)
    small, plain = long_sum(data, most_nodes=20), long_sum(data, operators={"add", "mul"})
    assert small is not None
    assert plain is not None
    assert small.formula.complexity <= 20
    assert not contained(plain.formula.expression) & {"div", "log", "exp", "sqrt"}


def test_it_keeps_to_constraints():
    data = table(friedman)
    found = long_sum(data, Constraints(constants_within=(-20.0, 20.0)))
    assert found is None or all(abs(value) <= 20.0 for value, _ in found.formula.constants)


def test_it_is_not_made_where_there_is_no_time_for_it():
    data = table(friedman, 60)
    each = [(np.delete(np.arange(60), k), np.array([k])) for k in range(60)]
    assert long_sum(data, folds=each) is None
    assert seconds_for_long_sum(data, 1.0) == 0.0
    assert seconds_for_long_sum(data, 30.0) > 0.0


def test_its_numbers_may_be_set():
    policy = SearchPolicy(closed_forms=ClosedFormPolicy(long_sums=LongSumPolicy(rows_a_term=20)))
    assert checked_policy(policy) is policy


def test_rows_without_weight_have_no_say():
    data = table(friedman)
    y = np.append(data.y, 1e3 * np.random.default_rng(5).standard_normal(50))
    spoilt = Dataset(np.vstack([data.x, data.x[:50]]), y, np.repeat([1.0, 0.0], [300, 50]), NAMES)
    found = long_sum(spoilt)
    assert found is not None
    assert r2(found.formula, friedman) > 0.9


def test_it_does_not_take_the_place_of_a_law():
    for seed in range(5):
        data = table(lambda x: 2.3 * x[:, 0] / (0.4 + x[:, 1]), 120, seed)
        law = refitted(parse_formula("2.0*a/(b + 0.5)", NAMES), data, make_symbols(NAMES))
        found = long_sum(data)
        assert law is not None
        assert found is not None
        assert not is_beaten(held_out([law], data, times=found.held.times), found.held, SIFTING.beaten)


def test_it_is_chosen_where_it_predicts_better():
    policy = SearchPolicy(round_size=64, chunk_size=32)
    found = discover(table(friedman), Settings(search=policy, time_limit=120.0, max_starts=policy.round_size))
    assert r2(found.best, friedman) > 0.93
    assert max(found.weights) == found.weights[found.chosen]


def test_what_is_one_of_few_is_preferred_to_one_of_thousands():
    """In few noisy rows some power or product says more than the column itself, by chance."""
    rng = np.random.default_rng(8)
    found = []
    for _ in range(10):
        x = rng.uniform(0.5, 2.0, (40, 6))
        y = x[:, 0] + x[:, 0].std() * rng.standard_normal(40)
        found.append(long_sum(Dataset(x, y, np.ones(40), NAMES)))
    assert sum(each is not None and each.formula.expression.diff("a").is_number for each in found) >= 6


def test_a_sum_takes_the_place_of_a_line_only_where_it_is_clearly_better():
    rng = np.random.default_rng(2)
    x = rng.uniform(0.0, 1.0, (80, 6))
    data = Dataset(x, x @ rng.normal(size=6) + 0.5 * rng.standard_normal(80), np.ones(80), NAMES)
    policy = SearchPolicy(round_size=64, chunk_size=32)
    found = discover(data, Settings(operators=("mul",), search=policy, time_limit=120.0, max_starts=64))
    line = found.best.expression
    assert all(line.diff(column).is_number for column in line.free_symbols)
