"""A relation as a surface: values, gradients, how far rows are from it, and the points of it next to them."""

from __future__ import annotations

from collections.abc import Sequence
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
    slopes: Array  # (rows, columns), beside the surfaces that the rows are on
    size: Array  # of the gradients, these surfaces not regarded
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
    def sines(self) -> Array:
        """Of the angles to the surfaces that the rows are on: what follows from these has none."""
        return np.linalg.norm(self.slopes, axis=1) / np.maximum(self.size, _LEAST)

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
        size = np.linalg.norm(slopes, axis=1)
        return Seen(np.broadcast_to(values, len(rows.x)), rows.beside(slopes), size, self._flat)


def thickness_of(squares: Array, expected: float, policy: SupportPolicy, thin: float | None = None) -> float:
    """How far rows that were moved seem to be from a surface, by their squared distances, in what is expected: 1, or
    less where it has several sheets or is nearly a square, so that everything seems nearer to it than it is."""
    there = squares[np.isfinite(squares)]
    if not len(there):
        return 1.0
    found = float(np.median(there)) / (_MEDIAN_SQUARE * expected)
    return 1.0 if found > (policy.thin if thin is None else thin) else max(found, policy.thinnest)


def put_onto(equations: Sequence[Equation], rows: Rows, flat: float, rounds: int) -> Rows:
    """The points next to these rows at which all equations hold, with the directions across their surfaces."""
    surfaces = [Surface(equation, rows, flat) for equation in equations]
    near = rows
    for _ in range(rounds):
        seen = [surface.at(near) for surface in surfaces]
        slopes = np.nan_to_num(np.stack([one.slopes for one in seen], axis=1))  # (rows, equations, columns)
        values = np.nan_to_num(np.stack([one.values for one in seen], axis=1))
        values = values + np.einsum("nmd,nd->nm", slopes, (rows.x - near.x) / rows.scale)
        steps = np.einsum("ndm,nm->nd", np.linalg.pinv(slopes), values)
        near = rows.at(rows.x - steps * rows.scale)
    slopes = np.stack([surface.at(near).slopes for surface in surfaces], axis=2)
    return near.at(near.x, np.linalg.qr(np.nan_to_num(slopes))[0].transpose(0, 2, 1))
