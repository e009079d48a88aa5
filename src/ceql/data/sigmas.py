"""Known measurement errors: one standard deviation per row, as an array or a column of X."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ceql.data.dataset import column_names, column_of, columns_named, is_table, numeric_vector, require_squares
from ceql.data.targets import Targets
from ceql.errors import InputError, unknown_name


def sigma_apart(X: Any, sigma: Any, what: str = "sigma") -> tuple[Any, np.ndarray]:
    """Return X and the errors of the rows; if `sigma` names a column of X, X is returned without it."""
    if isinstance(sigma, str):
        if not is_table(X):
            raise InputError(f"{what}={sigma!r} names a column, but X has no names: give the values themselves.")
        names = column_names(X)
        if sigma not in names:
            raise unknown_name("column", sigma, names)
        values = column_of(X, names.index(sigma))
        X = columns_named(X, [name for name in names if name != sigma])
        return X, _checked(values, what)
    return X, _checked(sigma, what)


def _checked(values: Any, what: str) -> np.ndarray:
    sigma = numeric_vector(values, what)
    if not (sigma > 0.0).all():
        first = int(np.argmin(sigma > 0.0))
        raise InputError(
            f"{what} has {sigma[first]:g} in row {first}: measurement errors must be above zero. Leave out such "
            "rows, or give them their true error."
        )
    require_squares(sigma, what)
    return sigma


def weights_of(sigma: np.ndarray, rows: int, what: str = "sigma") -> np.ndarray:
    """Return weights proportional to one over the variance of each row."""
    if len(sigma) != rows:
        raise InputError(f"{what} has {len(sigma)} entries but X has {rows} rows.")
    return (float(np.min(sigma)) / sigma) ** 2


def with_noise(targets: Targets, sigma: np.ndarray) -> Targets:
    """Return targets, already weighted by these errors, with the size of the noise set."""
    noise = float(np.median(sigma**2 * targets.datasets[0].weight))  # equal in all rows up to rounding
    return replace(targets, datasets=tuple(replace(data, noise=noise) for data in targets.datasets))
