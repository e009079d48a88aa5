"""Drawing the columns of a sample: uniformly, uniformly in the logarithm, whole numbers, or all points of a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ceql.bench.definitions import Intervals, Range, Spread


def draw(rng: np.random.Generator, ranges: Sequence[Range], size: int) -> np.ndarray:
    """Draw points from a product of ranges."""
    return np.column_stack([_column(rng, where, size) for where in ranges])


def is_grid(ranges: Sequence[Range]) -> bool:
    """Whether the points are all those of a grid rather than drawn."""
    return bool(ranges) and all(isinstance(where, Spread) and where.kind == "grid" for where in ranges)


def lattice(ranges: Sequence[Range]) -> np.ndarray:
    """All points of a grid, the last variable running fastest."""
    axes = [_ticks(where) for where in ranges if isinstance(where, Spread)]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def bounds(where: Range) -> Intervals:
    """The intervals that a variable stays in."""
    return where.intervals if isinstance(where, Spread) else where


def _column(rng: np.random.Generator, where: Range, size: int) -> np.ndarray:
    if not isinstance(where, Spread):
        return _uniform(rng, where, size)
    if where.kind == "log":
        return _log_uniform(rng, where.intervals, size)
    if where.kind == "integer":
        return _whole(rng, where.intervals, size)
    return rng.choice(_ticks(where), size)


def _uniform(rng: np.random.Generator, intervals: Intervals, size: int) -> np.ndarray:
    low, high = np.array(intervals).T
    edges = np.concatenate([[0.0], np.cumsum(high - low)])
    place = rng.uniform(0.0, edges[-1], size)
    which = np.clip(np.searchsorted(edges, place, side="right") - 1, 0, len(low) - 1)
    return low[which] + (place - edges[which])


def _log_uniform(rng: np.random.Generator, intervals: Intervals, size: int) -> np.ndarray:
    ends = np.array(intervals)
    sign = np.sign(ends[:, 0])
    logs = np.sort(np.log(np.abs(ends)), axis=1)
    # Side by side on one line, so that an interval is taken as often as its logarithm is long.
    edges = np.concatenate([[0.0], np.cumsum(logs[:, 1] - logs[:, 0])])
    place = rng.uniform(0.0, edges[-1], size)
    which = np.clip(np.searchsorted(edges, place, side="right") - 1, 0, len(logs) - 1)
    low, high = np.min(np.abs(ends), axis=1)[which], np.max(np.abs(ends), axis=1)[which]
    return sign[which] * np.clip(np.exp(logs[which, 0] + place - edges[which]), low, high)


def _whole(rng: np.random.Generator, intervals: Intervals, size: int) -> np.ndarray:
    values = np.concatenate([np.arange(low, high + 1) for low, high in intervals])
    return rng.choice(values, size)


def _ticks(where: Spread) -> np.ndarray:
    # linspace: the last point is the end itself, not what many steps add up to.
    parts = [np.linspace(low, high, round((high - low) / where.step) + 1) for low, high in where.intervals]
    return np.unique(np.concatenate(parts))
