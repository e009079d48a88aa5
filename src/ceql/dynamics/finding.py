"""What is known of a system once it was found: plain data that summaries, plots, files and reports share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ceql.dynamics.series import Series
from ceql.dynamics.system import System


@dataclass(frozen=True)
class Constant:
    """A constant of one equation with its standard error; `trajectory` names the one that it belongs to alone."""

    state: str  # whose equation it stands in
    name: str  # c1, c2, ... within the equation, in the order of its formula
    value: float
    error: float
    trajectory: str | None = None


@dataclass(frozen=True, eq=False)
class Fitted:
    """A system whose constants and initial states were fitted to all trajectories by simulation."""

    system: System
    criterion: float  # minus twice the logarithm of a probability, as for formulas: small is good
    weight: float  # how likely this system is among those that were compared
    r2: tuple[float, ...]  # of each measured state, simulated from the fitted initial state of each trajectory
    constants: tuple[Constant, ...]
    initial: np.ndarray  # (trajectories, states): the fitted states at the first sample
    initial_errors: np.ndarray  # their standard errors
    noise: np.ndarray  # (measured states,): standard deviation of what the trajectories leave
    simulated: tuple[np.ndarray, ...] = ()  # of each trajectory, at its samples


@dataclass(frozen=True, eq=False)
class DynamicsFinding:
    """The chosen system first, the others that were fitted to the trajectories after it, the most likely first."""

    series: Series
    systems: tuple[Fitted, ...]
    how: str  # a sentence: which derivatives, which noise, why
    seconds: float
    r2_held_out: float | None = None  # on trajectories, or last parts of them, that the constants were not fitted to
    notes: tuple[str, ...] = ()  # sentences for the user

    @property
    def best(self) -> Fitted:
        return self.systems[0]

    @property
    def system(self) -> System:
        return self.systems[0].system
