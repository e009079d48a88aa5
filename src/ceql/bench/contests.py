"""What a run consists of: the data of one seed, how a method is called, and how its answer is judged.

There are two kinds: a formula is found in rows of columns with a target, and a system of differential equations in
samples of its trajectories.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol

from ceql.bench.definitions import Problem, Samples
from ceql.bench.judge import as_expression, score
from ceql.bench.methods import Adapter, Found
from ceql.bench.points import sample


class Contest(Protocol):
    """A problem with its data."""

    @property
    def rows(self) -> int: ...

    def ask(self, method: Adapter, seed: int, time_limit: float) -> Found: ...

    def judged(self, found: Found) -> dict[str, Any]:
        """The fields of a record that follow from the answer, including its text."""
        ...


def pose(problem: Problem, seed: int) -> Contest:
    """The problem with the data of this seed."""
    if problem.motion is None:
        return _OfFormulas(problem, sample(problem, seed))
    # Imported only when needed: formulas do not need the simulation of trajectories.
    from ceql.bench.ode_contest import pose_system

    return pose_system(problem, seed)


@dataclass(frozen=True, eq=False)
class _OfFormulas:
    problem: Problem
    samples: Samples

    @property
    def rows(self) -> int:
        return len(self.samples.y_train)

    def ask(self, method: Adapter, seed: int, time_limit: float) -> Found:
        return method.run(self.samples.X_train, self.samples.y_train, self.samples.names, seed, time_limit)

    def judged(self, found: Found) -> dict[str, Any]:
        expression = as_expression(found.expression, self.samples.names)
        result = asdict(score(expression, self.problem, self.samples, found.front))
        return {**result, "expression": str(expression)}
