"""Locates zeros and minima of a function on many segments between rows at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ceql.choice.vetoes.case import Case
from ceql.choice.vetoes.places import Array

_PARTS = 32  # into which a bracket is cut in every round

Function = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Spots:
    """Steps on segments, one for each entry."""

    segment: Array
    step: Array

    def __len__(self) -> int:
        return len(self.segment)

    def only(self, which: Array) -> Spots:
        return replace(self, segment=self.segment[which], step=self.step[which])


def crossings(case: Case, function: Function, values: Array) -> Spots:
    """Where the function changes its sign through zero; `values` are those at the case's points."""
    # A point looked at may be the zero itself.
    segment, k = np.nonzero((values[:, :-1] * values[:, 1:] < 0) | ((values[:, 1:] == 0) & (values[:, :-1] != 0)))
    segment, k = _some(segment, k, case.policy.most_places)
    steps = case.places.steps
    low, high = steps[k], steps[k + 1]
    before, after = np.abs(values[segment, k]), np.abs(values[segment, k + 1])
    sizes = np.where(after == 0, before, np.minimum(before, after))
    for _ in range(case.policy.zooms):
        trial, found = _cut(case, function, segment, low, high)
        changes = found[:, :-1] * found[:, 1:] <= 0
        here = np.argmax(changes, axis=1)
        low, high = _pick(trial, here), _pick(trial, here + 1)
    spots = Spots(segment, (low + high) / 2)
    # A sign change through infinity is no zero.
    return spots.only(np.abs(at(case, function, spots)) <= sizes)


def dips(case: Case, function: Function, values: Array, size: Function = np.abs) -> Spots:
    """Where the function is smallest inside a segment and far below its ends, measured by `size`.

    Segments on which some point has another sign than the others are left out.
    """
    heights = size(values)
    inner = np.argmin(np.where(np.isnan(heights), np.inf, heights)[:, 1:-1], axis=1) + 1
    least = heights[np.arange(len(heights)), inner]
    ends = np.minimum(heights[:, 0], heights[:, -1])
    one_sign = (values > 0).all(axis=1) | (values < 0).all(axis=1)
    # The lowest point looked at need not be deep: what lies beside it may be.
    segment = np.flatnonzero(one_sign & (least < ends))
    deepest = np.argsort(least[segment] / ends[segment], kind="stable")[: case.policy.most_places]
    segment, inner = segment[deepest], inner[segment[deepest]]
    low, high = case.places.steps[inner - 1], case.places.steps[inner + 1]
    for _ in range(case.policy.zooms):
        trial, found = _cut(case, function, segment, low, high)
        here = np.clip(np.argmin(size(found), axis=1), 1, _PARTS - 1)
        low, high = _pick(trial, here - 1), _pick(trial, here + 1)
    spots = Spots(segment, (low + high) / 2)
    return spots.only(size(at(case, function, spots)) <= case.policy.dip * ends[segment])


def at(case: Case, function: Function, spots: Spots, aside: float = 0.0) -> Array:
    """Values of the function there, or a step beside."""
    return function(case.places.at(spots.segment, (spots.step + aside)[:, None]))[:, 0]


def _cut(case: Case, function: Function, segment: Array, low: Array, high: Array) -> tuple[Array, Array]:
    trial = low[:, None] + np.linspace(0.0, 1.0, _PARTS + 1) * (high - low)[:, None]
    return trial, function(case.places.at(segment, trial))


def _pick(table: Array, column: Array) -> Array:
    return table[np.arange(len(table)), column]


def _some(segment: Array, k: Array, most: int) -> tuple[Array, Array]:
    """At most that many, spread evenly over all."""
    if len(segment) <= most:
        return segment, k
    chosen = np.linspace(0, len(segment) - 1, most).astype(int)
    return segment[chosen], k[chosen]
