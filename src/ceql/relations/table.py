"""From a table to checked rows, without columns that cannot take part in a relation, which are reported."""

from __future__ import annotations

from typing import Any

import numpy as np

from ceql.data.dataset import column_names, numeric_matrix, require_squares
from ceql.data.groups import column_apart, labels_of
from ceql.errors import InputError
from ceql.relations.policy import TablePolicy
from ceql.relations.rows import Rows


def checked_rows(X: Any, groups: Any, policy: TablePolicy) -> tuple[Rows, str, tuple[str, ...]]:
    """The rows, the name of the grouping column (empty without groups), and a sentence for each column left out."""
    X, groups = column_apart(X, groups)
    names = column_names(X)
    x = numeric_matrix(X, names)
    _check_shape(x)
    for column, name in zip(x.T, names, strict=True):
        require_squares(column, f"column {name!r}")
    labels = None if groups is None else labels_of(groups, len(x))
    if labels is not None and labels.column in names:
        raise InputError(f"{labels.column!r} names the groups and is also a column of the table: rename one of them.")
    if labels is not None and (labels.sizes < policy.least_in_group).any():
        smallest = labels.names[int(np.argmin(labels.sizes))]
        raise InputError(
            f"The group {smallest!r} of {labels.column} has fewer than {policy.least_in_group} rows, too few to fit "
            "a level and hold some out: drop such groups, or do not use groups."
        )
    if len(x) < policy.least_rows:
        raise InputError(
            f"The table has {len(x)} rows; at least {policy.least_rows} are needed to find a relation and check it "
            "on rows held out."
        )
    kept, notes = _useful(x, names, policy)
    codes = np.zeros(len(x), int) if labels is None else labels.codes
    of_groups = ("",) if labels is None else labels.names
    rows = Rows.of(x[:, kept], tuple(names[k] for k in kept), codes, of_groups)
    return rows, "" if labels is None else labels.column, notes


def _check_shape(x: np.ndarray) -> None:
    if x.shape[1] < 2:
        raise InputError(
            f"The table has {x.shape[1]} column of numbers, but a relation needs two or more: give other columns."
            if x.shape[1] == 1
            else "The table has no columns of numbers, but a relation needs two or more."
        )


def _useful(x: np.ndarray, names: tuple[str, ...], policy: TablePolicy) -> tuple[list[int], tuple[str, ...]]:
    """The places of columns that vary and are not copies of an earlier one in another unit, and notes on the others."""
    kept: list[int] = []
    notes: list[str] = []
    for k, column in enumerate(x.T):
        if np.ptp(column) <= policy.same * np.max(np.abs(column)):
            notes.append(
                f"Column {names[k]!r} is {column[0]:.6g} in every row and is left out, since it tells nothing."
            )
            continue
        copy = next((sentence for j in kept if (sentence := _as_copy(x, names, k, j, policy))), "")
        if copy:
            notes.append(copy)
        else:
            kept.append(k)
    if not kept or (len(kept) < 2 and not any("left out of the search" in note for note in notes)):
        raise InputError(f"Fewer than two columns vary, so there is nothing to relate. {' '.join(notes)}")
    return kept, tuple(notes)


def _as_copy(x: np.ndarray, names: tuple[str, ...], k: int, j: int, policy: TablePolicy) -> str:
    """A sentence if column k is a multiple of column j, possibly plus a constant; otherwise empty."""
    other, column = x[:, j], x[:, k]
    slope = np.cov(other, column, bias=True)[0, 1] / np.var(other)
    offset = column.mean() - slope * other.mean()
    if np.std(column - slope * other - offset) > policy.same * np.std(column):
        return ""
    if abs(offset) <= policy.same * np.max(np.abs(column)):
        how = f"the same as {names[j]!r}" if abs(slope - 1.0) <= policy.same else f"{slope:.6g} times {names[j]!r}"
    else:
        how = f"{slope:.6g} times {names[j]!r} {'-' if offset < 0 else '+'} {abs(offset):.6g}"
    return (
        f"Column {names[k]!r} is {how} in every row: it is a copy, perhaps in another unit, and is left out of the "
        "search."
    )
