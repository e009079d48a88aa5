"""A relation as a surface: its values and gradients at rows, their distances, and the nearest points on it."""

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
_MEDIAN_SQUARE = 0.4549  # median square of a standard normal variable


@dataclass(frozen=True)
class Equation:
    """The equation target = rest; all fitted numbers, including levels of groups, are in `rest`."""

    target: Any
    rest: Any

    @property
    def difference(self) -> Any:
        """The expression that vanishes in all rows."""
        return self.target - self.rest

    def columns(self, rows: Rows) -> tuple[int, ...]:
        """The places of the columns that take part."""
        free = self.difference.free_symbols
        return tuple(k for k, symbol in enumerate(rows.symbols) if symbol in free)


@dataclass(frozen=True, eq=False)
class Seen:
    """An equation at some points: its values there, and its gradients in standard deviations of the columns."""

    values: Array  # (rows,)
    slopes: Array  # (rows, columns), projected onto the surfaces that the rows lie on
    size: Array  # size of the gradients before that projection
    flat: float  # lower limit on the gradient, as a share of the typical one

    @cached_property
    def steep(self) -> Array:
        """The squared gradients, with a lower limit."""
        squares = np.sum(self.slopes**2, axis=1)
        return np.maximum(squares, max(self.flat**2 * float(np.median(squares)), _LEAST))

    @property
    def distances(self) -> Array:
        """Signed distances of the points from the surface, to first order."""
        return self.values / np.sqrt(self.steep)

    @property
    def sines(self) -> Array:
        """Sines of the angles to the surfaces that the rows lie on; near zero for relations that follow from these."""
        return np.linalg.norm(self.slopes, axis=1) / np.maximum(self.size, _LEAST)

    @property
    def is_sound(self) -> bool:
        return bool(np.isfinite(self.values).all() and np.isfinite(self.slopes).all())


class Surface:
    """A compiled equation whose numbers can be changed."""

    def __init__(self, equation: Equation, rows: Rows, flat: float) -> None:
        self.equation, self.form, self._flat = equation, parametrise(equation.rest), flat
        inputs = (*rows.inputs, *self.form.symbols)
        self._scale = rows.scale
        # The columns are passed as parameters, since derivatives exist only for these.
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
    """How far moved rows seem to be from a surface, by their squared distances, relative to what is expected.

    It is 1, or less if the surface has several sheets or the equation is nearly a square, so that everything seems
    nearer than it is.
    """
    there = squares[np.isfinite(squares)]
    if not len(there):
        return 1.0
    found = float(np.median(there)) / (_MEDIAN_SQUARE * expected)
    return 1.0 if found > (policy.thin if thin is None else thin) else max(found, policy.thinnest)


def put_onto(equations: Sequence[Equation], rows: Rows, flat: float, rounds: int) -> Rows:
    """The nearest points to these rows at which all equations hold, with the normals of their surfaces."""
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
