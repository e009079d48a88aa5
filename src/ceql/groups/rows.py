"""The rows of a table sorted by group, independently of the original order of the rows and of the labels."""

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
    """A table sorted by group, the largest group first; `codes` holds the number of each row's group."""

    data: Dataset
    codes: Array
    order: Array  # for each group here, its code in the table that it came from

    @classmethod
    def of(cls, data: Dataset, codes: Array) -> GroupedRows:
        """The rows sorted by content, so that neither their original order nor the names of the groups matter."""
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
        """The variance of y in each group, which a constant alone would leave."""
        return np.array([self.data.y[self.codes == group].var() for group in range(self.groups)])

    @cached_property
    def _places(self) -> tuple[Array, Array]:
        """Row numbers by group, padded to equal length with the group's first row, and a mask of the real ones."""
        first = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        along = np.arange(self.sizes.max())
        there = along < self.sizes[:, None]
        return first[:, None] + np.where(there, along, 0), there

    def seen_by(self, columns: Sequence[int], times: int = 1) -> Rows:
        """One table per group with these columns, each repeated `times` times: once for every start."""
        places, there = self._places
        x = np.swapaxes(self.data.x[:, list(columns)][places], 1, 2)
        root = np.sqrt(self.data.weight)[places] * there
        tile = (times, 1)
        return Rows(np.tile(x, (times, 1, 1)), np.tile(self.data.y[places], tile), np.tile(root, tile))

    def one(self, group: int) -> Dataset:
        """The rows of one group as a table."""
        return _some(self.data, np.flatnonzero(self.codes == group))

    def thinned(self, most: int, least: int) -> GroupedRows:
        """About `most` rows, taken evenly from each group in the order of its rows, but at least `least` of each
        group."""
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
