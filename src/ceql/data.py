"""The table of measurements: checked once at the door, with names, weights and an invertible scaling."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ceql.errors import CeqlWarning, InputError


@dataclass(frozen=True, eq=False)
class Dataset:
    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray  # mean one
    names: tuple[str, ...]
    target: str | None = None  # the name of y, where it has one

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None) -> Dataset:
        """Checks everything a fit relies on; every complaint names the place and the remedy."""
        names = column_names(X)
        x = numeric_matrix(X, names)
        target = numeric_vector(y, "y")
        if len(x) == 0:
            raise InputError("Found array with 0 sample(s): X is empty. Give at least two rows.")
        if x.shape[1] == 0:
            raise InputError("Found array with 0 feature(s): X has no columns. Give at least one input variable.")
        if len(x) != len(target):
            raise InputError(f"X has {len(x)} rows but y has {len(target)}: they must be of equal length.")
        if len(x) == 1:
            raise InputError("X has 1 sample, and any formula fits one row: give at least two.")
        weight = _weights(sample_weight, len(x))
        if np.ptp(target) == 0:
            warnings.warn(
                f"y is constant ({target[0]:g}), so the formula is that constant. Was the right column chosen?",
                CeqlWarning,
                stacklevel=3,
            )
        return cls(x, target, weight, names, _target_name(y))

    def thinned(self, most: int) -> Dataset:
        """At most that many rows, drawn without replacement; always the same ones."""
        if len(self.y) <= most:
            return self
        rows = np.sort(np.random.default_rng(0).choice(len(self.y), most, replace=False))
        weight = self.weight[rows]
        if weight.sum() == 0:
            return self
        return Dataset(self.x[rows], self.y[rows], weight / weight.mean(), self.names, self.target)


def column_names(X: Any) -> tuple[str, ...]:
    """The columns of a DataFrame become symbols; plain arrays get x1, x2, ..."""
    columns = getattr(X, "columns", None)
    if columns is None:
        _dimensions(X, "X")
        shape = np.shape(X)
        return tuple(f"x{k + 1}" for k in range(shape[1] if len(shape) == 2 else 0))
    names = tuple(str(name) for name in columns)
    for name in names:
        if not name.strip():
            raise InputError("A column of X has an empty name: rename it, it becomes a symbol of the formula.")
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError(f"X has several columns named {', '.join(twice)}: rename them, names become symbols.")
    return names


def _target_name(y: Any) -> str | None:
    """The name of a pandas Series, or of the only column of a DataFrame."""
    columns = getattr(y, "columns", None)
    name = getattr(y, "name", None) if columns is None else columns[0]
    return name if isinstance(name, str) and name.strip() else None


def numeric_matrix(X: Any, names: Sequence[str]) -> np.ndarray:
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise InputError("X is a sparse matrix; sparse data is not supported, use X.toarray().")
    dimensions = _dimensions(X, "X")
    if dimensions != 2:
        raise InputError(
            f"Expected 2D array, got {dimensions}D array instead: X needs the shape (samples, variables). "
            "Reshape your data with X.reshape(-1, 1) if it has a single variable."
        )
    if hasattr(X, "columns"):
        columns = [_numbers(X.iloc[:, k], f"column {name!r} of X") for k, name in enumerate(names)]
        x = np.column_stack(columns) if columns else np.zeros(np.shape(X))
    else:
        x = _numbers(X, "X")
    bad = np.argwhere(~np.isfinite(x))
    if len(bad):
        row, column = bad[0]
        kind = "NaN" if np.isnan(x[row, column]) else "infinity"
        raise InputError(
            f"Input X contains {kind}: {len(bad)} value(s) are not finite, the first in row {row}, column "
            f"{names[column]!r}. Drop or fill these rows first."
        )
    return x


def _dimensions(values: Any, what: str) -> int:
    try:
        return np.ndim(values)
    except ValueError:
        raise InputError(f"{what} is ragged: its rows differ in length.") from None


def numeric_vector(values: Any, name: str) -> np.ndarray:
    if values is None:
        raise InputError(f"This estimator requires {name} to be passed, but the target {name} is None.")
    _dimensions(values, name)
    shape = np.shape(values)
    if len(shape) == 2 and shape[1] == 1:
        values = np.asarray(values).ravel()
    elif len(shape) != 1:
        raise InputError(f"{name} should be a 1d array, got an array of shape {shape} instead.")
    vector = _numbers(values, name)
    bad = np.flatnonzero(~np.isfinite(vector))
    if len(bad):
        kind = "NaN" if np.isnan(vector[bad[0]]) else "infinity"
        raise InputError(
            f"Input {name} contains {kind}: {len(bad)} value(s) are not finite, the first in row {bad[0]}. "
            "Drop these rows first."
        )
    return vector


def _numbers(values: Any, what: str) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{what} is ragged: its rows differ in length.") from None
    if array.dtype.kind in "mM":
        raise InputError(f"{what} holds dates or durations: turn them into numbers, such as seconds since the start.")
    if np.iscomplexobj(array):
        raise InputError(f"Complex data not supported: {what} is complex. Give real and imaginary part as columns.")
    try:
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} is not numeric: {_first_stranger(array)}. Convert or drop it first.") from error


def _first_stranger(array: np.ndarray) -> str:
    for index, value in np.ndenumerate(array):
        try:
            float(value)
        except (TypeError, ValueError):
            return f"{value!r} at row {index[0] if index else 0} is no number (argument must be a number)"
    return "it has no common numeric type"


def _weights(sample_weight: Any, n: int) -> np.ndarray:
    if sample_weight is None:
        return np.ones(n)
    scalar = _dimensions(sample_weight, "sample_weight") == 0
    weight = numeric_vector([sample_weight] * n if scalar else sample_weight, "sample_weight")
    if len(weight) != n:
        raise InputError(f"sample_weight has {len(weight)} entries but X has {n} rows.")
    if (weight < 0).any():
        raise InputError("sample_weight has negative entries; weights must be zero or positive.")
    if weight.sum() == 0:
        raise InputError("sample_weight is zero for every row: nothing is left to fit.")
    return weight / weight.mean()


@dataclass(frozen=True, eq=False)
class Scaling:
    """Powers of two that bring inputs and target to unit size without touching a single bit of them."""

    x: np.ndarray
    y: float

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray) -> Scaling:
        return cls(power_of_two(np.max(np.abs(x), axis=0)), float(power_of_two(robust_size(y))))

    def apply(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x / self.x, y / self.y


def robust_size(y: np.ndarray) -> float:
    """The size of y: poles inflate the standard deviation, so the median has a say."""
    spread = float(np.std(y / max(np.max(np.abs(y)), 1e-300)) * max(np.max(np.abs(y)), 1e-300))
    middle = 1.5 * float(np.median(np.abs(y)))
    candidates = [size for size in (spread, middle) if size > 0]
    return min(candidates) if candidates else 1.0


def power_of_two(size: np.ndarray | float) -> np.ndarray:
    size = np.asarray(size, float)
    exponent = np.round(np.log2(np.where(size > 0, size, 1.0)))
    return np.exp2(np.clip(exponent, -1000, 1000))
