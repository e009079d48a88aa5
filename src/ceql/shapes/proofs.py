"""Proofs that a formula has a shape: by algebra, or by intervals over boxes that are halved until they suffice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy

from ceql.expression import node_count
from ceql.shapes.grid import Frame
from ceql.shapes.intervals import AT_EDGE, INSIDE, WHOLE, Interval, NoEnclosure, enclosure
from ceql.shapes.limits import sides
from ceql.shapes.policy import POLICY, ShapePolicy
from ceql.shapes.shape import Kind, Shape

Array = np.ndarray
_LARGEST = 80  # largest number of nodes for which a formula is put over one denominator
_CLOSE = 1e-12  # share of a column's range within which a limit at a place is proved


def is_proved(
    shape: Shape, expression: Any, symbols: Sequence[sympy.Symbol], frame: Frame, policy: ShapePolicy = POLICY
) -> bool:
    """Whether the shape is proved for all values in its ranges; False does not mean that it is violated."""
    try:
        return _proved(shape, expression, list(symbols), frame, policy)
    except NoEnclosure:
        return False


def _proved(shape: Shape, f: Any, symbols: list[sympy.Symbol], frame: Frame, policy: ShapePolicy) -> bool:
    low, high = frame.box(shape)
    by = {symbol.name: symbol for symbol in symbols}
    match shape.kind:
        case Kind.ABOVE:
            return holds_everywhere(f - _exact(shape.value), [], symbols, low, high, policy, shape.strict)
        case Kind.BELOW:
            return holds_everywhere(_exact(shape.value) - f, [], symbols, low, high, policy, shape.strict)
        case Kind.INCREASING | Kind.DECREASING:
            slope = sympy.diff(f, by[shape.columns[0]])
            slope = slope if shape.kind is Kind.INCREASING else -slope
            return holds_everywhere(slope, [f], symbols, low, high, policy)
        case Kind.CONVEX | Kind.CONCAVE:
            slope = sympy.diff(f, by[shape.columns[0]])
            bend = sympy.diff(slope, by[shape.columns[0]])
            bend = bend if shape.kind is Kind.CONVEX else -bend
            return holds_everywhere(bend, [f, slope], symbols, low, high, policy)
        case Kind.EVEN | Kind.ODD | Kind.SYMMETRIC:
            return _is_equal(f, _mirrored(shape, f, by))
        case Kind.POINT:
            apart = enclosure(f - _exact(shape.value), _boxes(symbols, low[None], high[None]))
            near = _within(apart, policy.tolerance * max(frame.size, abs(shape.value)))
            return near and not np.any(apart.lost)
        case Kind.NO_POLES:
            return holds_everywhere(sympy.Integer(1), [f], symbols, low, high, policy)
        case Kind.LIMIT:
            return _limit_is_proved(shape, f, symbols, low, high, frame, policy)
        case _:
            return False


def _exact(value: float) -> Any:
    return sympy.Integer(int(value)) if value.is_integer() else sympy.Float(value)


def _boxes(symbols: Sequence[sympy.Symbol], low: Array, high: Array) -> dict[sympy.Symbol, Interval]:
    return {symbol: Interval(low[:, k], high[:, k]) for k, symbol in enumerate(symbols)}


def holds_everywhere(
    claim: Any,
    finite: Sequence[Any],
    symbols: Sequence[sympy.Symbol],
    low: Array,
    high: Array,
    policy: ShapePolicy = POLICY,
    strict: bool = False,
) -> bool:
    """Whether it is proved for a box that the claim is nowhere negative (strict: positive) and `finite` parts are
    finite.

    Finite parts have no poles and are defined everywhere. The claim is then about a slope, which may be undefined at
    the edge of the box.
    """
    used = [k for k, symbol in enumerate(symbols) if any(symbol in part.free_symbols for part in (claim, *finite))]
    lows, highs = _cut(low, high, used, policy)
    left = policy.boxes
    for _ in range(policy.levels):
        boxes = _boxes(symbols, lows, highs)
        count = len(lows)
        found = enclosure(claim, boxes)
        sure = (found.low > 0.0 if strict else found.low >= 0.0) & (found.lost < (INSIDE if finite else AT_EDGE))
        for part in finite:
            held = enclosure(part, boxes)
            sure = sure & np.isfinite(held.low) & np.isfinite(held.high) & (held.lost == WHOLE)
        sure = np.broadcast_to(sure, (count,))
        if np.any(np.broadcast_to(found.high, (count,)) < 0.0):
            return False
        if sure.all():
            return True
        lows, highs = lows[~sure], highs[~sure]
        left -= count
        if not used or 2 * len(lows) > left:
            return False
        lows, highs = _halved(lows, highs, used, (high - low))
    return False


def _cut(low: Array, high: Array, used: Sequence[int], policy: ShapePolicy) -> tuple[Array, Array]:
    """The box cut into equal pieces along the first two columns that matter."""
    lows, highs = low[None].copy(), high[None].copy()
    for k in used[:2]:
        edges = np.linspace(low[k], high[k], policy.pieces + 1)
        if not low[k] < high[k]:
            continue
        lows, highs = np.repeat(lows, policy.pieces, axis=0), np.repeat(highs, policy.pieces, axis=0)
        lows[:, k] = np.tile(edges[:-1], len(lows) // policy.pieces)
        highs[:, k] = np.tile(edges[1:], len(highs) // policy.pieces)
    return lows, highs


def _halved(lows: Array, highs: Array, used: Sequence[int], whole: Array) -> tuple[Array, Array]:
    """Each box halved along the column in which it is longest, as a share of the whole range."""
    shares = (highs - lows)[:, used] / np.where(whole[used] > 0.0, whole[used], 1.0)
    longest = np.array(used)[np.argmax(shares, axis=1)]
    rows = np.arange(len(lows))
    middle = 0.5 * (lows[rows, longest] + highs[rows, longest])
    left_high, right_low = highs.copy(), lows.copy()
    left_high[rows, longest] = middle
    right_low[rows, longest] = middle
    return np.vstack([lows, right_low]), np.vstack([left_high, highs])


def _mirrored(shape: Shape, f: Any, by: dict[str, sympy.Symbol]) -> Any:
    columns = [by[name] for name in shape.columns]
    if shape.kind is Kind.SYMMETRIC:
        return f.xreplace({columns[0]: columns[1], columns[1]: columns[0]})
    turned = f.xreplace({columns[0]: -columns[0]})
    return -turned if shape.kind is Kind.ODD else turned


def _is_equal(f: Any, other: Any) -> bool:
    """Whether the expressions are algebraically equal; decimals must agree exactly."""
    if f == other:
        return True
    return node_count(f) <= _LARGEST and sympy.expand(f - other) == 0


def _within(found: Interval, tolerance: float) -> bool:
    return bool(np.all(found.low >= -tolerance) and np.all(found.high <= tolerance))


def _limit_is_proved(
    shape: Shape,
    f: Any,
    symbols: list[sympy.Symbol],
    low: Array,
    high: Array,
    frame: Frame,
    policy: ShapePolicy,
) -> bool:
    """Whether a limit is proved, by evaluating at infinity itself or close to the place.

    If that gives 0 times infinity or the like, the formula is written over one denominator in the distance t.
    """
    place = frame.names.index(shape.columns[0])
    column = symbols[place]
    t = sympy.Dummy("t", positive=True)
    close = _CLOSE * ((high - low)[place] or 1.0)
    ways: list[tuple[Any, tuple[float, float]]] = []
    if math.isinf(shape.place):
        ways.append((f, (shape.place, shape.place)))
        moved = [f.xreplace({column: (1 if shape.place > 0 else -1) / t})]
        close = 1e-9 / max(abs(low[place]), abs(high[place]), 1e-300)
    else:
        reached = sides(shape.place, low[place], high[place])
        moved = [f.xreplace({column: _exact(shape.place) + side * t}) for side in reached]
    if len(ways) and _meets(shape, *ways[0], column, symbols, low, high, frame, policy):
        return True
    if node_count(f) > _LARGEST:
        return False
    others = [t if symbol is column else symbol for symbol in symbols]
    forms = [sympy.together(form) for form in moved]
    return all(_meets(shape, form, (0.0, close), t, others, low, high, frame, policy) for form in forms)


def _meets(
    shape: Shape,
    f: Any,
    span: tuple[float, float],
    column: sympy.Symbol,
    symbols: Sequence[sympy.Symbol],
    low: Array,
    high: Array,
    frame: Frame,
    policy: ShapePolicy,
) -> bool:
    boxes = _boxes(symbols, low[None], high[None])
    boxes[column] = Interval.of([span[0]], [span[1]])
    found = enclosure(f, boxes)
    if np.any(found.lost == INSIDE):
        return False
    if shape.is_finite_limit:
        return bool(np.all(np.isfinite(found.low)) and np.all(np.isfinite(found.high)))
    if math.isinf(shape.value):
        end = found.low if shape.value > 0 else -found.high
        return bool(np.all(np.isposinf(end)))
    apart = Interval(found.low - shape.value, found.high - shape.value)
    return _within(apart, policy.near * max(frame.size, abs(shape.value)))
