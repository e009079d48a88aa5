"""Censored rows, for which only a limit is known: the value of y lies somewhere below or above it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ceql.data.dataset import column_names, column_of, columns_named, is_table, numeric_vector
from ceql.errors import InputError, unknown_name

BELOW, KNOWN, ABOVE = -1, 0, 1
_WORDS = {"below": BELOW, "<": BELOW, "true": BELOW, "yes": BELOW, "above": ABOVE, ">": ABOVE}
_WORDS |= dict.fromkeys(("", "=", "known", "false", "no"), KNOWN)
_FEWEST = 3  # least number of rows with known values
_HOW = "below, above or nothing (or -1, 1 and 0; true is below)"


def censored_apart(X: Any, censored: Any) -> tuple[Any, np.ndarray]:
    """Return X and the code of each row; if `censored` names a column of X, X is returned without it."""
    if isinstance(censored, str):
        if not is_table(X):
            raise InputError(f"censored={censored!r} names a column, but X has no names: give the values themselves.")
        names = column_names(X)
        if censored not in names:
            raise unknown_name("column", censored, names)
        values = column_of(X, names.index(censored))
        return columns_named(X, [name for name in names if name != censored]), codes_of(values)
    return X, codes_of(censored)


def codes_of(values: Any) -> np.ndarray:
    """Return a code per row: -1 if y lies below the given value, 1 if above, 0 if it is known."""
    array = np.asarray(values, dtype=object).ravel()
    return np.array([_code(value, row) for row, value in enumerate(array)], dtype=int)


def _code(value: Any, row: int) -> int:
    if isinstance(value, bool | np.bool_):
        return BELOW if value else KNOWN
    if isinstance(value, str) and value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
    if value is None or (not isinstance(value, str) and pd.isna(value)):
        return KNOWN
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if number not in (-1.0, 0.0, 1.0):
        raise InputError(f"censored has {value!r} in row {row}; each row is {_HOW}.")
    return int(number)


def limited(y: Any, limit: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return y with values below a detection limit replaced by the limit, and the codes of the rows."""
    if isinstance(limit, bool) or not isinstance(limit, int | float | np.integer | np.floating):
        raise InputError(
            f"detection_limit must be a number, not {limit!r}; for limits that differ, write them into y and give "
            "censored."
        )
    if not np.isfinite(limit):
        raise InputError("detection_limit must be finite.")
    values = numeric_vector(y, "y")
    return np.maximum(values, float(limit)), np.where(values <= float(limit), BELOW, KNOWN)


def check_codes(codes: np.ndarray, rows: int) -> None:
    """Raise an error if the codes do not match the rows or too few values are known."""
    if len(codes) != rows:
        raise InputError(f"censored has {len(codes)} entries but X has {rows} rows.")
    known = int(np.count_nonzero(codes == KNOWN))
    if known < _FEWEST:
        raise InputError(
            f"Only {known} of {rows} rows have a known value, the others are censored: give at least {_FEWEST} known "
            "ones."
        )


def in_words(codes: np.ndarray) -> str:
    """Return a sentence saying how many rows are censored, and on which side."""
    below, above = (int(np.count_nonzero(codes == side)) for side in (BELOW, ABOVE))
    parts = [f"{count:,} {side} a limit" for count, side in ((below, "below"), (above, "above")) if count]
    return f"{below + above:,} of {len(codes):,} rows are censored: {' and '.join(parts)}."
