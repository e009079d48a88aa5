"""Simulations of many segments at once, and fits of whole systems to trajectories."""

import numpy as np
import pytest

from ceql.dynamics.policy import ShootingPolicy
from ceql.dynamics.series import Series, Trajectory
from ceql.dynamics.shooting import shoot
from ceql.dynamics.simulation import FAST, FINE, RightHandSides, segments_of, simulate_segments
from ceql.dynamics.system import System
from ceql.engine.deadline import Deadline, OutOfTime
from ceql.formula import Formula, make_symbols


def _system(*texts: str, states=("x", "y"), inputs=(), depends_on_time=False) -> System:
    from ceql.expression import parse_formula

    columns = (*states, *inputs, *(("t",) if depends_on_time else ()))
    symbols = make_symbols(columns)
    formulas = tuple(Formula(parse_formula(text, columns), symbols, 0.0) for text in texts)
    return System(tuple(states), formulas, tuple(inputs), "t", depends_on_time)


HUNT = ("1.1*x - 0.4*x*y", "0.1*x*y - 0.4*y")


def _series(system: System, *begins, noise=0.0, samples=60, until=12.0, inputs=None) -> Series:
    time = np.linspace(0.0, until, samples)
    rng = np.random.default_rng(0)
    trajectories = []
    for number, begin in enumerate(begins):
        states = system.simulate(begin, time, inputs)
        states = states + noise * states.std(axis=0) * rng.standard_normal(states.shape)
        given = np.zeros((samples, 0)) if inputs is None else inputs(time)
        trajectories.append(Trajectory(str(number), time, states, given))
    return Series(tuple(trajectories), "t", system.states, system.inputs)


@pytest.mark.parametrize(("scheme", "substeps", "allowed"), [(FAST, 4, 1e-5), (FINE, 1, 1e-6)])
def test_segments_continue_the_solution(scheme, substeps, allowed):
    system = _system(*HUNT)
    series = _series(system, (10.0, 5.0), (3.0, 2.0))
    segments = segments_of(series, 6)
    sides = RightHandSides(system)
    begins = np.array([series.trajectories[k].states[series.trajectories[k].time == t[0]][0]
                       for k, t in zip(segments.trajectory, segments.times, strict=True)])  # fmt: skip
    constants = np.tile(sides.values, (1, len(begins), 1))
    given = begins[None], constants, scheme, substeps, np.array([1e3, 1e3])
    states = simulate_segments(sides, segments, *given)[0]
    known = np.isfinite(segments.measured)
    np.testing.assert_allclose(states[known], segments.measured[known], atol=allowed)


def test_every_sample_is_compared_once():
    series = _series(_system(*HUNT), (10.0, 5.0), (3.0, 2.0), samples=47)
    for length in (3, 7, 46, 100):
        segments = segments_of(series, length)
        assert np.isfinite(segments.measured).sum() == 2 * 2 * 47
        assert segments.first.sum() == 2


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_constants_are_found_from_a_rough_start(noise):
    system = _system(*HUNT)
    series = _series(system, (10.0, 5.0), noise=noise)
    rough = _system("1.3*x - 0.5*x*y", "0.08*x*y - 0.3*y")
    begins = series.trajectories[0].states
    size = np.maximum(noise, 1e-6) * series.scale
    shot = shoot(rough, series, begins, size, series.scale)
    assert shot is not None
    errors = np.sqrt(np.diag(shot.errors()))[:4]
    np.testing.assert_allclose(shot.constants, RightHandSides(system).values, atol=1e-6 if noise == 0.0 else 0.05)
    if noise:
        assert np.all(np.abs(shot.constants - RightHandSides(system).values) < 5.0 * errors)
        np.testing.assert_allclose(np.sqrt(shot.squares) / series.scale, noise, rtol=0.3)


def test_derivatives_are_those_of_finite_differences():
    series = _series(_system(*HUNT), (10.0, 5.0), noise=0.01, samples=30)
    shot = shoot(_system(*HUNT), series, series.trajectories[0].states, 0.01 * series.scale, series.scale)
    assert shot is not None
    _, slopes = shot.problem.linearise(shot.values)
    for k in range(0, len(shot.values), 3):
        step = np.zeros(len(shot.values))
        step[k] = 1e-5 * max(abs(shot.values[k]), 0.1)
        ahead, behind = (shot.problem.residuals(shot.values + sign * step) for sign in (1, -1))
        expected = (ahead - behind) / (2.0 * step[k])
        np.testing.assert_allclose(slopes[:, k], expected, atol=1e-3 * max(np.abs(expected).max(), 1.0))


def test_a_system_that_blows_up_is_no_system():
    series = _series(_system(*HUNT), (10.0, 5.0))
    wild = _system("9.0*x*x*x", "y")
    policy = ShootingPolicy(segment=30)
    assert shoot(wild, series, series.trajectories[0].states, series.scale, series.scale, policy) is None


def test_inputs_and_time_drive_a_system():
    def drive(time):
        return np.sin(np.asarray(time))[:, None]

    system = _system("-0.7*x + 1.5*u", states=("x",), inputs=("u",))
    series = _series(system, (1.0,), inputs=drive, samples=200)
    rough = _system("-0.5*x + 1.0*u", states=("x",), inputs=("u",))
    shot = shoot(rough, series, series.trajectories[0].states, 1e-3 * series.scale, series.scale)
    assert shot is not None
    np.testing.assert_allclose(shot.constants, RightHandSides(system).values, atol=5e-3)  # inputs are straight between
    timed = _system("-0.7*x + 1.5*sin(t)", states=("x",), depends_on_time=True)
    series = _series(timed, (1.0,))
    rough = _system("-0.5*x + 1.2*sin(t)", states=("x",), depends_on_time=True)
    shot = shoot(rough, series, series.trajectories[0].states, 1e-6 * series.scale, series.scale)
    assert shot is not None
    np.testing.assert_allclose(shot.constants, RightHandSides(timed).values, atol=1e-6)


def test_simulations_end_where_the_solution_ends():
    time = np.linspace(0.0, 3.0, 31)
    explodes = _system("x**2", states=("x",)).simulate([1.0], time)[:, 0]
    before = time < 0.95
    np.testing.assert_allclose(explodes[before], 1.0 / (1.0 - time[before]), rtol=1e-5)
    assert np.isnan(explodes[time > 1.05]).all()
    leaves = _system("-1/sqrt(x)", states=("x",)).simulate([1.0], time)[:, 0]
    assert np.isfinite(leaves[time < 0.6]).all()
    assert np.isnan(leaves[time > 0.7]).all()


def test_a_fit_without_time_is_given_up():
    series = _series(_system(*HUNT), (10.0, 5.0))
    with pytest.raises(OutOfTime):
        shoot(_system(*HUNT), series, series.trajectories[0].states, series.scale, series.scale, until=Deadline(0.0))


def test_a_fit_that_promises_nothing_is_not_finished():
    series = _series(_system(*HUNT), (10.0, 5.0), noise=0.05)
    given = series, series.trajectories[0].states, 0.05 * series.scale, series.scale
    poor = _system("0.1*x", "-0.1*y")
    assert shoot(poor, *given) is not None
    assert shoot(poor, *given, promises=lambda shot: False) is None
    assert shoot(poor, *given, promises=lambda shot: True) is not None
