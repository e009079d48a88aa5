"""Curves of one variable that are a known shape, stretched in both directions: y = a * u**k * F(b*u).

Most laws of science depend on a dimensionless ratio through one of a few functions. If that ratio is small in all rows,
a search that adds one term after the other can hardly tell them from a polynomial. The shape as a whole has only two
numbers, and the right one has a residual smaller by many decades.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ceql.closed_form.policy import ShapePolicy
from ceql.operators import get
from ceql.operators.functions import TABLE, ElementaryFunction


@dataclass(frozen=True)
class Shape:
    """A function of one variable, written with these operators."""

    needs: tuple[str, ...]
    values: Callable[[np.ndarray], np.ndarray]
    written: Callable[[Any], Any]


def _of(name: str) -> Callable[[Any], Any]:
    return lambda z: get(name).symbolic(z)


def _over(function: ElementaryFunction) -> Shape:
    return Shape(("div", function.name), lambda z: 1.0 / function.value(z), lambda z: 1 / function.symbolic(z))


_PLAIN = tuple(function for function in TABLE if function.is_shape)
_EXP, _LOG, _SQRT = _of("exp"), _of("log"), _of("sqrt")
# The simpler ones first: of two shapes that fit equally well, the first is taken.
SHAPES = (
    *(Shape((function.name,), function.value, function.symbolic) for function in _PLAIN),
    Shape(("div",), lambda z: 1.0 / (1.0 + z), lambda z: 1 / (1 + z)),
    Shape(("div",), lambda z: 1.0 / (1.0 + z) ** 2, lambda z: 1 / (1 + z) ** 2),
    Shape(("sqrt",), lambda z: np.sqrt(1.0 + z), lambda z: _SQRT(1 + z)),
    Shape(("div", "sqrt"), lambda z: 1.0 / np.sqrt(1.0 + z), lambda z: 1 / _SQRT(1 + z)),
    Shape(("log",), np.log1p, lambda z: _LOG(1 + z)),
    Shape(("exp",), np.expm1, lambda z: _EXP(z) - 1),
    Shape(("exp", "div"), lambda z: 1.0 / np.expm1(z), lambda z: 1 / (_EXP(z) - 1)),
    Shape(("exp", "div"), lambda z: 1.0 / (np.exp(z) + 1.0), lambda z: 1 / (_EXP(z) + 1)),
    *(_over(function) for function in _PLAIN),
    Shape(("cos",), lambda z: 2.0 * np.sin(z / 2.0) ** 2, lambda z: 1 - _of("cos")(z)),
)


@np.errstate(all="ignore")  # candidates that overflow are rejected
def shape(
    u: np.ndarray, y: np.ndarray, symbol: Any, names: Collection[str] | None = None, policy: ShapePolicy = ShapePolicy()
) -> Any:
    """Return the stretched shape that equals y as a function of u, over this symbol; None if there is none.

    `names` are the operators that may be used; None: all.
    """
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[: policy.rows])
    u, y = u[rows], y[rows]
    if not (y != 0.0).all() or not (u != 0.0).all():
        return None
    best = None
    for variable, written in ((u, symbol), (u**2, symbol**2)):
        for known in SHAPES:
            if names is None or set(known.needs) <= set(names):
                found = _stretched(known, variable, u, y, policy)
                if found is not None and (best is None or found[0] < policy.better * best[0]):
                    best = *found, known, written
    if best is None or best[0] > policy.vanishes:
        return None
    _, power, scale, size, known, written = best
    return size * symbol**power * known.written(scale * written)


def _stretched(
    known: Shape, variable: np.ndarray, u: np.ndarray, y: np.ndarray, policy: ShapePolicy
) -> tuple[float, int, float, float] | None:
    """Fit a shape; return its residual relative to y, the power of u beside it, its scale and its factor."""
    largest = float(np.abs(variable).max())
    scales = np.array([s for one in policy.scales for s in (one, -one)]) / largest
    powers = np.array(policy.powers)
    scale, power = (grid.ravel() for grid in np.meshgrid(scales, powers))
    goal = y / u ** power[:, None]
    for step in range(policy.steps):
        left, slope = _left(known, variable, goal, scale), np.empty(0)
        nearby = _left(known, variable, goal, scale * (1.0 + policy.nearby))
        slope = (nearby - left) / policy.nearby
        moved = -np.sum(left * slope, axis=1) / np.sum(slope**2, axis=1)
        scale = scale * np.exp(np.clip(moved, -1.0, 1.0))
        if step == policy.first_steps:
            size = np.nan_to_num(np.mean(left**2, axis=1), nan=np.inf)
            kept = np.argsort(size, kind="stable")[: policy.kept]
            scale, power, goal = scale[kept], power[kept], goal[kept]
    size = np.nan_to_num(np.sqrt(np.mean(_left(known, variable, goal, scale) ** 2, axis=1)), nan=np.inf)
    best = int(np.argmin(size))
    if not np.isfinite(size[best]):
        return None
    values = known.values(scale[best] * variable)
    factor = float(np.mean(goal[best] / values))
    return float(size[best]), int(power[best]), float(scale[best]), factor


def _left(known: Shape, variable: np.ndarray, goal: np.ndarray, scale: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the residual of the shape for each scale, relative to the goal, with the best factor."""
    ratio = known.values(np.asarray(scale)[:, None] * variable) / goal
    factor = np.sum(ratio, axis=1) / np.sum(ratio**2, axis=1)
    return 1.0 - factor[:, None] * ratio
