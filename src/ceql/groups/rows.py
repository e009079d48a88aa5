"""The rows of a table by their groups, in an order that neither the order of the rows nor the labels decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ceql.catalogue.separable import Rows
from ceql.data.dataset import Dataset

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """A table whose rows of a group stand together, the largest group first; `codes` says which group a row is of."""

    data: Dataset
    codes: Array
    order: Array  # for each group here, its code in the table that it came from

    @classmethod
    def of(cls, data: Dataset, codes: Array) -> GroupedRows:
        """Sorted by what is in the rows: the same for any order of the rows and any names of the groups."""
        table = np.column_stack([data.x, data.y, data.weight])
        sorted_rows = np.lexsort(table.T[::-1])
        members = [sorted_rows[codes[sorted_rows] == code] for code in range(int(codes.max()) + 1)]
        order = sorted(range(len(members)), key=lambda code: (-len(members[code]), table[members[code]].tolist()))
        rows = np.concatenate([members[code] for code in order])
        new = np.repeat(np.arange(len(order)), [len(members[code]) for code in order])
        return cls(_some(data, rows), new, np.array(order))

    @property
    def groups(self) -> int:
        return len(self.order)

    @cached_property
    def sizes(self) -> Array:
        return np.bincount(self.codes, minlength=self.groups)

    @cached_property
    def variances(self) -> Array:
        """Of y in each group: what a constant would leave of it."""
        return np.array([self.data.y[self.codes == group].var() for group in range(self.groups)])

    @cached_property
    def _places(self) -> tuple[Array, Array]:
        """The rows of each group side by side, the shorter ones filled up with their first row; and which are real."""
        first = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        along = np.arange(self.sizes.max())
        there = along < self.sizes[:, None]
        return first[:, None] + np.where(there, along, 0), there

    def seen_by(self, columns: Sequence[int], times: int = 1) -> Rows:
        """The groups as so many tables of a law in these columns, each `times` over: for as many starts of each."""
        places, there = self._places
        x = np.swapaxes(self.data.x[:, list(columns)][places], 1, 2)
        root = np.sqrt(self.data.weight)[places] * there
        tile = (times, 1)
        return Rows(np.tile(x, (times, 1, 1)), np.tile(self.data.y[places], tile), np.tile(root, tile))

    def one(self, group: int) -> Dataset:
        """The rows of a group as a table."""
        return _some(self.data, np.flatnonzero(self.codes == group))

    def thinned(self, most: int, least: int) -> GroupedRows:
        """At most about that many rows, evenly out of each group in the order of its rows, but `least` of each."""
        if len(self.codes) <= most:
            return self
        share = max(least, most // self.groups)
        first = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        kept = [
            start + np.unique(np.round(np.linspace(0, size - 1, min(share, size))).astype(int))
            for start, size in zip(first, self.sizes, strict=True)
        ]
        rows = np.concatenate(kept)
        return replace(self, data=_some(self.data, rows), codes=self.codes[rows])


def _some(data: Dataset, rows: Array) -> Dataset:
    weight = data.weight[rows]
    mean = float(weight.mean())
    noise = None if data.noise is None else data.noise / mean
    return Dataset(data.x[rows], data.y[rows], weight / mean, data.names, noise)
