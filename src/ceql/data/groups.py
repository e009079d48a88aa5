"""Labels that divide rows into groups, such as `lens` or `run`: checked and converted to numbers of groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ceql.data.dataset import Dataset, column_names, column_of, is_table, shape_of
from ceql.errors import InputError, unknown_name

UNNAMED = "group"  # name of a column of labels that has no name


@dataclass(frozen=True, eq=False)
class Labels:
    """The name of the column of labels, the names of the groups, and the number of the group of each row."""

    column: str
    names: tuple[str, ...]
    codes: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        return np.bincount(self.codes, minlength=len(self.names))

    def beside(self, data: Dataset) -> Dataset:
        """Return the table with the numbers of the groups as its last column."""
        if self.column in data.names:
            raise InputError(
                f"X has a column {self.column!r}, which is also the name of the groups: leave it out of X, or use "
                f"groups={self.column!r} to take it from there."
            )
        return replace(data, x=np.column_stack([data.x, self.codes]), names=(*data.names, self.column))


def column_apart(X: Any, groups: Any) -> tuple[Any, Any]:
    """Return X and the labels; if `groups` names a column of X, X is returned without it."""
    if not isinstance(groups, str):
        return X, groups
    names = column_names(X)
    if not is_table(X) or groups not in names:
        raise unknown_name("column of labels", groups, names)
    place = names.index(groups)
    others = [k for k in range(len(names)) if k != place]
    labels = pd.Series(np.asarray(column_of(X, place)), name=groups)
    return (X.iloc[:, others] if hasattr(X, "iloc") else X[[X.columns[k] for k in others]]), labels


def labels_of(groups: Any, rows: int, column: str | None = None) -> Labels:
    """Return checked labels from texts or numbers, one per row; an error names the first row without one."""
    name = column or getattr(groups, "name", None)
    texts = as_texts(groups, rows)
    names = sorted(set(texts), key=_in_order)
    places = {text: k for k, text in enumerate(names)}
    codes = np.array([places[text] for text in texts])
    return Labels(UNNAMED if name is None or not str(name).strip() else str(name), tuple(names), codes)


def as_texts(groups: Any, rows: int) -> list[str]:
    shape = shape_of(groups, "groups")
    if shape != (rows,):
        raise InputError(f"groups has the shape {shape}, but X has {rows} rows: give one label for each row.")
    labels = list(groups)
    missing = [k for k, label in enumerate(labels) if bool(pd.isna(label)) or not str(label).strip()]
    if missing:
        more = f"; {len(missing)} rows have none" if len(missing) > 1 else ""
        raise InputError(f"groups has no label in row {missing[0]}{more}. Give every row a label, or drop these rows.")
    return [_text(label) for label in labels]


def _text(label: Any) -> str:
    """Return a label as text, 1.0 as 1, since pandas reads a column of whole numbers with gaps as decimals."""
    return str(int(label)) if isinstance(label, float | np.floating) and float(label).is_integer() else str(label)


def _in_order(text: str) -> tuple[bool, float, str]:
    """Return a sorting key that puts numbers by their size before other texts."""
    try:
        return False, float(text), text
    except ValueError:
        return True, 0.0, text


def known_codes(groups: Any, rows: int, names: Sequence[str], column: str) -> np.ndarray:
    """Return the numbers of the groups of these rows; an unknown group is an error."""
    places = {name: k for k, name in enumerate(names)}
    texts = as_texts(groups, rows)
    strange = sorted({text for text in texts if text not in places}, key=_in_order)
    if strange:
        listed = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
        raise InputError(
            f"The model knows no group {strange[0]!r} of {column}. Known: {listed}. "
            "To add a group from a few of its rows, use adapt."
        )
    return np.array([places[text] for text in texts])
