"""Required shapes as sums of values at points, for checks on a grid and for fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from ceql.shapes.policy import POLICY, ShapePolicy
from ceql.shapes.shape import Kind, Shape

Array = np.ndarray


@dataclass(frozen=True)
class Frame:
    """The columns of a table with their ranges, and the size of the target, by which shapes are measured."""

    names: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    size: float

    @classmethod
    def of(cls, names: Sequence[str], x: Array, y: Array) -> Frame:
        """The frame of a table; the size of y is its spread, or its largest absolute value if it does not vary."""
        spread = float(np.std(y)) or float(np.max(np.abs(y))) or 1.0
        return cls(tuple(names), tuple(map(float, x.min(axis=0))), tuple(map(float, x.max(axis=0))), spread)

    def range_of(self, name: str, shape: Shape) -> tuple[float, float]:
        """The range of a column for a shape: as stated there, or else that of the data, made symmetric if necessary."""
        for named, low, high in shape.ranges:
            if named == name:
                return low, high
        place = self.names.index(name)
        low, high = self.lower[place], self.upper[place]
        if shape.kind in (Kind.EVEN, Kind.ODD) and name in shape.columns:
            far = max(abs(low), abs(high)) or 1.0
            return -far, far
        if shape.kind is Kind.SYMMETRIC and name in shape.columns:
            places = [self.names.index(other) for other in shape.columns]
            return min(self.lower[k] for k in places), max(self.upper[k] for k in places)
        return (low, high) if low < high else (low - 0.5, high + 0.5)

    def box(self, shape: Shape) -> tuple[Array, Array]:
        """The ranges of all columns; columns that the shape's point names are fixed."""
        fixed = dict(shape.point)
        ends = [(fixed[n], fixed[n]) if n in fixed else self.range_of(n, shape) for n in self.names]
        low, high = np.array(ends, float).T
        return low, high


@dataclass(frozen=True, eq=False)
class Asked:
    """Sums of values at points that are required to be zero, or at least zero."""

    points: Array
    places: Array  # places of the points of each sum, in rows
    factors: Array  # factors of their values
    shift: float  # constant that is added to each sum
    is_equality: bool
    strict: bool = False

    def sums(self, values: Array) -> Array:
        """The sums for these values at the points, or for their derivatives in columns."""
        picked = values[self.places]
        factors = self.factors if values.ndim == 1 else self.factors[:, None]
        return (picked * factors).sum(axis=1)


@lru_cache(maxsize=16)  # grids of wide tables are large
def asked(shape: Shape, frame: Frame, policy: ShapePolicy = POLICY, fine: bool = True) -> Asked | None:
    """The shape as sums of values; None for limits and poles, which cannot be expressed like that."""
    match shape.kind:
        case Kind.ABOVE | Kind.BELOW:
            points = _spread(shape, frame, policy, fine)
            sign = 1.0 if shape.kind is Kind.ABOVE else -1.0
            return Asked(points, _each(points), np.array([sign]), -sign * shape.value, False, shape.strict)
        case Kind.POINT:
            points = _spread(shape, frame, policy, fine)
            return Asked(points, _each(points), np.array([1.0]), -shape.value, True)
        case Kind.EVEN | Kind.ODD | Kind.SYMMETRIC:
            points = _spread(shape, frame, policy, fine)
            other = image(shape, points, frame.names)
            places = np.column_stack([np.arange(len(points)), len(points) + np.arange(len(points))])
            factors = np.array([1.0, 1.0 if shape.kind is Kind.ODD else -1.0])
            return Asked(np.vstack([points, other]), places, factors, 0.0, True)
        case Kind.INCREASING | Kind.DECREASING:
            factors = np.array([-1.0, 1.0]) * (1.0 if shape.kind is Kind.INCREASING else -1.0)
            return _along(shape, frame, policy, fine, factors)
        case Kind.CONVEX | Kind.CONCAVE:
            factors = np.array([1.0, -2.0, 1.0]) * (1.0 if shape.kind is Kind.CONVEX else -1.0)
            return _along(shape, frame, policy, fine, factors)
        case _:
            return None


def image(shape: Shape, points: Array, names: Sequence[str]) -> Array:
    """The points reflected by the symmetry of the shape."""
    other = points.copy()
    places = [names.index(name) for name in shape.columns]
    if shape.kind is Kind.SYMMETRIC:
        other[:, places] = points[:, places[::-1]]
    else:
        other[:, places] = -points[:, places]
    return other


def _each(points: Array) -> Array:
    return np.arange(len(points))[:, None]


def _spread(shape: Shape, frame: Frame, policy: ShapePolicy, fine: bool) -> Array:
    """Points over all columns: evenly spaced if only one varies, otherwise random ones with the corners."""
    low, high = frame.box(shape)
    free = np.flatnonzero(low < high)
    if len(free) == 0:
        return low[None, :]
    if len(free) == 1:
        points = np.tile(low, (policy.line if fine else policy.fit_line, 1))
        points[:, free[0]] = np.linspace(low[free[0]], high[free[0]], len(points))
        return points
    return held_values(low, high, policy.spread if fine else policy.fit_spread)


def held_values(low: Array, high: Array, count: int) -> Array:
    """Points of a box: its middle, its corners if there is room for them, and random ones."""
    free = np.flatnonzero(low < high)
    points = low + (high - low) * np.random.default_rng(0).uniform(size=(count, len(low)))
    points[0] = 0.5 * (low + high)
    if 2 ** len(free) < count:
        for k, ends in enumerate(product((0.0, 1.0), repeat=len(free))):
            points[k + 1, free] = low[free] + np.array(ends) * (high - low)[free]
    return points


def _along(shape: Shape, frame: Frame, policy: ShapePolicy, fine: bool, factors: Array) -> Asked:
    """Sums over neighbouring points along a column, while the other columns are held at several values.

    For a check, the neighbours are all points of a line, which reveals jumps. For a fit they are close together, at few
    places that include the ends of the line.
    """
    low, high = frame.box(shape)
    place = frame.names.index(shape.columns[0])
    width = len(factors)
    if len(frame.names) == 1:
        lines, count = low[None, :], policy.line if fine else policy.fit_line
    else:
        count = policy.along if fine else policy.fit_along
        lines = held_values(low, high, policy.held if fine else policy.fit_held)
    span = high[place] - low[place]
    if fine:
        along = np.linspace(low[place], high[place], count)
        first = np.arange(count - width + 1)
    else:
        step = policy.fit_step * span
        begin = np.linspace(low[place], high[place] - (width - 1) * step, count)
        along = (begin[:, None] + step * np.arange(width)).ravel()
        first = width * np.arange(count)
    points = np.repeat(lines, len(along), axis=0)
    points[:, place] = np.tile(along, len(lines))
    firsts = (first + len(along) * np.arange(len(lines))[:, None]).ravel()
    return Asked(points, firsts[:, None] + np.arange(width), factors, 0.0, False)
