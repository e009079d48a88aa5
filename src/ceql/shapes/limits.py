"""Limits of a formula as a column approaches a place, judged numerically decade by decade; likewise poles."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ceql.shapes.grid import Frame, held_values
from ceql.shapes.policy import ShapePolicy
from ceql.shapes.shape import Kind, Shape

Array = np.ndarray


def approaches(shape: Shape, frame: Frame, policy: ShapePolicy) -> list[Array]:
    """Points that approach the place, one block for each side, with the other columns held at several values.

    The axes of a block are the held values, the decades and the columns.
    """
    low, high = frame.box(shape)
    column = frame.names.index(shape.columns[0])
    lines = low[None, :] if len(low) == 1 else held_values(low, high, policy.held)
    span = (high - low)[column] or 1.0
    if math.isinf(shape.place):
        far = span * 10.0 ** np.arange(policy.decades_out)
        along = [high[column] + far] if shape.place > 0 else [low[column] - far]
    else:
        steps = span / 10.0 ** np.arange(1, policy.decades_in + 1)
        along = [shape.place + side * steps for side in sides(shape.place, low[column], high[column])]
    blocks = []
    for values in along:
        points = np.repeat(lines[:, None, :], len(values), axis=1)
        points[:, :, column] = values
        blocks.append(points)
    return blocks


def sides(place: float, low: float, high: float) -> list[int]:
    """The sides from which a place is approached: those on which the column has values."""
    return ([1] if high > place else []) + ([-1] if low < place else []) or [1]


def goes_there(shape: Shape, function: Callable[[Array], Array], frame: Frame, policy: ShapePolicy) -> tuple[bool, int]:
    """Whether values behave as the required limit or pole demands, and the number of points that were checked."""
    blocks = approaches(shape, frame, policy)
    count = sum(block.shape[0] * block.shape[1] for block in blocks)
    values = [function(block.reshape(-1, block.shape[2])).reshape(block.shape[:2]) for block in blocks]
    if shape.kind is Kind.POLE:  # sides on which the formula is undefined are ignored
        sides = [block for block in values if np.isfinite(block).any()]
        return bool(sides) and any(all(_grows(np.abs(row), policy) for row in block) for block in sides), count
    is_far = math.isinf(shape.place)  # there NaN is tolerated, since exp(x)/exp(x) overflows
    rows = [row for block in values for row in block]
    return all(
        (is_far or not np.isnan(row).any()) and _arrives(row, shape.value, frame.size, policy) for row in rows
    ), count


def _arrives(row: Array, limit: float, size: float, policy: ShapePolicy) -> bool:
    """Whether values approach a number or infinity, or (NaN) stay finite, as far as they can be computed."""
    finite = np.isfinite(row)
    known = row if finite.all() else row[: int(np.argmin(finite))]
    if math.isinf(limit):
        overflows = len(known) < len(row) and np.isinf(row[len(known)]) and row[len(known)] * limit > 0
        return bool(overflows) or _grows(known * math.copysign(1.0, limit), policy)
    if len(known) < 2:
        return False
    if len(known) < len(row) and np.isinf(row[len(known)]):
        return False
    if math.isnan(limit):
        steps = np.abs(np.diff(known))
        earlier, later = np.abs(known[: len(known) // 2]).max(), np.abs(known[len(known) // 2 :]).max()
        return bool(later <= policy.grows * earlier + policy.near * size) or _shrinks(steps, policy)
    apart = np.abs(known - limit) / max(size, abs(limit))
    later = apart[len(apart) // 2 :]  # rounding errors may grow at the end, where large numbers cancel
    return bool(later.min() <= policy.near and apart[-1] <= policy.rounding) or _shrinks(apart, policy)


def _shrinks(apart: Array, policy: ShapePolicy) -> bool:
    """Whether the second half of the distances falls by a constant factor or more in each decade."""
    later = apart[len(apart) // 2 :]
    return len(later) > 2 and bool(np.all(later[1:] <= policy.shrinks * later[:-1]))


def _grows(values: Array, policy: ShapePolicy) -> bool:
    later = values[len(values) // 2 :]
    if len(later) < 2 or not np.all(later > 0.0) or np.isnan(later).any():
        return False
    finite = later[np.isfinite(later)]
    return bool(np.all(finite[1:] >= policy.grows * finite[:-1]))
