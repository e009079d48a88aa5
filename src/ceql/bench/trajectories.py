"""Points on the solutions of differential equations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from ceql.bench.definitions import System
from ceql.bench.errors import SuiteError

_TOLERANCE = 1e-10
_MOST_STEPS = 20_000

Rate = Callable[[np.ndarray], np.ndarray]


def solutions(system: System, rates: Sequence[Rate]) -> np.ndarray:
    """The points of all solutions, one below the other; `rates` are the compiled ones of the system."""
    return _solutions(system, tuple(rates)).copy()


# Several problems and all seeds share the solutions of a system.
@lru_cache(maxsize=32)
def _solutions(system: System, rates: tuple[Rate, ...]) -> np.ndarray:
    return np.vstack([_solution(system, rates, start) for start in system.starts])


def _solution(system: System, rates: Sequence[Rate], start: tuple[float, ...]) -> np.ndarray:
    from scipy.integrate import solve_ivp

    times = system.step * np.arange(system.points)
    steps = itertools.count()

    def slope(_: float, state: np.ndarray) -> list[float]:
        # Before a solution that runs off to infinity, steps shrink without end.
        if next(steps) > _MOST_STEPS:
            raise SuiteError(_lost(start, times[-1], "it takes too many steps"))
        return [float(rate(state[None, :])[0]) for rate in rates]

    found = solve_ivp(slope, (0.0, times[-1]), start, "LSODA", times, rtol=_TOLERANCE, atol=_TOLERANCE)
    if not found.success or not np.isfinite(found.y).all():
        raise SuiteError(_lost(start, times[-1], found.message))
    return found.y.T


def _lost(start: tuple[float, ...], end: float, why: str) -> str:
    return f"The solution that starts at {start} cannot be followed to time {end:g}: {why}. Take fewer points."
