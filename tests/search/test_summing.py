"""Sums of terms between the rounds of a search."""

from __future__ import annotations

import numpy as np

from ceql.data.dataset import Dataset
from ceql.discovery import Settings
from ceql.engine.deadline import Stopwatch
from ceql.engine.dispatch import Workers
from ceql.search.policy import SearchPolicy
from ceql.search.stage import Search, first_state, make_stage
from ceql.search.summing import exact_sum, expressions, next_sums
from ceql.search.target_search import TargetProblem
from ceql.sums import SumSearchPolicy

EARLY = SearchPolicy(sums=SumSearchPolicy(most_expansions=9))


def problem_of(columns: int, operators: tuple[str, ...] | None = None, policy: SearchPolicy = EARLY) -> TargetProblem:
    x = np.random.default_rng(columns).uniform(0.3, 4.0, (80, columns))
    y = 2.0 * np.sin(x[:, 0] - x[:, -1]) + 0.3 * x[:, 0] ** 1.7 if columns > 1 else np.exp(-0.7 * x[:, 0]) + x[:, 0]
    return make_stage(
        Search(Dataset.of(x, y), Settings(operators=operators, search=policy), Workers(1, 1), Stopwatch())
    ).main


def never() -> bool:
    return False


def test_a_sum_with_a_combination_of_columns_becomes_a_formula() -> None:
    problem = problem_of(2)
    sums = next_sums(problem, None, 0, False, 1, never)
    for _ in range(3):
        sums = next_sums(problem, sums, 10**5, False, 1, never)
    assert sums is not None
    search = Search(problem.data, Settings(search=EARLY), Workers(1, 1), Stopwatch())
    state = first_state(search, make_stage(search)).targets[0]
    [formula] = exact_sum(problem, state, sums, 1)[1]
    fresh = np.random.default_rng(9).uniform(0.4, 3.9, (30, 2))
    expected = 2.0 * np.sin(fresh[:, 0] - fresh[:, 1]) + 0.3 * fresh[:, 0] ** 1.7
    np.testing.assert_allclose(formula(fresh), expected, rtol=1e-8)


def test_no_sums_without_products_or_of_many_columns() -> None:
    assert next_sums(problem_of(2, ("sqrt", "log")), None, 0, False, 1, never) is None
    assert next_sums(problem_of(7), None, 0, False, 1, never) is None
    assert expressions(problem_of(1), None) == []


def test_noise_begins_anew_and_a_stop_changes_nothing() -> None:
    problem = problem_of(1)
    sums = next_sums(problem, None, 0, False, 1, never)
    anew = next_sums(problem, sums, 0, True, 1, never)
    assert anew is not None
    assert anew.in_noise
    assert 1 <= len(anew.known.expanded) <= EARLY.sums.first
    assert next_sums(problem, anew, 0, True, 1, lambda: True) == anew
    assert 0 < len(expressions(problem, anew)) <= EARLY.sums.proposed


def test_what_shows_nothing_leaves_the_time_to_the_networks() -> None:
    """Rungs come less and less often, unless terms show."""
    rng = np.random.default_rng(1)
    table = Dataset.of(rng.uniform(0.3, 4.0, (60, 1)), rng.normal(size=60))
    policy = SearchPolicy(sums=SumSearchPolicy(expansions_a_rung=1, expansions_at_first=1, first=0, most_expansions=0))
    problem = make_stage(Search(table, Settings(search=policy), Workers(1, 1), Stopwatch())).main
    steps = []
    for starts in (1000, 10_000):
        sums = next_sums(problem, None, 0, False, 1, never)
        sums = next_sums(problem, sums, starts, False, 1, never)
        assert sums is not None
        assert sums.peeled.in_vain == sums.peeled.steps
        steps.append(sums.peeled.steps)
    assert 2 <= steps[0] < steps[1] < 0.6 * 10_000 / policy.sums.starts_a_rung
