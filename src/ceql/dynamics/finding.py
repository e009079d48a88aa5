"""What is known of a system once it was found: plain data that summaries, plots, files and reports share."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from ceql.dynamics.series import Series
from ceql.dynamics.system import System
from ceql.formula import Formula

_SAME = 1e-9  # by which two writings of a number may differ


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

    system: System  # with the constants of the first trajectory, where each has its own
    criterion: float  # minus twice the logarithm of a probability, as for formulas: small is good
    weight: float  # how likely this system is among those that were compared
    r2: tuple[float, ...]  # of each measured state, simulated from the fitted initial state of each trajectory
    constants: tuple[Constant, ...]
    initial: np.ndarray  # (trajectories, states): the fitted states at the first sample
    initial_errors: np.ndarray  # their standard errors
    noise: np.ndarray  # (measured states,): standard deviation of what the trajectories leave
    simulated: tuple[np.ndarray, ...] = ()  # of each trajectory, at its samples

    def __post_init__(self) -> None:
        object.__setattr__(self, "constants", as_written(self.system, self.constants))

    def of_trajectory(self, label: str) -> System:
        """The system with the constants that belong to this trajectory alone; the same for all where there are none."""
        own = [constant for constant in self.constants if constant.trajectory == label]
        if not own:
            return self.system
        pairs = zip(self.system.states, self.system.formulas, strict=True)
        formulas = (_with(formula, [c for c in own if c.state == state]) for state, formula in pairs)
        return replace(self.system, formulas=tuple(formulas))


def as_written(system: System, constants: tuple[Constant, ...]) -> tuple[Constant, ...]:
    """The constants under the names that they have in the equations as these are written now.

    SymPy puts terms in an order that depends on their numbers, so that c1 and c2 change places when numbers are fitted.
    """
    found: list[Constant] = []
    for state, formula in zip(system.states, system.formulas, strict=True):
        own = [constant for constant in constants if constant.state == state]
        names = list(dict.fromkeys(constant.name for constant in own))
        values = [next(c.value for c in own if c.name == name) for name in names]
        order = _places(values, formula.form.values)
        renamed = dict(zip(names, (f"c{place + 1}" for place in order), strict=False)) if order else {}
        found += sorted(
            (replace(c, name=renamed.get(c.name, c.name)) for c in own), key=lambda constant: _number(constant.name)
        )
    return tuple(found)


def _places(values: list[float], written: np.ndarray) -> list[int]:
    """Where each value stands among those of a formula; nothing where they are not the same numbers."""
    left, places = list(range(len(written))), []
    for k, value in enumerate(values):
        same = [place for place in left if abs(written[place] - value) <= _SAME * abs(value)]
        if not same:
            return []
        places.append(min(same, key=lambda place: abs(place - k)))
        left.remove(places[-1])
    return [] if left else places


def _number(name: str) -> int:
    return int(re.sub(r"\D", "", name) or 0)


def _with(formula: Formula, constants: list[Constant]) -> Formula:
    """The formula with these numbers for those of its constants that they name."""
    if not constants:
        return formula
    values = np.array(formula.form.values, float)
    for constant in constants:
        values[_number(constant.name) - 1] = constant.value
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
