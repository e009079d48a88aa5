"""A relation as a surface: values, gradients, how far rows are from it, and the points of it next to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ceql.expression import parametrise, value_and_jacobian
from ceql.operators.program import run
from ceql.relations.policy import SupportPolicy
from ceql.relations.rows import Rows

Array = np.ndarray
_NO_COLUMNS = np.empty((0, 0))
_LEAST = 1e-300  # stands for a gradient of zero
_MEDIAN_SQUARE = 0.4549  # of a standard normal number


@dataclass(frozen=True)
class Equation:
    """target = rest: every fitted number stands in `rest`, the levels of groups too."""

    target: Any
    rest: Any

    @property
    def difference(self) -> Any:
        """What vanishes in all rows."""
        return self.target - self.rest

    def columns(self, rows: Rows) -> tuple[int, ...]:
        """Which columns take part."""
        free = self.difference.free_symbols
        return tuple(k for k, symbol in enumerate(rows.symbols) if symbol in free)


@dataclass(frozen=True, eq=False)
class Seen:
    """An equation at some points: its values there, and its gradients in standard deviations of the columns."""

    values: Array  # (rows,)
    slopes: Array  # (rows, columns)
    flat: float  # share of the typical gradient that every row is taken to have at least

    @cached_property
    def steep(self) -> Array:
        """The squared gradients."""
        squares = np.sum(self.slopes**2, axis=1)
        return np.maximum(squares, max(self.flat**2 * float(np.median(squares)), _LEAST))

    @property
    def distances(self) -> Array:
        """Signed, to first order."""
        return self.values / np.sqrt(self.steep)

    @property
    def is_sound(self) -> bool:
        return bool(np.isfinite(self.values).all() and np.isfinite(self.slopes).all())


class Surface:
    """An equation compiled with names for its numbers, so that these may change."""

    def __init__(self, equation: Equation, rows: Rows, flat: float) -> None:
        self.equation, self.form, self._flat = equation, parametrise(equation.rest), flat
        inputs = (*rows.inputs, *self.form.symbols)
        self._scale = rows.scale
        # Columns are parameters to it: these have derivatives.
        self._difference = value_and_jacobian(equation.target - self.form.expr, (), inputs).instructions
        self._rest = value_and_jacobian(self.form.expr, (), inputs).instructions

    def _inputs(self, rows: Rows, numbers: Array | None) -> list[Any]:
        return [*rows.wide().T, *(self.form.values if numbers is None else numbers)]

    def rest(self, rows: Rows, numbers: Array | None = None) -> Array:
        return np.broadcast_to(run(self._rest, _NO_COLUMNS, self._inputs(rows, numbers)), len(rows.x))

    def at(self, rows: Rows, numbers: Array | None = None) -> Seen:
        tangents: list[dict[int, Array]] = []
        given = self._inputs(rows, numbers)
        values = run(self._difference, _NO_COLUMNS, given, tangents, wanted=range(len(rows.names)))
        slopes = np.zeros_like(rows.x)
        for k, slope in tangents[-1].items():
            slopes[:, k] = slope * self._scale[k]
        return Seen(np.broadcast_to(values, len(rows.x)), slopes, self._flat)


def thickness_of(squares: Array, reach: float, policy: SupportPolicy) -> float:
    """How far rows that were moved by `reach` seem to be from a surface, by their squared distances: 1, or less where
    it has several sheets or is nearly a square, so that everything seems nearer to it than it is."""
    there = squares[np.isfinite(squares)]
    if not len(there):
        return 1.0
    found = float(np.median(there)) / (_MEDIAN_SQUARE * reach**2)
    return 1.0 if found > policy.thin else max(found, policy.thinnest)


def sines(slopes: Array, across: Array) -> Array:
    """Of the angle between a gradient and what is spanned by the others, in each row; (rows, columns) each."""
    size = np.linalg.norm(slopes, axis=1)
    along = np.einsum("nmd,nd->nm", across, slopes)
    rest = np.maximum(size**2 - np.sum(along**2, axis=1), 0.0)
    return np.sqrt(rest) / np.maximum(size, 1e-300)
