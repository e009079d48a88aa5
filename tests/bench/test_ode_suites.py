"""The systems of the suites: their true trajectories, and what methods see of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from ceql.bench.definitions import families
from ceql.bench.errors import BenchError, SuiteError
from ceql.bench.ode_data import measured, motion_of, true_trajectories
from ceql.bench.problems import load_problem, load_suite, select, with_noise, with_subsampling

SYSTEMS = load_suite("ode").problems
QUICK = select(load_suite("ode"), ("1 state", "2 states"))


def varied(name, noise=0.0, subsample=0.0):
    suite = replace(load_suite("ode"), problems=(load_problem(name),))
    return with_noise(with_subsampling(suite, (subsample,)), (noise,)).problems[0]


def test_the_suite_has_its_parts():
    sizes = Counter((families(p.family)[0], len(p.variables)) for p in SYSTEMS)
    assert [sizes["odebench", n] for n in (1, 2, 3, 4)] == [23, 28, 10, 2]
    assert sum(count for (part, _), count in sizes.items() if part == "rational") == 20
    assert all(f"{len(p.variables)} state" in families(p.family)[1] for p in SYSTEMS)
    assert {len(motion_of(p).tests) for p in SYSTEMS} == {1}


def test_every_constant_of_a_system_is_in_its_equations():
    for problem in SYSTEMS:
        idle = [name for name, _ in motion_of(problem).constants if name not in problem.expression]
        assert idle == [], problem.name


@pytest.mark.parametrize("problem", QUICK[::4], ids=lambda p: p.name)
def test_every_state_moves_on_its_true_trajectories(problem):
    trained, _ = true_trajectories(problem)
    assert np.isfinite(np.vstack(trained)).all()
    assert (np.vstack(trained).std(axis=0) > 0).all()


def test_true_trajectories_keep_what_their_equations_conserve():
    problem = load_problem("lotka-volterra")
    for states in (*true_trajectories(problem)[0], *true_trajectories(problem)[1]):
        x, y = states.T
        kept = 1.62 * x - 3.0 * np.log(x) + 1.45 * y - 1.84 * np.log(y)
        assert np.ptp(kept) < 1e-6


def test_noise_is_a_fraction_of_each_value():
    problem = varied("lorenz-periodic", noise=0.05)
    (clean,), _ = true_trajectories(problem)
    errors = measured(problem, 0).trajectories[0].states / clean - 1.0
    assert errors.std() == pytest.approx(0.05, rel=0.15)
    assert abs(np.corrcoef(np.abs(errors[:, 0]), np.abs(clean[:, 0]))[0, 1]) < 0.3


def test_half_of_the_samples_are_left_out():
    whole = measured(varied("logistic"), 0).trajectories[0]
    half = measured(varied("logistic", subsample=0.5), 0).trajectories[0]
    assert (len(whole.time), len(half.time)) == (150, 75)
    assert set(half.time) < set(whole.time)
    assert np.array_equal(half.states, whole.states[np.isin(whole.time, half.time)])


def test_what_is_measured_depends_on_system_seed_and_level_alone():
    def states(name, seed, noise):
        return measured(varied(name, noise=noise, subsample=0.5), seed).trajectories[0].states

    first = states("logistic", 0, 0.01)
    assert np.array_equal(first, states("logistic", 0, 0.01))
    assert not np.array_equal(first, states("logistic", 1, 0.01))
    renamed = replace(varied("logistic", 0.01, 0.5), stem="other")
    assert not np.array_equal(first, measured(renamed, 0).trajectories[0].states)


def test_samples_are_the_same_on_every_machine():
    # A change here changes every number ever reported: it needs a reason.
    trajectory = measured(varied("malthus", noise=0.01, subsample=0.5), 0).trajectories[0]
    assert trajectory.states[:2, 0] == pytest.approx(PINNED, rel=1e-9)


PINNED = (5.029652025854439, 5.078159463830394)


MOTION = """
[[motion]]
name = "cooling"
rates.T = "-k*(T - a)"
constants = { k = 0.31, a = 18.5 }
starts = [[90], [4]]
test = [[55]]
span = 12
samples = 80
"""


def written(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return load_suite(str(path))


def test_a_file_of_ones_own_may_have_systems(tmp_path):
    suite = written(tmp_path, MOTION)
    assert suite.is_of_motion
    series = measured(suite.problems[0], 0)
    assert [len(one.time) for one in series.trajectories] == [80, 80]
    assert series.trajectories[0].time[-1] == 12.0
    exact = 18.5 + 71.5 * np.exp(-0.31 * series.trajectories[0].time)
    assert series.trajectories[0].states[:, 0] == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[90], [4]]", "[[90, 1]]", "field 'starts': must be a list of points with 1 numbers"),
        ("-k*(T - a)", "-k*(T - b)", "field 'rates'.*is not a formula in T, k, a"),
        ("a = 18.5", "T = 18.5", "'T' is a state and a constant: rename one"),
        ("k = 0.31", 'k = "x"', "field 'constants': must be a finite number"),
        ("span", "spam", "Did you mean 'span'"),
    ],
)
def test_a_fault_in_a_system_is_explained(tmp_path, old, new, message):
    with pytest.raises(BenchError, match=message):
        written(tmp_path, MOTION.replace(old, new))


def test_a_trajectory_that_runs_off_is_an_error(tmp_path):
    suite = written(tmp_path, MOTION.replace("-k*(T - a)", "k*a*T**2"))
    with pytest.raises(SuiteError, match=r"'cooling': the trajectory from \(90.0,\) cannot be followed to time 12"):
        measured(suite.problems[0], 0)


@pytest.mark.parametrize(
    ("suite", "shares", "message"),
    [("paper", (0.5,), "have no trajectories: leave out --subsample"), ("ode", (1.0,), "must be less than 1")],
)
def test_subsampling_asks_for_trajectories(suite, shares, message):
    with pytest.raises(SuiteError, match=message):
        with_subsampling(load_suite(suite), shares)
