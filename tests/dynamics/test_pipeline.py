"""End to end: equations from series."""

from dataclasses import replace

import numpy as np
import pytest
import sympy

from ceql.dynamics.choosing import has_real_numbers
from ceql.dynamics.pipeline import discover_system
from ceql.dynamics.policy import CandidatePolicy, DynamicsPolicy
from ceql.dynamics.series import Series, Trajectory
from ceql.dynamics.settings import DynamicsSettings
from ceql.dynamics.system import System
from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols

QUICK = DynamicsSettings(time_limit=60.0, threads=1)
# without the search in slopes, which sums of terms have no need of
SUMS = replace(QUICK, policy=DynamicsPolicy(candidates=CandidatePolicy(searched=0.0)))


def _system(states, texts, time="t") -> System:
    symbols = make_symbols(states)
    return System(states, tuple(Formula(parse_formula(text, states), symbols, 0.0) for text in texts), time=time)


def _series(system, begins, until, samples=100, noise=0.0, seed=0) -> Series:
    rng = np.random.default_rng(seed)
    time = np.linspace(0.0, until, samples)
    made = []
    for number, begin in enumerate(begins):
        states = system.simulate(begin, time)
        states = states + noise * states.std(axis=0) * rng.standard_normal(states.shape)
        made.append(Trajectory(str(number), time, states, np.zeros((samples, 0))))
    return Series(tuple(made), system.time, system.states)


def _same(found: System, truth: System, series: Series, allowed: float) -> None:
    rows = np.vstack([one.states for one in series.trajectories])
    np.testing.assert_allclose(found.slopes(rows), truth.slopes(rows), atol=allowed * float(np.std(truth.slopes(rows))))


LAWS = {
    "growth": (("n",), ("0.9*n - 0.013*n**2",), [(3.0,)], 12.0),
    "hunt": (("x", "y"), ("1.1*x - 0.4*x*y", "0.1*x*y - 0.4*y"), [(10.0, 5.0)], 20.0),
    "enzyme": (("s",), ("-1.3*s/(0.6 + s)",), [(4.0,)], 6.0),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_without_noise(name):
    states, texts, begins, until = LAWS[name]
    truth = _system(states, texts)
    series = _series(truth, begins, until)
    found = discover_system(series, QUICK)
    _same(found.system, truth, series, 1e-4)
    assert [len(f.form.symbols) for f in found.system.formulas] == [len(f.form.symbols) for f in truth.formulas]
    assert min(found.best.r2) > 0.999999
    assert found.r2_held_out is not None
    assert found.r2_held_out > 0.9999
    assert "next to no noise" in found.how


def test_noise_leaves_the_structure_and_errors_that_hold():
    states, texts, begins, until = LAWS["hunt"]
    truth = _system(states, texts)
    series = _series(truth, begins, until, samples=120, noise=0.02)
    found = discover_system(series, SUMS)
    assert [len(f.form.symbols) for f in found.system.formulas] == [2, 2]
    true = {round(abs(v), 6) for f in truth.formulas for v in f.form.values}
    for constant in found.best.constants:
        nearest = min(true, key=lambda value, c=constant: abs(abs(c.value) - value))
        assert abs(abs(constant.value) - nearest) < 5.0 * constant.error
    assert "without differences" in found.how
    assert found.best.noise == pytest.approx(0.02 * series.scale, rel=0.3)


def test_positions_alone_with_order_two():
    truth = _system(("angle", "angle_speed"), ("angle_speed", "-2.3*sin(angle) - 0.15*angle_speed"))
    whole = _series(truth, [(1.2, 0.0), (2.2, 0.4)], 15.0, samples=150)
    positions = tuple(replace(one, states=one.states[:, :1]) for one in whole.trajectories)
    found = discover_system(replace(whole, trajectories=positions, states=("angle",), order=2), SUMS)
    assert found.system.states == ("angle", "angle_speed")
    assert found.system.given == (True, False)
    _same(found.system, truth, whole, 1e-4)


def test_errors_in_proportion_to_the_values_are_noticed():
    states, texts, begins, until = LAWS["growth"]
    exact = _series(_system(states, texts), begins, until, samples=120)
    rng = np.random.default_rng(3)
    rough = tuple(
        replace(one, states=one.states * (1 + 0.05 * rng.standard_normal(one.states.shape)))
        for one in exact.trajectories
    )
    found = discover_system(replace(exact, trajectories=rough), SUMS)
    assert "grow with the values" in found.how
    values = np.sort(np.abs(found.system.formulas[0].form.values))
    np.testing.assert_allclose(values, [0.013, 0.9], rtol=0.05)


def test_trajectories_with_constants_of_their_own():
    time, made = np.linspace(0.0, 12.0, 80), []
    for label, ceiling in {"a": 40.0, "b": 65.0, "c": 90.0}.items():
        system = _system(("n",), (f"0.8*n - {0.8 / ceiling}*n**2",))
        made.append(Trajectory(label, time, system.simulate([3.0], time), np.zeros((80, 0))))
    found = discover_system(Series(tuple(made), "t", ("n",)), replace(SUMS, per_trajectory="auto"))
    shared = [constant for constant in found.best.constants if constant.trajectory is None]
    own = {constant.trajectory: constant.value for constant in found.best.constants if constant.trajectory}
    assert [constant.value for constant in shared] == [pytest.approx(0.8, abs=1e-5)]
    assert {label: -0.8 / value for label, value in own.items()} == pytest.approx(
        {"a": 40.0, "b": 65.0, "c": 90.0}, rel=1e-4
    )
    assert min(found.best.r2) > 0.999999


def test_the_same_seed_gives_the_same_system():
    states, texts, begins, until = LAWS["enzyme"]
    series = _series(_system(states, texts), begins, until, samples=60)
    first, second = (discover_system(series, replace(QUICK, threads=threads)) for threads in (1, 2))
    assert str(first.system) == str(second.system)


def test_without_time_there_is_a_system_of_powers():
    truth = _system(*LAWS["hunt"][:2])
    found = discover_system(_series(truth, [(10.0, 5.0)], 20.0), replace(QUICK, time_limit=0.01))
    assert len(found.system.formulas) == 2
    assert all(len(formula.form.symbols) for formula in found.system.formulas)
    assert found.r2_held_out is None


def test_a_number_that_goes_leaves_no_complex_one():
    w, x = sympy.symbols("w x", real=True)
    assert has_real_numbers(sympy.log(x + 2.5))
    assert not has_real_numbers(sympy.log(x + w - 2.5).subs({x: 0, w: 0}))
    assert not has_real_numbers((x / w).subs(w, 0))
