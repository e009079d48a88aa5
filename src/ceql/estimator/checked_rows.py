"""Checks the rows passed to a fitted model against the columns it was fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np

from ceql.data.dataset import column_names, columns_named, is_table, numeric_matrix
from ceql.errors import InputError


def checked_rows(X: Any, known: np.ndarray | None, count: int) -> np.ndarray:
    """X as an array of `count` columns; the columns of a table are picked by their `known` names."""
    names = column_names(X)
    if is_table(X) and known is not None:
        missing = [name for name in known if name not in names]
        if missing:
            listed = "".join(f"\n- {name}" for name in missing)
            raise InputError(
                "The feature names should match those that were passed during fit.\n"
                f"Feature names seen at fit time, yet now missing:{listed}\n"
            )
        names = tuple(known)
        X = columns_named(X, names)
    x = numeric_matrix(X, names)
    if len(x) == 0:
        raise InputError("Found array with 0 sample(s): X is empty.")
    if x.shape[1] != count:
        raise InputError(f"X has {x.shape[1]} features, but CEQLRegressor is expecting {count} features as input.")
    return x
