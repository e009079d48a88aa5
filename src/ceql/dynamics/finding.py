"""What is known of a system once it was found: plain data that summaries, plots, files and reports share."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from ceql.dynamics.series import Series
from ceql.dynamics.system import System
from ceql.formula import Formula


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

    def of_trajectory(self, label: str) -> System:
        """The system with the constants that belong to this trajectory alone; the same for all where there are none."""
        own = [constant for constant in self.constants if constant.trajectory == label]
        if not own:
            return self.system
        pairs = zip(self.system.states, self.system.formulas, strict=True)
        formulas = (_with(formula, [c for c in own if c.state == state]) for state, formula in pairs)
        return replace(self.system, formulas=tuple(formulas))


def _with(formula: Formula, constants: list[Constant]) -> Formula:
    """The formula with these numbers for those of its constants that they name."""
    if not constants:
        return formula
    values = np.array(formula.form.values, float)
    for constant in constants:
        values[int(re.sub(r"\D", "", constant.name)) - 1] = constant.value
    return formula.at(values)


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
