"""Rows of which only a limit is known: the value of y lies somewhere below it, or above."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ceql.data.dataset import column_names, column_of, columns_named, is_table, numeric_vector
from ceql.errors import InputError, unknown_name

BELOW, KNOWN, ABOVE = -1, 0, 1
_WORDS = {"below": BELOW, "<": BELOW, "true": BELOW, "yes": BELOW, "above": ABOVE, ">": ABOVE}
_WORDS |= dict.fromkeys(("", "=", "known", "false", "no"), KNOWN)
_FEWEST = 3  # rows that have to be known
_HOW = "below, above or nothing (or -1, 1 and 0; true is below)"


def censored_apart(X: Any, censored: Any) -> tuple[Any, np.ndarray]:
    """X, and for each row whether y is a limit; where that is a column of X it is no input."""
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
    """-1 for a row whose y lies below what is written, 1 above, 0 for one that is known."""
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
    """y with nothing below a detection limit, and which rows are at it."""
    if isinstance(limit, bool) or not isinstance(limit, int | float | np.integer | np.floating):
        raise InputError(f"detection_limit must be a number, not {limit!r}; limits that differ go into y and censored.")
    if not np.isfinite(limit):
        raise InputError("detection_limit must be finite.")
    values = numeric_vector(y, "y")
    return np.maximum(values, float(limit)), np.where(values <= float(limit), BELOW, KNOWN)


def check_codes(codes: np.ndarray, rows: int) -> None:
    """Complains where too little is known."""
    if len(codes) != rows:
        raise InputError(f"censored has {len(codes)} entries but X has {rows} rows.")
    known = int(np.count_nonzero(codes == KNOWN))
    if known < _FEWEST:
        raise InputError(f"Only {known} of {rows} rows are known, the others are censored: give at least {_FEWEST}.")


def in_words(codes: np.ndarray) -> str:
    """How many rows are censored, and on which side."""
    below, above = (int(np.count_nonzero(codes == side)) for side in (BELOW, ABOVE))
    parts = [f"{count:,} {side} a limit" for count, side in ((below, "below"), (above, "above")) if count]
    return f"{below + above:,} of {len(codes):,} rows are censored: {' and '.join(parts)}."
