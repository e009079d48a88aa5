"""Where formulas are examined: rows that differ in the columns used, and points on lines between neighbouring rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import KDTree

from ceql.choice.vetoes.policy import VetoPolicy
from ceql.data.dataset import Dataset

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Places:
    """Rows that agree in all of the columns are one place, with the mean of their y.

    A segment leads from place `first[k]` to place `last[k]`; with one column the places are in order and so are the
    segments. `steps` are the points looked at, from 0 at the first place to 1 at the last.
    """

    names: tuple[str, ...]  # of the columns
    x: Array
    y: Array
    rows: Array  # how many there are at each
    first: Array
    last: Array
    steps: Array

    @property
    def has_one_column(self) -> bool:
        return self.x.shape[1] == 1

    def at(self, segments: Array, steps: Array) -> Array:
        """The points at these steps, a row of them for each of the segments."""
        begin, end = self.x[self.first[segments]], self.x[self.last[segments]]
        return begin[:, None, :] + steps[..., None] * (end - begin)[:, None, :]

    def ends(self, segment: int) -> str:
        """The two rows in words."""
        both = self.x[self.first[segment]], self.x[self.last[segment]]
        return "between the rows at " + " and ".join(self.named(row, bare=self.has_one_column) for row in both)

    def named(self, point: Array, bare: bool = False) -> str:
        """A point in words."""
        if bare:
            return f"{point[0]:.6g}"
        text = ", ".join(f"{name} = {value:.6g}" for name, value in zip(self.names, point, strict=True))
        return text if self.has_one_column else f"({text})"


def places_of(data: Dataset, used: Sequence[int], policy: VetoPolicy) -> Places:
    """The rows of these columns and the segments between neighbours."""
    x, place = np.unique(data.x[:, list(used)], axis=0, return_inverse=True)
    place = place.ravel()
    counted = np.bincount(place, minlength=len(x))
    y = np.bincount(place, weights=data.y, minlength=len(x)) / counted
    first, last = _in_order(len(x), policy) if len(used) == 1 else _near(x, policy)
    count = min(policy.inner_points, max(1, policy.most_points // max(len(first), 1)))
    inner = np.linspace(0.0, 1.0, count + 2)[1:-1]
    steps = np.concatenate([[0.0, policy.next_to_row], inner, [1.0 - policy.next_to_row, 1.0]])
    return Places(tuple(data.names[k] for k in used), x, y, counted, first, last, steps)


def _in_order(count: int, policy: VetoPolicy) -> tuple[Array, Array]:
    stride = max(1, -(-(count - 1) // policy.most_segments))
    ends = np.append(np.arange(0, count - 1, stride), count - 1)
    return ends[:-1], ends[1:]


def _near(x: Array, policy: VetoPolicy) -> tuple[Array, Array]:
    """Pairs of some places with their nearest neighbours, each pair once, with every column in units of its spread.

    The nearest neighbour counts however far it is, since nothing else is known between these two rows.
    """
    if len(x) < 2:
        return np.zeros(0, int), np.zeros(0, int)
    spread = x.std(axis=0)
    scaled = x / np.where(spread > 0, spread, 1.0)
    anchors = np.unique(np.linspace(0, len(x) - 1, min(len(x), policy.most_anchors)).astype(int))
    count = min(policy.neighbours + 1, len(x))
    _, nearest = KDTree(scaled).query(scaled[anchors], k=count)
    pairs = np.sort(np.column_stack([np.repeat(anchors, count), np.ravel(nearest)]), axis=1)
    is_next = np.tile(np.arange(count) == 1, len(anchors))  # a place is the first of its own neighbours
    apart = pairs[:, 0] != pairs[:, 1]
    pairs, place = np.unique(pairs[apart], axis=0, return_inverse=True)
    is_next = np.bincount(place.ravel(), weights=is_next[apart], minlength=len(pairs)) > 0
    length = np.linalg.norm(scaled[pairs[:, 0]] - scaled[pairs[:, 1]], axis=1)
    pairs = pairs[is_next | (length <= policy.longest * np.median(length))]
    return pairs[:, 0], pairs[:, 1]
