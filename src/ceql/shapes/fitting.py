"""Fits with required shapes: violations enter the least squares as extra rows with increasing weights.

Each requirement says that a sum of values of the formula, or of one of its denominators, at certain points is zero or
at least zero. An extra row is the amount by which such a sum is violated. A small margin keeps the fit away from the
boundary, so that finer grids and interval proofs confirm the shape.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import sympy

from ceql.expression.constants.refit import minimise
from ceql.expression.evaluate.poles import singular_factors
from ceql.expression.evaluate.residual_problem import Form, Problem, Program, make_problem
from ceql.operators.program import value_and_jacobian
from ceql.shapes.grid import Array, Asked, Frame, asked
from ceql.shapes.limits import sides
from ceql.shapes.policy import POLICY, ShapePolicy
from ceql.shapes.shape import Kind, Shape

_CLOSING_STEPS = 8  # steps of Newton's method to meet equality requirements
_RANK = 1e-7  # share of the largest pivot below which an equation is redundant


@dataclass(frozen=True, eq=False)
class Demand:
    """A requirement on the values of a program with the constants of the formula, in units of y."""

    program: Program
    asked: Asked
    scale: float  # factor that scales differences of neighbours to the whole range

    def values(self, constants: Array) -> Array:
        return (self.asked.sums(self.program.value(self.asked.points, constants)) + self.asked.shift) * self.scale

    def sums(self, constants: Array) -> tuple[Array, Array]:
        """The values and their derivatives by the constants."""
        values, slopes = self.program(self.asked.points, constants)
        sums = (self.asked.sums(values) + self.asked.shift) * self.scale
        by_constants = np.stack([self.asked.sums(column) for column in slopes.T], axis=1) * self.scale
        return sums, by_constants


@dataclass(frozen=True, eq=False)
class _Held:
    """A formula on its rows, followed by the amounts by which requirements are violated."""

    program: Program
    demands: tuple[Demand, ...]
    margin: float
    size: float

    def value(self, x: Array, constants: Array) -> Array:
        with np.errstate(all="ignore"):
            below = [self._breach(demand, demand.values(constants)) for demand in self.demands]
        return np.concatenate([self.program.value(x, constants), *below])

    def __call__(self, x: Array, constants: Array) -> tuple[Array, Array]:
        values, slopes = self.program(x, constants)
        below, by_constants = [], []
        with np.errstate(all="ignore"):
            for demand in self.demands:
                sums, moves = demand.sums(constants)
                breach = self._breach(demand, sums)
                # Fulfilled requirements have no slope, and undefined values cannot be repaired by a step.
                idle = (breach == 0.0) | ~np.isfinite(sums) | ~np.isfinite(moves).all(axis=1)
                below.append(breach)
                by_constants.append(np.where(idle[:, None], 0.0, moves))
        return np.concatenate([values, *below]), np.vstack([slopes, *by_constants])

    def _breach(self, demand: Demand, sums: Array) -> Array:
        """The amount by which each sum violates the requirement."""
        if not demand.asked.is_equality:
            sums = np.where(sums >= self.margin, 0.0, sums - self.margin)
        return np.where(np.isfinite(sums), sums, -self.size)


@np.errstate(all="ignore")
def held_values(
    form: Form,
    symbols: Sequence[sympy.Symbol],
    x: Array,
    y: Array,
    weights: Array,
    shapes: Sequence[Shape],
    frame: Frame,
    policy: ShapePolicy = POLICY,
) -> Iterator[Array]:
    """Constants for which the formula fits and nearly has the shapes, for every way to have them and several margins.

    The caller decides which of them are good enough.
    """
    problem = make_problem(form, symbols, x, y, weights)
    if not len(form.values) or not len(problem.y):
        return
    for demands in ways_to_meet(form, symbols, shapes, frame, policy):
        if not demands:
            continue
        values = np.array(form.values)
        for weight in policy.weights:
            values, _ = minimise(_held(problem, demands, weight, policy.margins[0], frame), values, policy.steps)
        if worst(demands, values) > policy.hopeless * frame.size:
            continue
        for margin in policy.margins:
            last = _held(problem, demands, policy.weights[-1], margin, frame)
            values, misfit = minimise(last, values, policy.last_steps)
            if np.isfinite(misfit):
                yield closed(values, demands, problem)


def worst(demands: Sequence[Demand], values: Array) -> float:
    """The largest violation, in units of y; infinite where the values are undefined."""
    found = [np.abs(sums) if d.asked.is_equality else -sums for d in demands for sums in (d.values(values),)]
    largest = max(float(np.max(one)) for one in found)
    return largest if np.isfinite(largest) else np.inf


def _held(problem: Problem, demands: Sequence[Demand], weight: float, margin: float, frame: Frame) -> Problem:
    total = float(np.sum(problem.root_weights**2))
    counts = [len(demand.asked.places) for demand in demands]
    root = np.concatenate([np.full(count, math.sqrt(weight * total / count)) for count in counts])
    return replace(
        problem,
        program=_Held(problem.program, tuple(demands), margin * frame.size, frame.size),
        y=np.concatenate([problem.y, np.zeros(len(root))]),
        root_weights=np.concatenate([problem.root_weights, root]),
    )


def ways_to_meet(
    form: Form, symbols: Sequence[sympy.Symbol], shapes: Sequence[Shape], frame: Frame, policy: ShapePolicy = POLICY
) -> Iterator[tuple[Demand, ...]]:
    """The requirements of a fit, once for each way to meet them: a required pole may be a zero of any denominator."""
    symbols = tuple(symbols)
    program = value_and_jacobian(form.expr, symbols, form.symbols)
    common: list[Demand] = []
    factors = [factor for _, factor in singular_factors(form.expr)]
    for shape in shapes:
        wanted = _wanted(shape, frame, policy)
        if wanted is not None:
            common.append(Demand(program, wanted, _scale(wanted, policy)))
        if shape.kind is Kind.NO_POLES:
            common += [_kept_off(factor, shape, form, symbols, frame, policy) for factor in factors]
    poles = [shape for shape in shapes if shape.kind is Kind.POLE]
    if not poles:
        yield tuple(common)
        return
    for factor in dict.fromkeys(factors):
        vanishing = [_vanishing(factor, shape, form, symbols, frame) for shape in poles]
        if all(demand is not None for demand in vanishing):
            yield (*common, *(demand for demand in vanishing if demand is not None))


def _scale(wanted: Asked, policy: ShapePolicy) -> float:
    """Compensates for the smallness of differences between neighbouring points: scales them to the whole range."""
    return 1.0 if wanted.is_equality else policy.fit_step ** (1 - wanted.places.shape[1])


def _wanted(shape: Shape, frame: Frame, policy: ShapePolicy) -> Asked | None:
    """The requirement as sums of values; a finite limit is required far out, or close to its place."""
    if shape.kind is not Kind.LIMIT or not math.isfinite(shape.value):
        return asked(shape, frame, policy, fine=False)
    low, high = frame.box(shape)
    place = frame.names.index(shape.columns[0])
    span = (high - low)[place] or 1.0
    if math.isinf(shape.place):
        ends = [high[place] + policy.far * span if shape.place > 0 else low[place] - policy.far * span]
    else:
        ends = [shape.place + side * span / policy.far for side in sides(shape.place, low[place], high[place])]
    blocks = []
    for end in ends:
        points = asked(Shape(Kind.ABOVE, ranges=shape.ranges), frame, policy, fine=False)
        block = points.points.copy() if points is not None else low[None].copy()
        block = block[: policy.fit_held] if len(low) > 1 else block[:1]
        block[:, place] = end
        blocks.append(block)
    points = np.vstack(blocks)
    return Asked(points, np.arange(len(points))[:, None], np.array([1.0]), -shape.value, True)


def _kept_off(
    factor: Any, shape: Shape, form: Form, symbols: tuple[sympy.Symbol, ...], frame: Frame, policy: ShapePolicy
) -> Demand:
    """The requirement that a denominator keeps the sign that it has in the middle of the data."""
    points = asked(Shape(Kind.ABOVE, ranges=shape.ranges), frame, policy, fine=False)
    assert points is not None
    program = value_and_jacobian(factor, symbols, form.symbols)
    middle = 0.5 * (np.array(frame.lower) + np.array(frame.upper))
    values = program.value(np.vstack([middle, points.points]), np.asarray(form.values))
    sign = -1.0 if values[0] < 0.0 else 1.0
    usual = float(np.nanmedian(np.abs(values))) or 1.0
    return Demand(program, replace(points, factors=np.array([sign])), frame.size / usual)


def _vanishing(factor: Any, shape: Shape, form: Form, symbols: tuple[sympy.Symbol, ...], frame: Frame) -> Demand | None:
    """The requirement that a denominator is zero at the pole; None if it does not depend on the pole's column."""
    place = frame.names.index(shape.columns[0])
    if symbols[place] not in factor.free_symbols:
        return None
    point = 0.5 * (np.array(frame.lower) + np.array(frame.upper))
    point[place] = shape.place
    program = value_and_jacobian(factor, symbols, form.symbols)
    usual = abs(float(program.value(np.array([frame.upper]), np.asarray(form.values))[0])) or 1.0
    wanted = Asked(point[None], np.array([[0]]), np.array([1.0]), 0.0, True)
    return Demand(program, wanted, frame.size / usual if math.isfinite(usual) else 1.0)


