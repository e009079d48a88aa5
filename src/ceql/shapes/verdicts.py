"""Whether a formula has a required shape, and how that is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from ceql.expression import compile_numpy
from ceql.expression.evaluate.poles import find_poles
from ceql.shapes.grid import Array, Asked, Frame, asked
from ceql.shapes.limits import goes_there
from ceql.shapes.policy import POLICY, ShapePolicy
from ceql.shapes.proofs import is_proved
from ceql.shapes.shape import Kind, Shape


@dataclass(frozen=True)
class Verdict:
    """The result for one shape and one formula."""

    shape: Shape
    kept: bool
    points: int  # number of points checked; 0 if it is proved
    where: str = ""  # where it is broken

    @property
    def how(self) -> str:
        """How it is known that the shape is kept, or where it is broken."""
        if not self.kept:
            return f"broken{self.where}"
        return f"checked on a grid of {self.points:,} points" if self.points else "proved"

    def __str__(self) -> str:
        return f"{self.shape}: {self.how}"


def verdict(
    shape: Shape, expression: Any, symbols: Sequence[sympy.Symbol], frame: Frame, policy: ShapePolicy = POLICY
) -> Verdict:
    """The verdict by a grid, with a proof if there is one."""
    checked = on_grid(shape, expression, symbols, frame, policy)
    if checked.kept and is_proved(shape, expression, symbols, frame, policy):
        return Verdict(shape, True, 0)
    return checked


@np.errstate(all="ignore")
def on_grid(
    shape: Shape, expression: Any, symbols: Sequence[sympy.Symbol], frame: Frame, policy: ShapePolicy = POLICY
) -> Verdict:
    """The verdict by values at points alone.

    A point where the formula is undefined breaks the shape if its range was given. In the range of the data it is
    ignored, since no row may be there.
    """
    if not is_real(expression):
        return Verdict(shape, False, 0)
    if shape.kind is Kind.NO_POLES:
        poles = find_poles(expression, list(symbols), *frame.box(shape))
        where = f" at {poles[0]}" if poles else ""
        return Verdict(shape, not poles, policy.spread, where)
    compiled = compile_numpy(expression, list(symbols))

    def function(points: Array) -> Array:
        return np.broadcast_to(compiled(points), (len(points),)).astype(float)

    wanted = asked(shape, frame, policy)
    if wanted is None:
        kept, count = goes_there(shape, function, frame, policy)
        return Verdict(shape, kept, count)
    values = function(wanted.points)
    wrong = breaches(wanted, values, frame, policy) > 0.0
    lost = ~np.isfinite(values)[wanted.places].all(axis=1)
    wrong = np.where(lost, bool(shape.ranges) or shape.kind is Kind.POINT, wrong)
    if lost.all() or not wrong.any():
        return Verdict(shape, not lost.all(), len(wanted.points))
    first = wanted.points[wanted.places[int(np.argmax(wrong)), 0]]
    at = ", ".join(f"{name} = {value:.4g}" for name, value in zip(frame.names, first, strict=True))
    return Verdict(shape, False, len(wanted.points), f" at {at}")


def is_real(expression: Any) -> bool:
    """Whether it is a formula of finite real numbers: constants may have caused roots of negative numbers, or 1/0."""
    return not expression.has(sympy.I, sympy.zoo, sympy.nan, sympy.oo, -sympy.oo)


def breaches(wanted: Asked, values: Array, frame: Frame, policy: ShapePolicy = POLICY) -> Array:
    """How far the sums exceed the tolerance, in units of y; NaN where the values are undefined."""
    sums = wanted.sums(values) + wanted.shift
    slack = policy.tolerance * max(frame.size, abs(wanted.shift))
    if wanted.is_equality:
        # Large values lose digits in their difference.
        sizes = np.abs(values[wanted.places]).max(axis=1)
        return np.abs(sums) - np.maximum(slack, policy.tolerance * sizes)
    return np.where(sums <= 0.0, 1.0, 0.0) if wanted.strict else -sums - slack


def keeps(
    shapes: Sequence[Shape],
    expression: Any,
    symbols: Sequence[sympy.Symbol],
    frame: Frame,
    policy: ShapePolicy = POLICY,
) -> bool:
    """Whether a formula has all shapes, as far as grids show."""
    return all(on_grid(shape, expression, symbols, frame, policy).kept for shape in shapes)
