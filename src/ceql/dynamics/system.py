"""A system of differential equations, and what becomes of a state under it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import sympy

from ceql.errors import InputError
from ceql.formula import Formula

_FARTHEST = 1e12  # times the size of the initial state, or of one: beyond it a trajectory has blown up
_STEPS_A_SAMPLE, _MORE_STEPS = 40, 2000  # of the solver: one that needs more has met something that cannot be passed


@dataclass(frozen=True, eq=False)
class System:
    """d state/d time = formula, for each state in order; all formulas take the same columns: states, inputs, and the
    time last where the law depends on it."""

    states: tuple[str, ...]
    formulas: tuple[Formula, ...]
    inputs: tuple[str, ...] = ()
    time: str = "t"
    depends_on_time: bool = False
    # Equations that are known, such as x' = v where only positions were measured; nothing in them was searched for.
    given: tuple[bool, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.states, *self.inputs, *((self.time,) if self.depends_on_time else ()))

    @property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        return self.formulas[0].symbols

    @property
    def searched(self) -> tuple[int, ...]:
        """The equations that were searched for, by number."""
        return tuple(k for k in range(len(self.states)) if not (self.given and self.given[k]))

    @property
    def equations(self) -> tuple[str, ...]:
        """As text, a line for each state."""
        return tuple(
            f"d{name}/d{self.time} = {formula}" for name, formula in zip(self.states, self.formulas, strict=True)
        )

    def __str__(self) -> str:
        return "\n".join(self.equations)

    def slopes(self, rows: np.ndarray) -> np.ndarray:
        """The derivatives of the states at these rows of columns; NaN where a formula is undefined."""
        with np.errstate(all="ignore"):
            return np.column_stack([formula(rows) for formula in self.formulas])

    def simulate(
        self,
        initial: Sequence[float] | np.ndarray,
        time: Sequence[float] | np.ndarray,
        inputs: Callable[[np.ndarray], np.ndarray] | None = None,
        relative: float = 1e-8,
    ) -> np.ndarray:
        """The states at these times, which begin with that of the initial state; NaN from where the trajectory ends,
        because it blows up or leaves the domain of a formula.

        `inputs` gives the inputs at an array of times, a row for each.
        """
        if self.inputs and inputs is None:
            raise InputError(f"This system has inputs ({', '.join(self.inputs)}): say what they are at each time.")
        return integrate(self, np.asarray(initial, float), np.asarray(time, float), inputs, relative)


def integrate(
    system: System,
    initial: np.ndarray,
    time: np.ndarray,
    inputs: Callable[[np.ndarray], np.ndarray] | None,
    relative: float,
) -> np.ndarray:
    from scipy.integrate import LSODA

    size = np.maximum(np.abs(initial), 1e-3 * max(np.max(np.abs(initial), initial=0.0), 1e-9))
    farthest = _FARTHEST * max(1.0, float(np.max(np.abs(initial), initial=0.0)))

    def slope(moment: float, state: np.ndarray) -> np.ndarray:
        row = np.append(state, inputs(np.array([moment]))[0]) if inputs is not None and system.inputs else state
        return system.slopes((np.append(row, moment) if system.depends_on_time else row)[None, :])[0]

    states = np.full((len(time), len(initial)), np.nan)
    states[0] = initial
    if len(time) < 2 or not np.isfinite(slope(time[0], initial)).all():
        return states
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # that a trajectory cannot be followed is said by its missing states
        solver = LSODA(slope, time[0], initial, time[-1], rtol=relative, atol=cast(float, relative * 1e-2 * size))
        for _ in range(_STEPS_A_SAMPLE * len(time) + _MORE_STEPS):
            solver.step()
            if solver.status == "failed" or not (np.abs(solver.y) < farthest).all():
                break
            passed = (time > solver.t_old) & (time <= solver.t)
            if passed.any():
                states[passed] = solver.dense_output()(time[passed]).T
            if solver.status == "finished":
                break
    return states
