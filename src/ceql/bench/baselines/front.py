"""Chooses from a front of formulas fitted in float32: refits constants in float64, then applies PySR's rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ceql.bench.judge import mse
from ceql.bench.points import columns
from ceql.expression import compile_numpy, parse_formula, refit

Point = TypeVar("Point", bound=tuple)

# A constant this close to 0 or 1 in float32 is tried as exactly 0 or 1: a scale or an offset without effect.
_NEUTRAL = 1e-2


class Row(NamedTuple):
    """A formula of a front with its size, its training error and its source."""

    size: int
    loss: float
    expression: Any
    source: Any = None


def best_row(rows: Sequence[Row], floor: float) -> Row:
    """Applies PySR's rule `best`: of the formulas within 1.5 times the least loss, the one with the steepest gain.

    The gain is the drop of log(loss) per unit of size against the next smaller formula of the front. Losses below
    `floor` are rounding errors and count as `floor`, since otherwise the rule would reward the last bit of float64.
    """
    front = pareto([row._replace(loss=max(row.loss, floor)) for row in rows])
    least = front[-1].loss
    gains = [0.0] + [np.log(small.loss / large.loss) / (large.size - small.size) for small, large in pairwise(front)]
    allowed = [i for i, row in enumerate(front) if row.loss <= 1.5 * least]
    return front[max(allowed, key=lambda i: gains[i])]


def pareto(rows: Iterable[Point]) -> list[Point]:
    """The rows that are better than every smaller one, by size; a row begins with its size and its error."""
    front: list[Point] = []
    for row in sorted(rows, key=lambda row: row[:2]):
        if not front or row[1] < front[-1][1]:
            front.append(row)
    return front


def rounding(y: np.ndarray) -> float:
    """The mean squared error that float64 rounding alone can cause on targets like `y`."""
    return float(1e-28 * np.mean(y**2)) or 1e-300


@dataclass(frozen=True, eq=False)
class Rough:
    """A formula as another system returned it; `write` makes its text from the texts of its constants."""

    write: Callable[[Sequence[str]], str]
    constants: Sequence[float]


@dataclass(frozen=True, eq=False)
class Data:
    """The data that formulas are fitted to."""

    X: np.ndarray
    y: np.ndarray
    names: tuple[str, ...]


def refitted(rough: Rough, data: Data, fixed: Mapping[int, int] | None = None) -> tuple[float, Any]:
    """The training error and the expression after a refit in float64, with some constants held fixed."""
    fixed = fixed or {}
    texts = [str(fixed[i]) if i in fixed else f"({float(c)!r})" for i, c in enumerate(rough.constants)]
    symbols = columns(data.names)
    expression = refit(parse_formula(rough.write(texts), data.names), symbols, data.X, data.y).expr
    return mse(compile_numpy(expression, symbols)(data.X), data.y), expression


def without_neutral(rough: Rough, data: Data, loss: float, expression: Any, floor: float) -> Any:
    """The expression without zeros and ones that have no effect, dropped one by one if the error does not grow.

    A training error below `floor` counts as zero.
    """
    allowed = max(1.01 * loss, floor)
    fixed: dict[int, int] = {}
    for i, constant in enumerate(rough.constants):
        if min(abs(constant), abs(constant - 1)) >= _NEUTRAL:
            continue
        attempt = {**fixed, i: round(constant)}
        try:
            error, slim = refitted(rough, data, attempt)
        except ValueError:
            # There is no formula without this constant, as after a division by zero.
            continue
        if error <= allowed:
            fixed, expression = attempt, slim
    return expression
