"""Choosing from a front of formulas: constants refitted in float64, then PySR's rule."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np


class Row(NamedTuple):
    """A formula of a front with its size, its training error and where it came from."""

    size: int
    loss: float
    expression: Any
    source: Any = None


def best_row(rows: Sequence[Row], floor: float) -> Row:
    """PySR's rule `best`: of the formulas within 1.5 times the least loss, the one with the steepest gain.

    The gain is the drop of log(loss) per unit of size against the next smaller formula of the front. Losses
    below `floor` are rounding and count as `floor`, or the rule would chase the last bit of float64.
    """
    front = pareto([row._replace(loss=max(row.loss, floor)) for row in rows])
    least = front[-1].loss
    gains = [0.0] + [np.log(small.loss / large.loss) / (large.size - small.size) for small, large in pairwise(front)]
    allowed = [i for i, row in enumerate(front) if row.loss <= 1.5 * least]
    return front[max(allowed, key=lambda i: gains[i])]


def pareto(rows: Sequence[Row]) -> list[Row]:
    """The rows that are better than every smaller one, from small to large."""
    front: list[Row] = []
    for row in sorted(rows, key=lambda r: (r.size, r.loss)):
        if not front or row.loss < front[-1].loss:
            front.append(row)
    return front


def rounding(y: np.ndarray) -> float:
    """The mean squared error that float64 rounding alone can cause on targets like `y`."""
    return float(1e-28 * np.mean(y**2)) or 1e-300
