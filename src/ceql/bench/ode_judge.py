"""Judges a system of differential equations: how well it reproduces the true trajectories, and its structure.

The trajectory from the true initial state is compared with the true one without noise, by an R² in which every state
counts with its variance; trajectories from other initial states show how well the system generalises.

An equation has the right *structure* if the numbers of the true one can be set so that it has the values of the found
one on the true trajectory and on a grid around it, within 1e-6 of their spread. All numbers of the truth are free for
this, as `ode_freed` describes, so that noise on the constants does not matter. None of them may be without effect: the
truth without a term, which is the truth with the factor 0, is another structure. And the found equation, with its own
numbers set free in the same way, as it is or as one fraction, may not have more of them than the true one: a term that
is too small to be seen is one too many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import sympy

from ceql.bench.definitions import Motion, Problem
from ceql.bench.law_judge import LawJudge
from ceql.bench.ode_data import motion_of, sampling_times, true_system, true_trajectories
from ceql.bench.ode_freed import freed, on_one_line
from ceql.dynamics.system import System
from ceql.expression import node_count

Array = np.ndarray


@dataclass(frozen=True)
class OdeJudging:
    """The thresholds and limits of the verdict."""

    good: float = 0.99  # R² above which a trajectory counts as reproduced
    relative: float = 1e-8  # tolerance of the trajectories of a system that was found
    most_slopes: int = 60_000  # evaluations for one trajectory; it fails if more are needed
    matters: float = 1e-5  # share of the spread of the values by which setting a number to 0 must change them
    most_nodes: int = 300  # of an equation; no truth is larger
    most_gathered: int = 120  # of an equation that is written as one fraction, to find cancelling terms
    box: int = 64  # points in the range of the trajectory, to find numbers with the same effect


JUDGING = OdeJudging()


@dataclass(frozen=True)
class OdeScore:
    """The fields of a record that this verdict sets."""

    r2: float
    r2_test: float | None
    structure: bool
    right_equations: int
    front_solution: bool
    node_count: int


def score_system(
    found: System, problem: Problem, front: Sequence[System] = (), policy: OdeJudging = JUDGING
) -> OdeScore:
    """Judges the system that a method chose, and the others that it offers."""
    motion = motion_of(problem)
    trained, tested = true_trajectories(problem)
    judge = _judge(problem.variables, _plain(motion), policy)
    right = judge.right(found)
    return OdeScore(
        r2=_r2(found, motion, motion.starts, trained, policy),
        r2_test=_r2(found, motion, motion.tests, tested, policy) if tested else None,
        structure=all(right),
        right_equations=sum(right),
        front_solution=all(right) or any(all(judge.right(one)) for one in front),
        node_count=sum(node_count(formula.expression) for formula in found.formulas),
    )


def _r2(
    found: System, motion: Motion, starts: Sequence[Sequence[float]], truth: Sequence[Array], policy: OdeJudging
) -> float:
    simulated = [follow(found, start, sampling_times(motion), policy) for start in starts]
    return variance_weighted_r2(simulated, truth)


def variance_weighted_r2(simulated: Sequence[Array], truth: Sequence[Array]) -> float:
    """One minus the squared errors of all states and trajectories over their squared distances from their means.

    Minus infinity if a trajectory could not be simulated.
    """
    if not all(np.isfinite(one).all() for one in simulated):
        return -np.inf
    with np.errstate(over="ignore"):
        errors = sum(float(np.sum((a - b) ** 2)) for a, b in zip(simulated, truth, strict=True))
    spread = sum(float(np.sum((one - one.mean(axis=0)) ** 2)) for one in truth)
    return 1.0 - errors / spread if spread > 0.0 else float(errors == 0.0)


class _TooLong(Exception):
    """A trajectory needs too many evaluations."""


@dataclass(frozen=True, eq=False)
class _Counted(System):
    """A system that limits its evaluations, since steps towards a pole shrink forever."""

    left: list[int] = field(default_factory=list)

    def slopes(self, rows: Array) -> Array:
        self.left[0] -= 1
        if self.left[0] < 0:
            raise _TooLong
        return super().slopes(rows)


def follow(found: System, start: Sequence[float], times: Array, policy: OdeJudging = JUDGING) -> Array:
    """The states of a system at these times; all NaN if they cannot be simulated."""
    counted = _Counted(found.states, found.formulas, time=found.time, left=[policy.most_slopes])
    try:
        return counted.simulate(start, times, relative=policy.relative)
    except _TooLong:
        return np.full((len(times), len(found.states)), np.nan)


def _plain(motion: Motion) -> Motion:
    """The motion without fields that do not change the truth."""
    return Motion(motion.rates, motion.constants, motion.starts, motion.tests, motion.span, motion.samples)


@lru_cache(maxsize=64)
def _judge(states: tuple[str, ...], motion: Motion, policy: OdeJudging) -> StructureJudge:
    return StructureJudge(states, motion, policy)


class StructureJudge:
    """The true equations of a system, to be compared with found ones."""

    def __init__(self, states: tuple[str, ...], motion: Motion, policy: OdeJudging = JUDGING) -> None:
        truth = true_system(states, motion)
        trained, _ = true_trajectories(Problem("", "", "", states, (), (), motion=motion))
        x = np.vstack(trained)
        self.equations = [
            EquationJudge(states, formula.expression, x, truth.slopes(x)[:, k], policy)
            for k, formula in enumerate(truth.formulas)
        ]

    def right(self, found: System) -> list[bool]:
        """Whether each equation has the right structure."""
        return [one.is_right(formula.expression) for one, formula in zip(self.equations, found.formulas, strict=True)]


class EquationJudge:
    """One true right-hand side with its numbers set free, and the rows on which it is compared with found ones."""

    def __init__(self, states: tuple[str, ...], truth: sympy.Expr, x: Array, slopes: Array, policy: OdeJudging) -> None:
        self.policy = policy
        low, high = x.min(axis=0), x.max(axis=0)
        box = low + np.random.default_rng(0).random((policy.box, len(low))) * (high - low)
        symbols = tuple(sympy.Symbol(name, real=True) for name in states)
        family = freed(truth, symbols, np.vstack([x, box]))
        data = tuple(map(tuple, np.column_stack([x, slopes]).tolist()))
        problem = Problem("", "", str(family.expression), states, (), (), data=data, start=family.numbers)
        self.law = LawJudge(problem)
        self.numbers = len(family.numbers)
        self.exponents = [k for k, (name, _) in enumerate(family.numbers) if name in family.exponents]
        self.symbols = symbols
        self.box = np.vstack([x, box])
        self._verdicts: dict[sympy.Expr, bool] = {}

    def is_right(self, expression: sympy.Expr) -> bool:
        if expression not in self._verdicts:
            self._verdicts[expression] = self._is_right(expression)
        return self._verdicts[expression]

    def _is_right(self, expression: sympy.Expr) -> bool:
        if node_count(expression) > self.policy.most_nodes or self._has_more_numbers(expression):
            return False
        return self.law.is_law(expression, self._all_matter)

    @np.errstate(all="ignore")
    def _has_more_numbers(self, expression: sympy.Expr) -> bool:
        if self._count(expression) <= self.numbers:
            return False
        is_small = node_count(expression) <= self.policy.most_gathered
        return not is_small or self._count(on_one_line(expression, self.symbols)) > self.numbers

    def _count(self, expression: sympy.Expr) -> int:
        return len(freed(expression, self.symbols, self.box).numbers)

    def _all_matter(self, x: Array, numbers: Array) -> bool:
        """Whether every number affects the values, apart from those without effect in the truth itself."""
        needed = self._matter(x, self.law.start)
        return bool(np.all(self._matter(x, numbers) | ~needed))

    def _matter(self, x: Array, numbers: Array) -> Array:
        values = self.law.program.value(x, numbers)
        least = self.policy.matters * float(np.std(values))
        return np.array([self._changes(x, numbers, values, k) > least for k in range(len(numbers))])

    def _changes(self, x: Array, numbers: Array, values: Array, k: int) -> float:
        """How much the values change if a number is set to 0 (an exponent to 0 or 1); infinite if values are lost."""
        changes = []
        for value in (0.0, 1.0) if k in self.exponents else (0.0,):
            without = numbers.copy()
            without[k] = value
            change = np.abs(self.law.program.value(x, without) - values)
            changes.append(float(np.max(change)) if np.isfinite(change).all() else np.inf)
        return min(changes)
