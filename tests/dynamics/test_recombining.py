"""Terms that are exchanged in all equations at once, around a system that was fitted to the trajectories."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.dynamics.choosing import Record, structure_of
from ceql.dynamics.contests import contest_of
from ceql.dynamics.policy import DynamicsPolicy, RecombiningPolicy
from ceql.dynamics.recombining import Answers, best_subsets, recombined
from ceql.dynamics.simulation import Extra
from ceql.dynamics.smoothing import smoothed
from ceql.engine.deadline import NEVER

LORENZ = {"x": "-5.3*x + 5.3*y", "y": "11.6*x - x*z - y", "z": "x*y - 1.9*z"}


def record_of(finding):
    series, policy = finding.series, DynamicsPolicy()
    return Record(contest_of(series, [smoothed(one) for one in series.trajectories], policy, NEVER))


def best_of(record):
    assert record.best is not None
    return record.best


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6))
def test_the_sets_of_terms_are_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((40, 5))
    sizes = np.linalg.norm(columns, axis=0)
    values = columns[:, [0, 3]] @ [2.0, -1.5] + 0.3 * rng.standard_normal(40)
    answers = Answers(columns / sizes, sizes, values, np.arange(5), np.full(5, 5.0), 40)
    every = [frozenset(one) for count in range(6) for one in combinations(range(5), count)]
    best = min(every, key=lambda one: answers.grown(one)[0])
    assert best_subsets(answers, frozenset({1}), RecombiningPolicy())[0] == best
    found = np.linalg.lstsq(columns[:, sorted(best)], values, rcond=None)[0]
    np.testing.assert_allclose(list(answers.weights(best).values()), found, rtol=1e-6)


def test_answers_are_what_a_little_of_a_function_changes(finding_of, system_of):
    system = system_of({"x": "1.1*x - 0.4*x*y", "y": "0.1*x*y - 0.4*y"})
    record = record_of(finding_of(system, [[10.0, 5.0]], np.linspace(0, 6, 40)))
    record.try_out(system)
    shot = best_of(record).shot
    extra = Extra(0, lambda rows: rows[:, 0], 10.0)
    answers, begins, left = shot.answers([extra])
    jacobian = shot.problem.linearise(shot.values)[1]
    np.testing.assert_allclose(answers[:, 0], jacobian[:, 0], rtol=1e-3, atol=1e-4 * np.abs(answers).max())
    assert begins.shape == (len(left), shot.begins.size)
    assert float(left @ left) == pytest.approx(shot.misfit)


def test_terms_of_all_equations_are_exchanged_at_once(finding_of, system_of):
    truth = system_of(LORENZ)
    record = record_of(finding_of(truth, [[2.3, 8.1, 12.4]], np.linspace(0, 10, 75), noise=0.1))
    record.try_out(system_of({"x": "28.1*y/z - 11.05", "y": "33.87 - 3.1375*z", "z": "1.44*x*y - 2.38*z"}))
    before = best_of(record).criterion
    recombined(record, [[], [], []], RecombiningPolicy())
    assert best_of(record).criterion < before
    assert structure_of(best_of(record).system)[0] == structure_of(truth)[0]


def test_without_a_system_there_is_nothing_to_recombine(finding_of, system_of):
    record = record_of(finding_of(system_of(LORENZ), [[2.3, 8.1, 12.4]], np.linspace(0, 3, 40)))
    recombined(record, [[], [], []], RecombiningPolicy())
    assert not record.tried
