"""Whether a saved system is what its file says: constants, scores and simulated states agree with its equations."""

from __future__ import annotations

import math

import numpy as np

from ceql.data.content import ContentError
from ceql.dynamics.finding import DynamicsFinding, Fitted
from ceql.dynamics.series import Series, Trajectory
from ceql.dynamics.system import System

_AGREES = 1e-6  # relative, of numbers that were only written and read
_COURSE = 1e-2  # of a state's movement between two samples: the course may be as far from the equations
_STEPS = 16  # between two samples, in which the equations are followed


def check_claims(finding: DynamicsFinding) -> None:
    """An error where the file cannot be true; nothing in it makes this take long."""
    for number, fitted in enumerate(finding.systems):
        _check_constants(fitted, finding.series, number)
        if fitted.simulated:
            _check_scores(fitted, finding.series, number)
            _check_courses(fitted, finding.series, number)


def _check_constants(fitted: Fitted, series: Series, number: int) -> None:
    for state, formula in zip(fitted.system.states, fitted.system.formulas, strict=True):
        for place, value in enumerate(formula.form.values):
            own = [c for c in fitted.constants if c.state == state and c.name == f"c{place + 1}"]
            labels = [constant.trajectory for constant in own]
            if labels not in ([None], list(series.labels)):
                raise ContentError(f"system {number} has not each constant of the equation of {state!r} once")
            if not math.isclose(own[0].value, value, rel_tol=_AGREES):
                raise ContentError(f"system {number} has {own[0].value:.6g} for a constant that is {value:.6g}")
        count = len({c.name for c in fitted.constants if c.state == state})
        if count != len(formula.form.values):
            raise ContentError(f"system {number} has {count} constants for the equation of {state!r}")


def _check_scores(fitted: Fitted, series: Series, number: int) -> None:
    for k, claimed in enumerate(fitted.r2):
        measured = np.concatenate([one.states[:, k] for one in series.trajectories])
        known = np.isfinite(measured)
        simulated = np.concatenate([states[:, k * series.order] for states in fitted.simulated])[known]
        spread = float(np.sum((measured[known] - measured[known].mean()) ** 2))
        left = float(np.sum((simulated - measured[known]) ** 2))
        true = 1.0 - left / spread if np.isfinite(left) and spread > 0.0 else -math.inf
        if not (claimed == true or abs(claimed - true) <= _AGREES * (1.0 + abs(true))):
            raise ContentError(f"'r2' of system {number} is {claimed:.6g}, but its simulated states have {true:.6g}")


def _check_courses(fitted: Fitted, series: Series, number: int) -> None:
    """From each sample the equations lead to the next one, as far as a few fixed steps can tell."""
    for states, trajectory in zip(fitted.simulated, series.trajectories, strict=True):
        movement = np.nanstd(states, axis=0) if np.isfinite(states).all(axis=1).any() else np.ones(states.shape[1])
        system = fitted.of_trajectory(trajectory.label)
        few, many = (_followed(system, states, trajectory, steps) for steps in (_STEPS, 2 * _STEPS))
        room = _COURSE * (movement + 1e-12 * np.nanmax(np.abs(states), axis=0, initial=1.0))
        told = (np.abs(few - many) <= 0.1 * room).all(axis=1) & np.isfinite(states[1:]).all(axis=1)
        if (np.abs(many - states[1:])[told] > room).any():
            raise ContentError(f"'simulated' of system {number} is not what its equations give")


@np.errstate(all="ignore")
def _followed(system: System, states: np.ndarray, trajectory: Trajectory, steps: int) -> np.ndarray:
    """All states but the last, each until the time of the next one, by the classical method of fourth order."""
    state, begin, length = states[:-1], trajectory.time[:-1], np.diff(trajectory.time) / steps

    def slopes(state: np.ndarray, moment: np.ndarray) -> np.ndarray:
        rows = np.column_stack([state, trajectory.inputs_at(moment)])
        return system.slopes(np.column_stack([rows, moment]) if system.depends_on_time else rows)

    for k in range(steps):
        time, step = begin + k * length, length[:, None]
        one = slopes(state, time)
        two = slopes(state + 0.5 * step * one, time + 0.5 * length)
        three = slopes(state + 0.5 * step * two, time + 0.5 * length)
        four = slopes(state + step * three, time + length)
        state = state + step * (one + 2.0 * two + 2.0 * three + four) / 6.0
    return state