@np.errstate(all="ignore")
def closed(values: Array, demands: Sequence[Demand], problem: Problem) -> Array:
    """The constants changed so that all equality requirements are met exactly.

    As few constants as possible are changed, preferring those that matter least to the rows.
    """
    equations = [demand for demand in demands if demand.asked.is_equality]
    if not equations:
        return values
    found = np.array(values, float)
    _, slopes = _stacked(equations, found)
    by_rows = np.linalg.norm(problem.linearise(found)[1], axis=0)
    scaled = slopes / np.where(by_rows > 0.0, by_rows, 1.0)
    if not np.all(np.isfinite(scaled)):
        return values
    factors: Any = scipy.linalg.qr(scaled, mode="economic", pivoting=True)
    _, triangle, order = factors
    sizes = np.abs(np.diag(triangle))
    moved = order[: len(sizes)][sizes > _RANK * max(float(sizes[0]), 1e-300)]
    for _ in range(_CLOSING_STEPS):
        sums, slopes = _stacked(equations, found)
        if not (np.all(np.isfinite(sums)) and np.all(np.isfinite(slopes))):
            return values
        found[moved] -= np.linalg.lstsq(slopes[:, moved], sums, rcond=None)[0]
    inside = bool(np.all(found >= problem.low) and np.all(found <= problem.high))
    return found if inside and np.all(np.isfinite(found)) else values


def _stacked(equations: Sequence[Demand], values: Array) -> tuple[Array, Array]:
    sums, slopes = zip(*(demand.sums(values) for demand in equations), strict=True)
    return np.concatenate(sums), np.vstack(slopes)
