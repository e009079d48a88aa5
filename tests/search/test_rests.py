"""What is left of y beside terms that sums are sure of: targets of their own, which networks search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ceql import Dataset, Settings, discover
from ceql.engine.deadline import Stopwatch
from ceql.engine.dispatch import Workers
from ceql.search.outcome import Outcome
from ceql.search.partials import is_y, partial_sum, rest_of
from ceql.search.policy import RestPolicy, SearchPolicy
from ceql.search.rests import with_rests
from ceql.search.stage import Search, first_state, make_stage
from ceql.search.state import Rest
from ceql.search.summing import next_sums, view_of
from ceql.sums import Peeled, SumSearchPolicy, expression
from ceql.sums.terms import NOTHING
from ceql.transforms.target import PAIRINGS, joined, less

FEW = SumSearchPolicy(degrees=(6, 2, 0), most_terms=400, in_pairs=(50, 50, 50), most_expansions=4)
POLICY = SearchPolicy(sums=FEW)


def table(kind: str = "root of a wave") -> Dataset:
    """A cube, and a term that is none of the vocabulary of sums."""
    x = np.random.default_rng(5).uniform(0.2, 4.0, (100, 2))
    of_wave = 1.5 + np.sin(1.1 * x[:, 1])
    inside = of_wave if kind == "root of a wave" else 1.3 + x[:, 1] * (1.5 + np.sin(2.1 * x[:, 1]))
    return Dataset.of(x, 0.3 * x[:, 0] ** 3 - 1.9 * np.sqrt(inside))


def found(data: Dataset, policy: SearchPolicy = POLICY, threads: int = 1, most: int = 8192):
    return discover(data, Settings(time_limit=np.inf, max_starts=most, threads=threads, search=policy))


def never() -> bool:
    return False


@pytest.fixture(scope="module")
def on_one_thread():
    return found(table("root of a product"))


def test_a_term_that_no_sum_has_is_found_beside_one_that_it_has():
    with_rest = found(table())
    assert with_rest.outcome is Outcome.EXACT
    without = found(table(), replace(POLICY, rests=RestPolicy(used=False)), most=with_rest.starts)
    assert without.outcome is Outcome.OUT_OF_STARTS


@pytest.mark.parametrize("threads", [2, 5])
def test_a_rest_is_searched_as_on_one_thread(on_one_thread, threads):
    again = found(table("root of a product"), threads=threads)
    assert again.outcome is on_one_thread.outcome is Outcome.EXACT
    assert again.starts == on_one_thread.starts
    assert [str(row) for row in again.front] == [str(row) for row in on_one_thread.front]


def test_the_numbers_of_a_part_are_those_of_the_truth():
    stage = make_stage(Search(table(), Settings(search=POLICY), Workers(1, 1), Stopwatch()))
    sums = next_sums(stage.main, None, 0, False, 1, never)
    sums = next_sums(stage.main, sums, 400, False, 1, never)
    assert sums is not None
    part = sums.parts[0]
    assert part.left == (1,)
    view = view_of(stage.main, False)
    (coefficient,) = part.found.weights
    assert coefficient == pytest.approx(0.3, rel=1e-11)
    rest = rest_of(stage.main.target, part, view.table)
    assert rest is not None
    assert rest.x.shape[1] == 1
    truth = -1.9 * np.sqrt(1.5 + np.sin(1.1 * rest.x[:, 0]))
    np.testing.assert_allclose(rest.y, truth, rtol=1e-9)
    (symbol,) = rest.symbols
    assert rest.back(symbol) == symbol + expression(part.found, view.table)


def test_nothing_new_is_no_part():
    stage = make_stage(Search(table(), Settings(search=POLICY), Workers(1, 1), Stopwatch()))
    known = view_of(stage.main, False).table
    before = Peeled((0, 1), (0, 1))
    rests, transforms = RestPolicy(), POLICY.transforms
    assert partial_sum(known, before, before, rests, transforms, 1) is None
    assert partial_sum(known, before, replace(before, left=(1,)), rests, transforms, 1) is None
    assert before.base is NOTHING


def test_targets_over_quotients_of_columns_have_no_parts():
    target = make_stage(Search(table(), Settings(search=POLICY), Workers(1, 1), Stopwatch())).main.target
    assert is_y(target)
    assert not is_y(joined(target, 0, 1, PAIRINGS[1]))
    assert not is_y(less(target, np.zeros(len(target.y)), 0))


def test_a_law_of_a_quotient_of_columns_is_found():
    x = np.random.default_rng(3).uniform(1.0, 5.0, (200, 2))
    assert found(Dataset.of(x, 1.0 / np.expm1(1.3 * x[:, 0] / x[:, 1]))).outcome is Outcome.EXACT


def test_there_are_no_more_rests_than_the_policy_says():
    search = Search(table(), Settings(search=POLICY), Workers(1, 1), Stopwatch())
    stage = make_stage(search)
    sums = next_sums(stage.main, next_sums(stage.main, None, 0, False, 1, never), 400, False, 1, never)
    assert sums is not None
    many = replace(sums, parts=sums.parts[:1] * 5)
    state = with_rests(replace(first_state(search, stage), sums=many), RestPolicy(most=3))
    assert [rest.part for rest in state.rests] == [sums.parts[0]] * 3
    assert with_rests(state, RestPolicy(most=3)) is state
    assert all(isinstance(rest, Rest) and rest.starts == 0 for rest in state.rests)
