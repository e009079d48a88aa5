"""The residuals of a formula on a table as a function of its constants; long tables are processed in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from sympy import Symbol

from ceql.expression.symbolic import Expr
from ceql.operators.program import BLOCK, value_and_jacobian

Array = np.ndarray


class Form(Protocol):
    """A formula with symbols for its constants, and their values and bounds."""

    @property
    def expr(self) -> Expr: ...

    @property
    def symbols(self) -> Sequence[Symbol]: ...

    @property
    def values(self) -> Array: ...

    @property
    def low(self) -> Array | float: ...

    @property
    def high(self) -> Array | float: ...


class Program(Protocol):
    """A compiled formula, which computes values and their derivatives by the constants."""

    def value(self, x: Array, constants: Array) -> Array: ...

    def __call__(self, x: Array, constants: Array) -> tuple[Array, Array]: ...


@dataclass(frozen=True)
class Problem:
    """Residuals of one compiled formula on the rows where it was defined at the start."""

    program: Program
    x: Array
    y: Array
    root_weights: Array
    stands_for: int | None = None  # number of rows of the table that these few rows represent
    low: Array | float = -np.inf  # bounds of the constants, one for each or one for all
    high: Array | float = np.inf

    @property
    def rows(self) -> int:
        return len(self.y) if self.stands_for is None else self.stands_for

    def residuals(self, values: Array) -> Array:
        with np.errstate(all="ignore"):
            return (self.program.value(self.x, values) - self.y) * self.root_weights

    def within(self, values: Array) -> Array:
        """Return the constants moved into their bounds."""
        return np.clip(values, self.low, self.high)

    def misfit(self, values: Array) -> float:
        return squared_norm(self.residuals(values))

    @property
    def power(self) -> float:
        """The weighted sum of squares of y, which is the misfit of the formula 0."""
        return float(np.sum((self.y * self.root_weights) ** 2))

    @property
    def is_long(self) -> bool:
        return len(self.y) > BLOCK

    def linearise(self, values: Array) -> tuple[Array, Array]:
        """Return residuals r and derivatives J; of a long table, few rows with the same |J step + r| for every step."""
        if not self.is_long:
            return self._linearised(slice(None), values)
        few = np.zeros((0, len(values) + 1))
        for first in range(0, len(self.y), BLOCK):
            residuals, jacobian = self._linearised(slice(first, first + BLOCK), values)
            # The triangle of a block preserves its norms. So does J'J, but with only half the digits.
            few = np.asarray(np.linalg.qr(np.vstack([few, np.column_stack([jacobian, residuals])]), mode="r"))
        return few[:, -1], few[:, :-1]

    def _linearised(self, rows: slice, values: Array) -> tuple[Array, Array]:
        fitted, jacobian = self.program(self.x[rows], values)
        with np.errstate(all="ignore"):
            return (fitted - self.y[rows]) * self.root_weights[rows], jacobian * self.root_weights[rows, None]

    def near(self, values: Array) -> Problem:
        """Return a short problem with the same misfits close to these constants; the problem itself if it is short."""
        if not self.is_long:
            return self
        residuals, jacobian = self.linearise(values)
        if not (np.all(np.isfinite(residuals)) and np.all(np.isfinite(jacobian))):
            return self
        # The last row has no residual and only gives y its size.
        y = np.append(np.zeros(len(residuals)), np.sqrt(self.power))
        program = _Tangent(np.array(values), np.append(residuals, y[-1]), np.vstack([jacobian, np.zeros(len(values))]))
        return replace(
            self, program=program, x=np.zeros((len(y), 1)), y=y, root_weights=np.ones(len(y)), stands_for=self.rows
        )


@dataclass(frozen=True)
class _Tangent:
    """A program that is linear in its constants."""

    origin: Array
    values_there: Array
    slopes: Array

    def value(self, x: Array, constants: Array) -> Array:
        return self.values_there + self.slopes @ (constants - self.origin)

    def __call__(self, x: Array, constants: Array) -> tuple[Array, Array]:
        return self.value(x, constants), self.slopes.copy()


def squared_norm(residuals: Array) -> float:
    """Return the sum of squares; infinite if any residual is not finite, so that such a step is rejected."""
    if not np.all(np.isfinite(residuals)):
        return float("inf")
    with np.errstate(over="ignore"):
        return float(residuals @ residuals)


def make_problem(form: Form, symbols: Sequence[Symbol], x: Array, y: Array, weights: Array | None) -> Problem:
    """Return the problem of fitting the constants, without rows in which the formula is undefined at the start."""
    program = value_and_jacobian(form.expr, symbols, form.symbols)
    matrix = np.asarray(x, dtype=np.float64)
    target = np.asarray(y, dtype=np.float64)
    root_weights = np.ones(len(target)) if weights is None else np.sqrt(np.asarray(weights, dtype=np.float64))
    usable = np.isfinite(program.value(matrix, form.values)) & np.isfinite(target) & (root_weights > 0)
    if not usable.all():
        matrix, target, root_weights = matrix[usable], target[usable], root_weights[usable]
    return Problem(program, matrix, target, root_weights, low=form.low, high=form.high)
