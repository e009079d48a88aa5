"""Measures how well a smooth function of some columns can explain y: the error of predicting each row from the others.

Poles do no harm: the values are mapped to a circle, on which plus and minus infinity are the same point, so a function
is as smooth at a pole as anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ceql.transforms.policy import SmoothnessPolicy


def on_circle(y: np.ndarray) -> np.ndarray:
    """Return the stereographic projection of y, in units of its median size: two coordinates, centred and scaled."""
    size = float(np.median(np.abs(y)))
    with np.errstate(over="ignore"):
        z = np.clip(y / (size if size > 0 else 1.0), -1e150, 1e150)
    square = z * z
    points = np.column_stack([2.0 * z / (1.0 + square), (1.0 - square) / (1.0 + square)])
    points -= points.mean(axis=0)
    spread = float(np.sqrt(np.mean(np.sum(points**2, axis=1))))
    return points / (spread if spread > 0 else 1.0)


def distances(column: np.ndarray, policy: SmoothnessPolicy = SmoothnessPolicy()) -> np.ndarray:
    """Return the squared distances between all rows in one column, in units of its variance."""
    if (column > 0).all() or (column < 0).all():
        size = np.abs(column)
        if size.max() > policy.wide * size.min():
            column = np.log(size)
    spread = column.std()
    z = (column - column.mean()) / (spread if spread > 0 else 1.0)
    return (z[:, None] - z) ** 2


def unexplained(squared: np.ndarray, points: np.ndarray, policy: SmoothnessPolicy = SmoothnessPolicy()) -> float:
    """Return the mean squared leave-one-out error of kernel interpolation, as a share of the variance, for the best
    kernel length."""
    return min((_size(error) for error in _left_out(squared, points, policy)), default=np.inf)


def is_curve(column: np.ndarray, y: np.ndarray, policy: SmoothnessPolicy = SmoothnessPolicy()) -> bool:
    """Return whether y may be a function of this column alone: neighbouring rows in it have similar y."""
    ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable")[np.argsort(column, kind="stable")]
    apart = ranks[1:-1] - (ranks[:-2] + ranks[2:]) / 2.0
    return bool(np.mean(apart**2) < policy.no_curve * np.var(ranks))


def left_by(
    squared: np.ndarray, points: np.ndarray, policy: SmoothnessPolicy = SmoothnessPolicy()
) -> np.ndarray | None:
    """Return the leave-one-out error of each row for the best kernel length; None if no length works."""
    return min(_left_out(squared, points, policy), key=_size, default=None)


def _left_out(squared: np.ndarray, points: np.ndarray, policy: SmoothnessPolicy) -> Iterator[np.ndarray]:
    for length in policy.lengths:
        kernel = np.exp(squared / (-2.0 * length**2)) + policy.nugget * np.eye(len(squared))
        try:
            inverse = cho_solve(cho_factor(kernel, check_finite=False), np.eye(len(kernel)), check_finite=False)
        except np.linalg.LinAlgError:
            continue
        yield (inverse @ points) / np.diag(inverse)[:, None]


def _size(error: np.ndarray) -> float:
    """Return the mean squared error, each row capped at the squared diameter of the circle, so no outlier decides."""
    return float(np.mean(np.minimum(np.sum(error**2, axis=1), 4.0)))


def unexplained_by_neighbour(squared: np.ndarray, points: np.ndarray) -> float:
    """Return the error of predicting each row by its nearest neighbour: rougher, but cheap enough for thousands of sets
    of columns."""
    squared = squared.copy()
    np.fill_diagonal(squared, np.inf)
    return float(np.mean(np.sum((points - points[squared.argmin(axis=1)]) ** 2, axis=1)))
