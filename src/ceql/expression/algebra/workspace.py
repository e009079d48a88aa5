"""The data shared by all rewrites: sample points, and earlier results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sympy import Float, Integer, S, Symbol

from ceql.expression.algebra.effort import charge
from ceql.expression.algebra.precision import accuracy
from ceql.expression.algebra.simplify_policy import SIMPLIFY, SimplifyPolicy
from ceql.expression.symbolic import Expr
from ceql.operators.program import UnsupportedExpression, compile_numpy

Array = np.ndarray
VALUES = 20  # steps per node for the values of a formula


class Workspace:
    """Sample points in the box of the data plus the data, and earlier results by expression."""

    def __init__(self, symbols: Sequence[Symbol], x: Array | None, policy: SimplifyPolicy = SIMPLIFY) -> None:
        self.policy = policy
        self.symbols = tuple(symbols)
        self.points = sample_points(len(self.symbols), x, policy.samples)
        self.checks = self.points if x is None else np.vstack([self.points, thinned(x, policy.most_rows)])
        self._values: dict[Expr, Array] = {}
        self._counts: dict[Expr, int] = {}

    def values(self, expr: Expr) -> Array:
        """Return the values at the sample points; all NaN if they cannot be computed."""
        known = self._values.get(expr)
        if known is None:
            charge(VALUES * self.count(expr))
            known = self._values[expr] = values_at(expr, self.symbols, self.points)
        return known

    def count(self, expr: Expr) -> int:
        """Return ``node_count``, which is remembered for every subexpression."""
        known = self._counts.get(expr)
        if known is None:
            known = self._counts[expr] = 1 + sum(self.count(argument) for argument in expr.args)
        return known

    def shortest(self, candidates: Sequence[Expr]) -> Expr:
        return min(candidates, key=self.count)


def values_at(expr: Expr, symbols: Sequence[Symbol], points: Array) -> Array:
    try:
        return compile_numpy(expr, symbols)(points)
    except UnsupportedExpression:
        return np.full(len(points), np.nan)


def thinned(x: Array, most: int) -> Array:
    """Return at most this many rows: enough to catch a wrong rewrite, cheap enough to try many."""
    matrix = np.asarray(x, dtype=np.float64)
    step = max(1, -(-len(matrix) // most))
    return matrix[::step]


def sample_points(columns: int, x: Array | None, samples: int) -> Array:
    generator = np.random.default_rng(7)
    if x is None or len(x) == 0:
        half = samples // 2
        # Without data: positive points first, where logs and roots tend to be defined.
        return np.vstack([generator.uniform(0.2, 3.0, (half, columns)), generator.uniform(-3.0, 3.0, (half, columns))])
    matrix = np.asarray(x, dtype=np.float64)
    low, high = np.min(matrix, axis=0), np.max(matrix, axis=0)
    inside = generator.uniform(low, high, (samples // 2, columns))
    rows = matrix[generator.integers(0, len(matrix), samples // 2)]
    return np.vstack([inside, rows])


def number(value: float) -> Expr:
    """Return a coefficient as a SymPy number; units and whole numbers are exact, so that 1*x is x."""
    if abs(value - 1.0) < accuracy():
        return S.One
    if abs(value + 1.0) < accuracy():
        return S.NegativeOne
    if abs(value) < 1e6 and value == int(value):
        return Integer(int(value))
    return Float(value)


def agrees(
    candidate: Array, reference: Array, tolerance: float | None = None, policy: SimplifyPolicy = SIMPLIFY
) -> bool:
    """Return whether both agree wherever the reference is finite; the candidate may be defined in more places."""
    if tolerance is None:
        tolerance = max(policy.value_tolerance, accuracy(100.0))
    finite = np.isfinite(reference)
    if not np.any(finite):
        return bool(np.array_equal(np.isfinite(candidate), finite))
    wanted, found = reference[finite], candidate[finite]
    if not np.all(np.isfinite(found)):
        return False
    floor = 1e-3 * typical_size(wanted)
    return bool(np.all(np.abs(found - wanted) <= tolerance * (np.abs(wanted) + floor)))


def typical_size(values: Array) -> float:
    """Return the median size; np.median would import numpy.ma, which takes longer than a search."""
    return float(np.sort(np.abs(values))[len(values) // 2])
