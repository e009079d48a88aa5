"""Judges formulas on a measured table whose law is known except for its constants.

The law is *chosen* if its constants can be set so that it has the values of the chosen formula on the rows and on a
grid over their range and a little beyond, within 1e-6 of the spread of the formula's values. It is *offered* if such a
formula, with a loss at most 5 % above that of the law's own best fit to the table, is among those that the method
returns. The values of constants do not matter, nor does the form in which a formula is written.

Two kinds of formula come close to a law without being it, and do not count: one that lacks a column of the law, and a
limit of it, as a straight line is of `b1*(1 - exp(-b2*x))` for small b2. A limit is recognised by its values, which do
not determine constants that the table does determine. A long formula that approximates the law to 1e-6 everywhere is
taken for the law; no formula fitted to measured rows does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from scipy.stats import qmc

from ceql.bench.definitions import Problem
from ceql.bench.points import columns
from ceql.engine.one_thread import one_thread
from ceql.expression import compile_numpy, parse_formula, value_and_jacobian
from ceql.expression.constants.refit import RANK_TOLERANCE, minimise
from ceql.expression.evaluate.residual_problem import Problem as Residuals

Array = np.ndarray


@dataclass(frozen=True)
class LawJudging:
    """The thresholds of the verdict, and the effort made before a formula is rejected."""

    tolerance: float = 1e-6  # of the spread of the formula's values
    room: float = 0.05  # share of the law's own loss by which the loss of an offered formula may be larger
    rows: int = 4000  # at most this many, evenly spaced, are used of a longer table
    grid: int = 96  # points over the box: several for each constant of a long law
    beyond: float = 0.05  # of the box, on each of its sides
    reach: float = 10.0  # the grid has gaps where the law is this many ranges off the target: there is a pole
    widths: tuple[float, ...] = (0.1, 0.5, 1.5)  # of the logarithms of random factors that spread the starts
    copies: int = 5  # of a start, for every width
    first_steps: int = 10  # from every start
    ahead: int = 4  # number of starts that are continued
    last_steps: int = 300
    final_steps: int = 5  # of all constants at once, to the last digits
    shift: float = 0.1  # relative change of the constants that must show in the values


JUDGING = LawJudging()


@dataclass(frozen=True)
class LawVerdict:
    """Whether the chosen formula is the law, and whether any offered formula is."""

    chosen: bool
    offered: bool


class LawJudge:
    """The law of a problem and its table, ready to be compared with formulas."""

    def __init__(self, problem: Problem, policy: LawJudging = JUDGING) -> None:
        self.policy = policy
        table = np.array(problem.data)[:: -(-len(problem.data) // policy.rows)]
        self.x, self.y = table[:, :-1], table[:, -1]
        self.symbols = columns(problem.variables)
        names = [name for name, _ in problem.start]
        self.constants = columns(names)
        self.law = parse_formula(problem.expression, (*problem.variables, *names))
        self.start = np.array([value for _, value in problem.start], dtype=float)
        self.program = value_and_jacobian(self.law, self.symbols, self.constants)
        self.linear = _linear(self.law, self.constants)

    @cached_property
    @one_thread
    @np.errstate(all="ignore")
    def best(self) -> Array:
        """The constants of the law's own best fit to the table."""
        problem = self._residuals(self.x, self.y)
        return min(self._fits(problem, [self.start]), key=problem.misfit)

    @cached_property
    def loss(self) -> float:
        """The mean squared error of the law's own best fit; infinite if the law is undefined on some row."""
        return self._residuals(self.x, self.y).misfit(self.best) / len(self.y)

    @cached_property
    def grid(self) -> Array:
        """Points over the range of the data and a little beyond, where the law's best fit is defined and far from a
        pole.
        """
        low, high = self.x.min(axis=0), self.x.max(axis=0)
        room = self.policy.beyond * (high - low)
        x = (low - room) + _net(len(low), self.policy.grid) * (high - low + 2.0 * room)
        apart = np.abs(self.program.value(x, self.best) - 0.5 * (self.y.max() + self.y.min()))
        return x[apart <= self.policy.reach * np.ptp(self.y)]

    def verdict(self, chosen: Any, offer: Iterable[Any]) -> LawVerdict:
        """The verdict on the formula that a method chose and on all that it offers, as expressions."""
        is_chosen = self.is_law(chosen)
        others = (formula for formula in offer if formula != chosen)
        is_offered = (is_chosen and self.fits_as_well(chosen)) or any(
            self.fits_as_well(formula) and self.is_law(formula) for formula in others
        )
        return LawVerdict(is_chosen, is_offered)

    def fits_as_well(self, expression: Any) -> bool:
        """Whether the loss is at most 5 % above the law's own loss, or at rounding level for an exact law."""
        values = self._values(expression, self.x)
        rounding = (self.policy.tolerance * float(np.std(self.y))) ** 2
        with np.errstate(all="ignore"):
            return bool(np.mean((values - self.y) ** 2) <= (1.0 + self.policy.room) * self.loss + rounding)

    @one_thread
    @np.errstate(all="ignore")
    def is_law(self, expression: Any, accepts: Callable[[Array, Array], bool] = lambda x, constants: True) -> bool:
        """Whether the law has the values of the formula for some constants that `accepts` approves on these rows."""
        wanted = self.law.free_symbols - set(self.constants)
        if not wanted or not wanted <= expression.free_symbols:
            return False
        x, values = self._where_defined(expression)
        spread = float(np.std(values[: len(self.y)]))
        if not (np.isfinite(values).all() and spread > 0.0):
            return False
        problem = self._residuals(x, values, 1.0 / spread)
        for found in self._fits(problem, [self.best, self.start]):
            apart = float(np.max(np.abs(problem.residuals(found))))
            is_same = apart <= self.policy.tolerance and not self._is_limit(problem, found, apart)
            if is_same and accepts(x, found):
                return True
        return False

    def _where_defined(self, expression: Any) -> tuple[Array, Array]:
        """The rows and the grid with the formula's values; grid points outside the range where it is undefined are
        dropped.
        """
        inside = np.all((self.grid >= self.x.min(axis=0)) & (self.grid <= self.x.max(axis=0)), axis=1)
        on_grid = self._values(expression, self.grid)
        kept = inside | np.isfinite(on_grid)
        return np.vstack([self.x, self.grid[kept]]), np.append(self._values(expression, self.x), on_grid[kept])

    def _values(self, expression: Any, x: Array) -> Array:
        return compile_numpy(expression, self.symbols)(x)

    def _residuals(self, x: Array, y: Array, weight: float = 1.0) -> Residuals:
        return Residuals(self.program, x, y, np.full(len(y), weight))

    def _fits(self, problem: Residuals, starts: Sequence[Array]) -> Iterator[Array]:
        """Yields fitted constants, from the starts themselves and then from the best points around them."""
        policy = self.policy
        projected = _Projected(problem, self.linear, [k for k in range(len(self.start)) if k not in self.linear])
        straight = replace(problem, program=projected)

        def descend(start: Array, steps: int) -> tuple[Array, float]:
            return minimise(straight, start, steps)

        for start in starts:
            found, _ = descend(start[projected.others], policy.last_steps)
            yield minimise(problem, projected.complete(found), policy.final_steps)[0]
        tried = [descend(start, policy.first_steps) for start in self._spread(starts, projected.others)]
        ahead = sorted((one for one in tried if np.isfinite(one[1])), key=lambda one: one[1])[: policy.ahead]
        for begun, _ in ahead:
            found, _ = descend(begun, policy.last_steps)
            yield minimise(problem, projected.complete(found), policy.final_steps)[0]

    def _spread(self, starts: Sequence[Array], places: Sequence[int]) -> Iterator[Array]:
        """Yields copies of the starts, with these constants multiplied by random factors."""
        rng = np.random.default_rng(0)
        for start in starts:
            for width in self.policy.widths if places else ():
                yield from start[places] * np.exp(width * rng.standard_normal((self.policy.copies, len(places))))

    def _is_limit(self, problem: Residuals, constants: Array, apart: float) -> bool:
        """Whether constants can change without a visible change of the values, although the table determines them."""
        determined = self._least_effect(problem, self.best) > self.policy.tolerance
        return determined and self._least_effect(problem, constants) <= apart

    def _least_effect(self, problem: Residuals, constants: Array) -> float:
        """The smallest root-mean-square change of the values over all directions of a change of the constants."""
        _, slopes = problem.linearise(constants)
        effects = slopes * np.maximum(np.abs(constants), np.abs(self.best)) * self.policy.shift
        if not np.isfinite(effects).all():
            return 0.0
        return float(np.linalg.svd(effects, compute_uv=False)[-1]) / np.sqrt(len(effects))


