"""A run on differential equations: the series that a method gets, and the verdict on the system it finds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ceql.bench.definitions import Problem
from ceql.bench.errors import MethodError
from ceql.bench.methods import Adapter, Found
from ceql.bench.ode_data import measured
from ceql.bench.ode_judge import score_system
from ceql.dynamics.series import Series


@dataclass(frozen=True)
class SystemAdapter(Adapter):
    """A method that finds differential equations; the expression of its result is a `System`."""

    def discover(self, series: Series, seed: int, time_limit: float) -> Found:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class OfSystems:
    """A run on one system with one seed and level of noise."""

    problem: Problem
    series: Series

    @property
    def rows(self) -> int:
        return self.series.samples

    def ask(self, method: Adapter, seed: int, time_limit: float) -> Found:
        if not isinstance(method, SystemAdapter):
            raise MethodError(f"The method {method.name!r} finds formulas, not differential equations.")
        return method.discover(self.series, seed, time_limit)

    def judged(self, found: Found) -> dict[str, Any]:
        result = asdict(score_system(found.expression, self.problem, found.front))
        return {**result, "expression": "; ".join(found.expression.equations)}


def pose_system(problem: Problem, seed: int) -> OfSystems:
    return OfSystems(problem, measured(problem, seed))
