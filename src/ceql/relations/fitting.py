"""Fits the numbers of a relation to rows with noise in all columns.

The points of the surface nearest to the rows, and the numbers, are found in turn. At those points the columns are free
of noise, which leaves an ordinary weighted fit that all tools for constants can handle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sympy import Float, Rational

from ceql.data.dataset import Dataset
from ceql.engine.one_thread import one_thread
from ceql.expression.constants.refit import minimise
from ceql.expression.evaluate.residual_problem import make_problem
from ceql.relations.policy import FittingPolicy
from ceql.relations.rows import Rows
from ceql.relations.surface import Equation, Seen, Surface

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Fitted:
    """An equation with fitted numbers, and the equivalent ordinary fit at the points of the surface."""

    equation: Equation
    distance: float  # mean squared distance, in squared standard deviations of the columns
    near: Dataset  # points next to the rows, the required values of `rest`, and the weights
    signed: Array  # signed distances of the rows


@one_thread
@np.errstate(all="ignore")
def fitted(equation: Equation, rows: Rows, policy: FittingPolicy) -> Fitted | None:
    """The equation fitted by distances of rows from its surface; None if it is undefined in some row."""
    surface = Surface(equation, rows, policy.flat)
    numbers, near = surface.form.values, rows
    best = last = _round(surface, rows, near, numbers)
    for _ in range(policy.rounds):
        if last is None or last.distance <= policy.exact:
            break
        if len(numbers):
            form = replace(surface.form, values=numbers)
            numbers, _ = minimise(make_problem(form, rows.inputs, *last.plain), numbers, policy.steps)
        near = rows.at(_foot_points(rows, near, surface.at(near, numbers), policy))
        now = _round(surface, rows, near, numbers)
        is_settled = now is not None and abs(now.distance - last.distance) <= policy.settled * last.distance
        best, last = _nearer(best, now, policy), now
        if is_settled:
            break
    return None if best is None else _written(best, surface, rows)


def _nearer(best: _Round | None, now: _Round | None, policy: FittingPolicy) -> _Round | None:
    """The later round, unless its distance grew too much."""
    return best if now is None or (best is not None and now.distance > policy.astray * best.distance) else now


def measured(equation: Equation, rows: Rows, policy: FittingPolicy) -> Fitted | None:
    """Like `fitted`, but keeps the numbers as they are."""
    plain = _fixed(equation)
    found = fitted(plain, rows, policy)
    return None if found is None else replace(found, equation=equation)


def _fixed(equation: Equation) -> Equation:
    """The equation with fractions in place of decimals, so that they are not fitted."""
    exact = {number: Rational(float(number)) for number in equation.rest.atoms(Float)}
    return Equation(equation.target, equation.rest.xreplace(exact))


@dataclass(frozen=True, eq=False)
class _Round:
    numbers: Array
    signed: Array  # signed distances
    plain: tuple[Array, Array, Array]  # points, required values of `rest`, and weights

    @property
    def distance(self) -> float:
        return float(np.mean(self.signed**2))


def _round(surface: Surface, rows: Rows, near: Rows, numbers: Array) -> _Round | None:
    seen = surface.at(near, numbers)
    off = _offsets(rows, near, seen)
    if not (seen.is_sound and np.isfinite(off).all()):
        return None
    weight = 1.0 / seen.steep
    plain = near.wide(), surface.rest(near, numbers) + off, weight / weight.mean()
    return _Round(numbers, off / np.sqrt(seen.steep), plain)


def _written(found: _Round, surface: Surface, rows: Rows) -> Fitted:
    equation = Equation(surface.equation.target, surface.form.substitute(found.numbers))
    near = Dataset(*found.plain, tuple(symbol.name for symbol in rows.inputs))
    return Fitted(equation, found.distance, near, found.signed)


def _offsets(rows: Rows, near: Rows, seen: Seen) -> Array:
    """The value at each row, extrapolated with the gradient at the nearest point of the surface."""
    return seen.values + np.sum(seen.slopes * (rows.x - near.x) / rows.scale, axis=1)


def _foot_points(rows: Rows, near: Rows, seen: Seen, policy: FittingPolicy) -> Array:
    """The points of the tangent plane nearest to the rows, with a limit on the distance."""
    far = _offsets(rows, near, seen) / np.sqrt(seen.steep)
    most = policy.farthest * float(np.median(np.abs(far)))
    far = np.clip(np.nan_to_num(far), -most, most)
    return rows.x - far[:, None] * seen.slopes / np.sqrt(seen.steep)[:, None] * rows.scale