@dataclass(frozen=True, eq=False)
class _Projected:
    """A law as a function of its nonlinear constants, with the linear ones at their best: its fit is better
    conditioned.

    The derivatives are Kaufman's: those at fixed linear constants, minus the part that the linear constants can
    compensate. All rows must have the same weight, and be few enough to be processed at once.
    """

    problem: Residuals
    linear: list[int]
    others: list[int]

    def complete(self, others: Array) -> Array:
        """All constants of the law, given the nonlinear ones."""
        return self._solved(others)[0]

    def value(self, x: Array, constants: Array) -> Array:
        return self.problem.program.value(x, self.complete(constants))

    def __call__(self, x: Array, constants: Array) -> tuple[Array, Array]:
        complete, taken = self._solved(constants)
        values, slopes = self.problem.program(x, complete)
        left = slopes[:, self.others]
        return values, left - taken @ (taken.T @ left) if np.isfinite(left).all() else left

    def _solved(self, others: Array) -> tuple[Array, Array]:
        """All constants, and orthonormal directions in which the linear ones can change the values."""
        complete = np.zeros(len(self.linear) + len(self.others))
        complete[self.others] = others
        residuals, slopes = self.problem.linearise(complete)
        basis = slopes[:, self.linear]
        if not self.linear or not (np.isfinite(residuals).all() and np.isfinite(basis).all()):
            return complete, np.zeros((len(residuals), 0))
        scale = np.linalg.norm(basis, axis=0)
        scale[scale == 0.0] = 1.0
        # Decomposing the small triangle is cheap, unlike decomposing the long matrix.
        q, triangle = np.linalg.qr(basis / scale)
        u, sigma, vt = np.linalg.svd(triangle)
        kept = sigma > RANK_TOLERANCE * sigma[0]
        directions = q @ u[:, kept]
        complete[self.linear] = -(vt[kept].T @ ((directions.T @ residuals) / sigma[kept])) / scale
        return complete, directions


def _linear(law: Any, constants: Sequence[Any]) -> list[int]:
    """The indices of constants in which the law is jointly linear."""
    chosen: list[int] = []
    for k, constant in enumerate(constants):
        if all(sympy.diff(law, constant, constants[other]) == 0 for other in (*chosen, k)):
            chosen.append(k)
    return chosen


def _net(width: int, count: int) -> Array:
    """Points that fill the unit cube evenly, always the same; equally spaced for one column."""
    if width == 1:
        return np.linspace(0.0, 1.0, count)[:, None]
    return qmc.Halton(width, scramble=False).random(count)
