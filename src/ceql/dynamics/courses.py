"""What a fitted system does along each trajectory: at its samples, and between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ceql.dynamics.finding import DynamicsFinding, Fitted
from ceql.dynamics.series import Trajectory
from ceql.dynamics.system import System

_DRAWN = 1500  # times at which a course is drawn, beside those of its samples


@dataclass(frozen=True, eq=False)
class Course:
    """A trajectory as it was measured and as the system has it, from its fitted initial state."""

    measured: Trajectory
    system: System  # with the constants of this trajectory
    initial: np.ndarray
    time: np.ndarray
    states: np.ndarray  # (times, states of the system): NaN from where the simulation ends

    @property
    def ends(self) -> float | None:
        """The time of the last state, where the simulation does not reach the end."""
        lost = ~np.isfinite(self.states).all(axis=1)
        return float(self.time[max(int(np.argmax(lost)) - 1, 0)]) if lost.any() else None


def course(fitted: Fitted, place: int, trajectory: Trajectory, fine: bool = False) -> Course:
    """Along one trajectory; `fine` adds times between the samples, for a picture."""
    system = fitted.of_trajectory(trajectory.label)
    time = trajectory.time
    if fine:
        time = np.union1d(time, np.linspace(time[0], time[-1], _DRAWN))
    initial = np.asarray(fitted.initial[place], float)
    states = system.simulate(initial, time, trajectory.inputs_at)
    return Course(trajectory, system, initial, time, states)


def courses(finding: DynamicsFinding, fitted: Fitted | None = None, fine: bool = False) -> tuple[Course, ...]:
    """Along every trajectory, of the chosen system or of another."""
    whole = enumerate(finding.series.trajectories)
    return tuple(course(fitted or finding.best, k, trajectory, fine) for k, trajectory in whole)


def measured_places(finding: DynamicsFinding) -> list[int]:
    """The states of the system that were measured, by their numbers."""
    return [finding.system.states.index(name) for name in finding.series.states]


def r_squared(measured: np.ndarray, simulated: np.ndarray) -> float:
    """The share of a state's movement that the simulation has; NaN where it does not move or there is no sample, minus
    infinity where the simulation ends before the samples do."""
    known = np.isfinite(measured)
    spread = float(np.sum((measured[known] - measured[known].mean()) ** 2)) if known.any() else 0.0
    if spread == 0.0:
        return np.nan
    if not np.isfinite(simulated[known]).all():
        return -np.inf
    return 1.0 - float(np.sum((measured[known] - simulated[known]) ** 2)) / spread
