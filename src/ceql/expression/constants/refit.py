"""Least-squares refinement of the constants of a formula, down to rounding level."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sympy import Float, Symbol

from ceql.expression.constants.parametrise import parametrise
from ceql.expression.evaluate.residual_problem import Array, Form, Problem, Program, make_problem
from ceql.expression.symbolic import Expr
from ceql.operators.program import value_and_jacobian

RANK_TOLERANCE = 1e-13
LARGEST_DAMPING = 1e12
SMALLEST_DAMPING = 1e-14
FIRST_DAMPING = 1e-3
TINY = 1e-6  # relative improvement of the misfit
IDLE = 1e-6  # a constant is idle if its whole effect on the values is below this share of the residuals
FIRST_STEPS, STARTS_AHEAD = 8, 5  # steps of all starts, and number of best starts that continue
REFIT_STEPS = 8  # steps for constants that are close to their optimum
WITHIN_STEPS = 50  # steps for constants that are kept within bounds
STANDS_STILL = 1e-9  # relative change below which a constant has converged
LONG_TABLE_TRIES = 3  # dampings tried on a long table, where each costs a pass over many rows


@dataclass(frozen=True)
class Refit:
    """A formula with refined constants.

    ``values``, ``standard_errors`` and ``covariance`` follow the order of ``parametrise(expr)``;
    ``misfit`` is the weighted sum of squared residuals.
    """

    expr: Expr
    values: Array
    standard_errors: Array
    misfit: float
    covariance: Array


def damped_steps(jacobian: Array, residuals: Array) -> Callable[[float], Array]:
    """Return a function of the damping: the step that minimises |J step + r|^2 + damping |scaled step|^2, by SVD.

    There is no step in directions that the data do not determine. The expensive part is done once for all dampings.
    """
    scale = np.linalg.norm(jacobian, axis=0)
    scale[scale == 0.0] = 1.0
    if not np.all(np.isfinite(scale)):
        return lambda damping: np.zeros(jacobian.shape[1])  # no direction is reliable here
    # An SVD of the small triangle costs next to nothing; one of the long matrix costs several times its QR.
    q, triangle = np.linalg.qr(jacobian / scale)
    u, sigma, vt = np.linalg.svd(triangle, full_matrices=False)
    supported = sigma > RANK_TOLERANCE * max(sigma[0], np.finfo(float).tiny)
    projected = u.T @ (q.T @ residuals)

    def step(damping: float) -> Array:
        gains = np.where(supported, sigma / np.where(supported, sigma**2 + damping, 1.0), 0.0)
        return -(vt.T @ (gains * projected)) / scale

    return step


def minimise(problem: Problem, start: Array, max_iterations: int, tiny: float = TINY) -> tuple[Array, float]:
    """Run Levenberg-Marquardt steps; return the constants and their misfit, which is never above the starting one.

    Steps end at the bounds of the problem, and leave out constants that a bound holds back.
    """
    values = problem.within(np.array(start, dtype=np.float64))
    best = problem.misfit(values)
    if values.size == 0 or not np.isfinite(best):
        return values, best
    damping, stalls = FIRST_DAMPING, 0
    for _ in range(max_iterations):
        residuals, jacobian = problem.linearise(values)
        if best == 0.0 or not np.all(np.isfinite(jacobian)):
            break
        jacobian = np.where(_held_back(problem, values, residuals @ jacobian), 0.0, jacobian)
        values, improved, damping = _improve(problem, values, best, residuals, jacobian, damping)
        if improved >= best and _idle(values, residuals, jacobian).any():
            busy = np.where(_idle(values, residuals, jacobian), 0.0, jacobian)
            values, improved, damping = _improve(problem, values, best, residuals, busy, FIRST_DAMPING)
        # At rounding level improvements are luck: two tiny ones in a row mean that the minimum is reached.
        stalls = stalls + 1 if improved > best * (1.0 - tiny) else 0
        exhausted = improved >= best
        best = improved
        if exhausted or stalls >= (1 if problem.is_long else 2):
            break
    return values, best


def _held_back(problem: Problem, values: Array, slope: Array) -> Array:
    """Return which constants are on a bound beyond which the misfit would fall further."""
    return ((values <= problem.low) & (slope >= 0.0)) | ((values >= problem.high) & (slope <= 0.0))


def _idle(values: Array, residuals: Array, jacobian: Array) -> Array:
    """Return which constants hardly matter at their size, such as c near 0 in sqrt(x + c**2).

    Their steps are so long that no step helps, which keeps the other constants from moving.
    """
    return np.linalg.norm(jacobian, axis=0) * np.abs(values) <= IDLE * np.linalg.norm(residuals)


def _improve(
    problem: Problem, values: Array, best: float, residuals: Array, jacobian: Array, damping: float
) -> tuple[Array, float, float]:
    """Make one step that lowers the misfit: the better of Gauss-Newton and damped, else with more damping."""
    step = damped_steps(jacobian, residuals)
    candidates = [problem.within(values + step(trial)) for trial in (0.0, damping)]
    scores = [problem.misfit(candidate) for candidate in candidates]
    winner = int(np.argmin(scores))
    if scores[winner] < best:
        return candidates[winner], scores[winner], max(damping * 0.1, SMALLEST_DAMPING)
    tries = LONG_TABLE_TRIES if problem.is_long else math.inf
    while damping < LARGEST_DAMPING and tries > 0:
        damping, tries = damping * 10.0, tries - 1
        candidate = problem.within(values + step(damping))
        score = problem.misfit(candidate)
        if score < best:
            return candidate, score, damping
    return values, best, damping


def covariance_of(problem: Problem, values: Array, misfit: float, noise: float | None = None) -> Array:
    """Return the covariance of the constants; infinite for those that the data do not determine.

    It uses the variance of the noise if known, else the residual variance with N - p degrees of freedom. A constant on
    a bound counts as known.
    """
    free = np.flatnonzero((values > problem.low) & (values < problem.high))
    whole = np.zeros((len(values), len(values)))
    if len(free):
        whole[np.ix_(free, free)] = _covariance_of_free(problem, values, misfit, free, noise)
    return whole


def _covariance_of_free(problem: Problem, values: Array, misfit: float, free: Array, noise: float | None) -> Array:
    count = len(free)
    jacobian = problem.linearise(values)[1][:, free]
    freedom = problem.rows - count
    scale = np.linalg.norm(jacobian, axis=0)
    if freedom <= 0 or not np.all(np.isfinite(jacobian)) or not np.all(np.isfinite(scale)):
        return np.full((count, count), np.inf)
    scale[scale == 0.0] = 1.0
    _, sigma, vt = np.linalg.svd(jacobian / scale, full_matrices=False)
    supported = sigma > RANK_TOLERANCE * max(sigma[0], np.finfo(float).tiny)
    inverse = np.where(supported, 1.0 / np.where(supported, sigma, 1.0), 0.0)
    weighted = vt.T / sigma**2 if np.all(supported) else vt.T * inverse**2
    covariance = weighted @ vt / np.outer(scale, scale) * (misfit / freedom if noise is None else noise)
    # Only the constants in directions that the data do not determine have infinite variance.
    loose = np.any(np.abs(vt[~supported]) > 1e-6, axis=0)
    covariance[loose, loose] = np.inf
    return covariance


def held_at(problem: Problem, values: Array, free: list[int]) -> Problem:
    """Return the problem of the free constants alone, with the others held at these values."""
    low, high = (np.broadcast_to(bound, values.shape)[free] for bound in (problem.low, problem.high))
    return replace(problem, program=_Partial(problem.program, values, free), low=low, high=high)


def minimise_free(problem: Problem, values: Array, held: set[int]) -> tuple[Array, float]:
    """Refit the constants that are not held; return all constants and the misfit."""
    free = [index for index in range(len(values)) if index not in held]
    if not free:
        return values, problem.misfit(values)
    complete = values.copy()
    complete[free], misfit = minimise(held_at(problem, values, free), values[free], REFIT_STEPS)
    return complete, misfit


@dataclass(frozen=True)
class _Partial:
    """A compiled formula with some of its constants held."""

    program: Program
    values: Array
    free: list[int]

    def _complete(self, part: Array) -> Array:
        complete = self.values.copy()
        complete[self.free] = part
        return complete

    def value(self, x: Array, constants: Array) -> Array:
        return self.program.value(x, self._complete(constants))

    def __call__(self, x: Array, constants: Array) -> tuple[Array, Array]:
        values, jacobian = self.program(x, self._complete(constants))
        return values, jacobian[:, self.free]


@np.errstate(all="ignore")
def refit_within(
    expr: Expr,
    symbols: Sequence[Symbol],
    x: Array,
    y: Array,
    weights: Array | None,
    low: float,
    high: float,
) -> Expr | None:
    """Return the formula refitted with every decimal constant within the bounds; None if it is then undefined."""
    form = parametrise(expr)
    if not form.symbols:
        return expr
    problem = replace(make_problem(form, symbols, x, y, weights), low=low, high=high)
    values, misfit = minimise(problem, form.values, WITHIN_STEPS)
    return form.substitute(values) if np.isfinite(misfit) else None


@np.errstate(all="ignore")
def refit_reweighted(
    form: Form,
    symbols: Sequence[Symbol],
    x: Array,
    y: Array,
    weigh: Callable[[Array], Array],
    rounds: int,
    steps: int = 10,
) -> Array:
    """Return the constants refined with weights that ``weigh`` computes from the fitted values, until they converge."""
    problem = make_problem(form, symbols, x, y, None)
    values = np.array(form.values)
    if not len(values) or len(problem.y) < len(y):
        return values
    for _ in range(rounds):
        root_weights = np.sqrt(weigh(problem.program.value(problem.x, values)))
        before = values
        values, _ = minimise(replace(problem, root_weights=root_weights), values, steps)
        if np.all(np.abs(values - before) <= STANDS_STILL * np.abs(before)):
            break
    return values


@np.errstate(all="ignore")
def best_of_starts(
    expr: Expr,
    unknown: Sequence[Symbol],
    starts: Array,
    symbols: Sequence[Symbol],
    x: Array,
    y: Array,
    weights: Array | None = None,
    max_iterations: int = 50,
) -> tuple[Expr, float]:
    """Fit the decimals of ``expr`` and its ``unknown`` symbols, these starting from every row of ``starts``.

    All starts make a few steps, and the best of them continue.
    Return the best fit and its misfit, which is infinite if no start is defined in every row.
    """
    decimals = parametrise(expr)
    names = (*decimals.symbols, *unknown)
    program = value_and_jacobian(decimals.expr, symbols, names)
    root_weights = np.ones(len(y)) if weights is None else np.sqrt(np.asarray(weights, dtype=np.float64))
    problem = Problem(program, np.asarray(x, np.float64), np.asarray(y, np.float64), root_weights)
    fits = [minimise(problem, np.concatenate([decimals.values, start]), FIRST_STEPS) for start in starts]
    ahead = sorted(fits, key=lambda pair: pair[1])[:STARTS_AHEAD]
    values, misfit = min((minimise(problem, pair[0], max_iterations) for pair in ahead), key=lambda pair: pair[1])
    return decimals.expr.xreplace({s: Float(float(v)) for s, v in zip(names, values, strict=True)}), misfit


@np.errstate(all="ignore")
def refit(
    expr: Expr,
    symbols: Sequence[Symbol],
    x: Array,
    y: Array,
    weights: Array | None = None,
    max_iterations: int = 50,
) -> Refit:
    """Refine every decimal constant of ``expr``; the misfit on the data never gets worse."""
    form = parametrise(expr)
    problem = make_problem(form, symbols, x, y, weights)
    values, misfit = minimise(problem, form.values, max_iterations)
    covariance = covariance_of(problem, values, misfit)
    errors = np.sqrt(np.abs(np.diag(covariance)))
    refined = form.substitute(values) if len(values) else expr
    return Refit(refined, values, errors, misfit, covariance)
