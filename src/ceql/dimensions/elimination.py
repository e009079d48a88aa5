"""Exact solution of small systems of linear equations with fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Row = Sequence[Fraction]


def reduced(rows: Sequence[Row], columns: int) -> tuple[list[list[Fraction]], list[int]]:
    """The rows in reduced echelon form by their first `columns` columns, and the pivots; further columns are carried
    along."""
    left = [list(row) for row in rows]
    pivots: list[int] = []
    for column in range(columns):
        top = len(pivots)
        found = next((k for k in range(top, len(left)) if left[k][column]), None)
        if found is None:
            continue
        left[top], left[found] = left[found], left[top]
        pivot = left[top][column]
        left[top] = [value / pivot for value in left[top]]
        for k, row in enumerate(left):
            if k != top and row[column]:
                factor = row[column]
                left[k] = [a - factor * b for a, b in zip(row, left[top], strict=True)]
        pivots.append(column)
    return left, pivots


def solved(rows: Sequence[Row], unknowns: int) -> list[list[Fraction]] | None:
    """Solutions of equations, given as rows of coefficients followed by right-hand sides; one list for each right-hand
    side.

    Unknowns that are not determined are zero, preferably the last ones. None if there is no solution.
    """
    if not rows:
        return []
    echelon, pivots = reduced(rows, unknowns)
    if any(any(row[unknowns:]) for row in echelon[len(pivots) :]):
        return None
    sides = len(rows[0]) - unknowns
    found = [[Fraction(0)] * unknowns for _ in range(sides)]
    for row, pivot in zip(echelon, pivots, strict=False):
        for side in range(sides):
            found[side][pivot] = row[unknowns + side]
    return found


def rank(rows: Sequence[Row]) -> int:
    return len(reduced(rows, len(rows[0]))[1]) if rows else 0


def independent(rows: Sequence[Row]) -> list[int]:
    """The places of the rows that are linearly independent of those before them."""
    if not rows:
        return []
    transposed = [list(column) for column in zip(*rows, strict=True)]
    return reduced(transposed, len(rows))[1]


def coordinates(basis: Sequence[Row], vectors: Sequence[Row]) -> list[list[Fraction]] | None:
    """The coefficients of each vector in this basis; None if one of them is not in its span."""
    if not vectors:
        return []
    size = len(vectors[0])
    rows = [[*(one[k] for one in basis), *(vector[k] for vector in vectors)] for k in range(size)]
    return solved(rows, len(basis)) if rows else [[Fraction(0)] * len(basis) for _ in vectors]
