"""Time series as they were measured: one or several trajectories of the same states and inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Samples at increasing times: a row of states (NaN where one was not measured) and of inputs for each."""

    label: str
    time: np.ndarray  # (samples,)
    states: np.ndarray  # (samples, states)
    inputs: np.ndarray  # (samples, inputs)
    sizes: np.ndarray | None = None  # (samples, states): how large errors are there, as shares; None: all alike

    @property
    def span(self) -> float:
        return float(self.time[-1] - self.time[0])

    def inputs_at(self, time: np.ndarray) -> np.ndarray:
        """The inputs between their samples, by straight lines."""
        columns = [np.interp(time, self.time, column) for column in self.inputs.T]
        return np.column_stack(columns) if columns else np.zeros((len(time), 0))


@dataclass(frozen=True, eq=False)
class Series:
    """All trajectories, with the names of their columns.

    With `order` 2 only positions are measured: `states` names them, and the system has a speed for each beside it.
    """

    trajectories: tuple[Trajectory, ...]
    time: str
    states: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    order: int = 1

    @property
    def samples(self) -> int:
        return sum(len(trajectory.time) for trajectory in self.trajectories)

    @cached_property
    def scale(self) -> np.ndarray:
        """How far each state moves: its standard deviation over all samples."""
        return np.nanstd(np.vstack([trajectory.states for trajectory in self.trajectories]), axis=0)

    @property
    def system_states(self) -> tuple[str, ...]:
        """The states of the system: with order 2 each position is followed by its speed."""
        if self.order == 1:
            return self.states
        return tuple(name for state in self.states for name in (state, speed_name(state)))

    @property
    def labels(self) -> Sequence[str]:
        return [trajectory.label for trajectory in self.trajectories]


def speed_name(state: str) -> str:
    """What the speed of a position is called where only positions were measured."""
    return f"{state}_speed"
