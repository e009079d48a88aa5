"""Detects shapes that no formula can have together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from ceql.errors import InputError
from ceql.shapes.shape import Kind, Shape

# Pairs of shapes that only a constant has.
_OPPOSITE = (
    {Kind.INCREASING, Kind.DECREASING},
    {Kind.CONVEX, Kind.CONCAVE},
    {Kind.EVEN, Kind.ODD},
    {Kind.EVEN, Kind.INCREASING},
    {Kind.EVEN, Kind.DECREASING},
)


def check_together(shapes: Sequence[Shape]) -> None:
    """Raises `InputError` for the first two shapes that contradict each other."""
    for one, other in combinations(shapes, 2):
        why = _contradiction(one, other) or _contradiction(other, one)
        if why:
            raise InputError(
                f"No formula satisfies both {str(one)!r} and {str(other)!r}: {why}. Leave one of them out."
            )


def _contradiction(one: Shape, other: Shape) -> str:
    if {one.kind, other.kind} in _OPPOSITE and one.columns == other.columns and not (one.ranges or other.ranges):
        return "only a constant does"
    everywhere = not one.ranges  # a bound over the range of the data, which may not include the point
    if one.kind is Kind.ABOVE and other.kind is Kind.BELOW and one.value >= other.value and one.ranges == other.ranges:
        return "the lower bound is not below the upper one"
    if other.kind is Kind.POINT and one.kind is Kind.POINT and one.point == other.point and one.value != other.value:
        return "it is one point with two values"
    if one.kind is Kind.LIMIT and other.kind is Kind.LIMIT and _is_same_place(one, other):
        both = not math.isnan(one.value) and not math.isnan(other.value)
        if (both and one.value != other.value) or (math.isinf(one.value) and math.isnan(other.value)):
            return "it is one limit with two values"
    if one.kind is Kind.POLE and other.kind is Kind.NO_POLES:
        for name, low, high in other.ranges:
            if name == one.columns[0] and low <= one.place <= high:
                return "the pole lies in the range that has none"
    if one.kind in (Kind.ABOVE, Kind.BELOW) and other.kind is Kind.POINT and not everywhere and _covers(one, other):
        below = one.kind is Kind.ABOVE and other.value < one.value
        above = one.kind is Kind.BELOW and other.value > one.value
        if below or above:
            return "the point is beyond the bound"
    return ""


def _is_same_place(one: Shape, other: Shape) -> bool:
    return one.columns == other.columns and one.place == other.place and one.ranges == other.ranges


def _covers(bound: Shape, point: Shape) -> bool:
    """Whether the point lies in the ranges of a bound."""
    at = dict(point.point)
    return all(name in at and low <= at[name] <= high for name, low, high in bound.ranges)
