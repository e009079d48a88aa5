"""The curves of a formula with constants of groups along an input, group by group."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ceql.data.dataset import Dataset
from ceql.groups.grouped_formula import GroupedFormula
from ceql.output.curves import Slice, slice_along


def rows_of_group(data: Dataset, code: int) -> Dataset:
    """The rows of one group without the column of groups, which is the last one of `data`."""
    mine = data.x[:, -1] == code
    weight = data.weight[mine]
    return Dataset(data.x[mine][:, :-1], data.y[mine], weight / weight.mean(), data.names[:-1], data.noise)


def curves(formula: GroupedFormula, data: Dataset, column: int) -> Iterator[tuple[str, Dataset, Slice]]:
    """Yields the label, the rows and the curve along the column of each group, within the range of all rows."""
    low, high = float(data.x[:, column].min()), float(data.x[:, column].max())
    for code, label in enumerate(formula.parts.labels):
        rows = rows_of_group(data, code)
        if not len(rows.y):
            continue
        piece = slice_along(formula.of_group(label), rows, column)
        inside = (piece.x >= low) & (piece.x <= high)
        yield label, rows, _cut(piece, inside)


def _cut(piece: Slice, inside: np.ndarray) -> Slice:
    kept = {name: getattr(piece, name) for name in piece.__dataclass_fields__}
    return Slice(**{**kept, "x": piece.x[inside], "y": piece.y[inside]})
