"""Chooses the system that explains measured trajectories best, for baselines that do not choose themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from ceql.bench.ode_judge import OdeJudging, follow
from ceql.dynamics.series import Series
from ceql.dynamics.system import System

Array = np.ndarray


@dataclass(frozen=True)
class Comparison:
    """Compares systems by the Bayesian information criterion of their simulated trajectories.

    Errors below `floor` of the spread of the data count as equal, so that the system with the fewest terms wins if
    several are accurate. All systems are compared over pieces of the trajectories, which chaos does not spoil, then the
    best `finalists` over whole ones. If none of these explains a share `explained` of the data, the first comparison
    decides.
    """

    floor: float = 1e-3
    pieces: int = 8  # of each trajectory
    substeps: int = 8  # between two samples of a piece
    finalists: int = 24
    explained: float = 0.9
    most_slopes: int = 6000  # evaluations for a whole trajectory
    relative: float = 1e-6  # tolerance for a whole trajectory

    def best(self, systems: Sequence[System], series: Series) -> System:
        ranked = sorted(systems, key=lambda one: self._criterion(one, self._over_pieces(one, series)))
        finalists = ranked[: self.finalists]
        errors = [self._over_whole(one, series) for one in finalists]
        if not any(np.mean(error) < 1.0 - self.explained for error in errors):
            return ranked[0]
        scores = [self._criterion(one, error) for one, error in zip(finalists, errors, strict=True)]
        return finalists[int(np.argmin(scores))]

    def _criterion(self, system: System, errors: Array) -> float:
        if not np.isfinite(errors).all():
            return math.inf
        terms = sum(len(sympy.Add.make_args(formula.expression)) for formula in system.formulas)
        return float(errors.size * np.log(np.mean(errors) + self.floor**2) + terms * np.log(errors.size))

    def _over_whole(self, system: System, series: Series) -> Array:
        """Squared errors of whole trajectories, in units of the spread of each state."""
        policy = OdeJudging(most_slopes=self.most_slopes, relative=self.relative)
        parts = [(follow(system, one.states[0], one.time, policy), one.states) for one in series.trajectories]
        return self._squares(parts, series)

    def _over_pieces(self, system: System, series: Series) -> Array:
        """Squared errors of pieces of trajectories, which are all simulated at once with fixed steps."""
        parts = []
        for one in series.trajectories:
            length = max(2, len(one.time) // self.pieces)
            starts = np.unique(np.linspace(0, len(one.time) - length, self.pieces).astype(int))
            rows = starts[:, None] + np.arange(length)
            found = _stepped(system, one.states[starts], one.time[rows], self.substeps)
            parts.append((found, one.states[rows]))
        return self._squares(parts, series)

    @staticmethod
    @np.errstate(all="ignore")
    def _squares(parts: Sequence[tuple[Array, Array]], series: Series) -> Array:
        scale = np.where(series.scale > 0.0, series.scale, 1.0)
        return np.concatenate([np.ravel(((found - measured) / scale) ** 2) for found, measured in parts])


COMPARISON = Comparison()


@np.errstate(all="ignore")
def _stepped(system: System, states: Array, times: Array, substeps: int) -> Array:
    """The states (pieces, samples, states) simulated from the given first ones with classical Runge-Kutta steps."""
    found = [states]
    for k in range(times.shape[1] - 1):
        step = ((times[:, k + 1] - times[:, k]) / substeps)[:, None]
        for _ in range(substeps):
            a = system.slopes(states)
            b = system.slopes(states + 0.5 * step * a)
            c = system.slopes(states + 0.5 * step * b)
            d = system.slopes(states + step * c)
            states = states + step / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        found.append(states)
    return np.stack(found, axis=1)
