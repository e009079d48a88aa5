"""The folds that `cv` and `groups` ask for, as pairs of row numbers, checked before the search."""

from __future__ import annotations

from typing import Any

import numpy as np

from ceql.choice.validation import VALIDATION, Folds, own_folds
from ceql.errors import InputError

_KINDS = "a number of folds of at least 2, a splitter of scikit-learn, or a list of pairs (train, test) of rows"


def folds_of(cv: Any, groups: Any, rows: int, weight: Any = None) -> Folds | None:
    """Pairs (rows to fit to, rows to hold out), counted among the rows with a weight; None for the default folds.

    A number of folds assigns the rows by a fixed permutation; with groups, whole groups are held out.
    """
    if groups is not None:
        groups = _checked_groups(groups, rows)
    if cv is None and groups is None:
        return None
    if isinstance(cv, bool | np.bool_ | str) or (isinstance(cv, int | np.integer) and cv < 2):
        raise InputError(f"cv must be {_KINDS}, not {cv!r}.")
    if cv is None or isinstance(cv, int | np.integer):
        folds = _counted(None if cv is None else int(cv), groups, rows)
    else:
        folds = _split(cv, groups, rows)
    return _with_weight(folds, rows, weight)


def _checked_groups(groups: Any, rows: int) -> np.ndarray:
    labels = np.asarray(groups)
    if labels.shape != (rows,):
        raise InputError(f"groups has the shape {labels.shape}, but X has {rows} rows: give one label for each row.")
    if labels.dtype.kind == "O":
        labels = np.array([str(label) for label in labels])
    if len(np.unique(labels)) < 2:
        raise InputError("groups has the same label in all rows: at least two groups are needed to hold one out.")
    return labels


def _counted(count: int | None, groups: np.ndarray | None, rows: int) -> Folds:
    """This many folds; with groups by default five, or one for each group if there are fewer."""
    there, what = (rows, "rows") if groups is None else (len(np.unique(groups)), "groups")
    if count is not None and count > there:
        raise InputError(f"cv asks for {count} folds, but there are only {there} {what}: take at most {there}.")
    if groups is None:
        return own_folds(rows, count)
    from sklearn.model_selection import GroupKFold  # imported only when needed: it loads all metrics

    splitter = GroupKFold(int(count or min(VALIDATION.folds, there)))
    return list(splitter.split(np.zeros((rows, 1)), groups=groups))


def _split(cv: Any, groups: np.ndarray | None, rows: int) -> Folds:
    """The folds of a splitter or a list of pairs; errors of scikit-learn become an InputError."""
    from sklearn.model_selection import check_cv

    try:
        splitter: Any = check_cv(cv)
        # Splitters use only the number of rows and, in some cases, the groups.
        pairs = list(splitter.split(np.zeros((rows, 1)), np.zeros(rows), groups))
    except (TypeError, ValueError) as error:
        raise InputError(f"cv={_shown(cv)} cannot split {rows} rows: {str(error).strip().rstrip('.')}.") from error
    if not pairs:
        raise InputError(f"cv={_shown(cv)} has no folds: it must be {_KINDS}.")
    return [_checked_pair(pair, rows) for pair in pairs]


def _checked_pair(pair: Any, rows: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        parts = tuple(map(np.asarray, pair))
    except (TypeError, ValueError):
        parts = ()
    if len(parts) != 2 or any(part.ndim != 1 for part in parts):
        raise InputError(f"cv holds {_shown(pair)}, which is not a pair of rows to fit to and rows to hold out.")
    train, test = (np.flatnonzero(part) if part.dtype == bool and len(part) == rows else part for part in parts)
    for part in (train, test):
        if not len(part):
            raise InputError("cv has a fold without rows to fit to or without rows to hold out: leave it out.")
        if part.dtype.kind not in "iu" or part.min() < 0 or part.max() >= rows:
            raise InputError(f"cv must name rows by whole numbers from 0 to {rows - 1}.")
    return train, test


def _with_weight(folds: Folds, rows: int, weight: Any) -> Folds:
    """The folds renumbered after rows without weight are removed."""
    counted = np.ones(rows, bool) if weight is None else np.broadcast_to(np.asarray(weight, float).ravel(), (rows,)) > 0
    if counted.all():
        return folds
    place = np.cumsum(counted) - 1
    kept = [(place[train[counted[train]]], place[test[counted[test]]]) for train, test in folds]
    kept = [(train, test) for train, test in kept if len(train) and len(test)]
    if not kept:
        raise InputError("Every fold of cv holds out only rows without weight: give them a weight, or use another cv.")
    return kept


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
