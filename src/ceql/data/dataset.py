"""The table of measurements: checked once on creation, with names, weights and an invertible scaling."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ceql.data.content import is_text
from ceql.errors import CeqlWarning, InputError, NotNumericError

_LARGEST = 1e140  # largest size of a value in a table, so that squares and products do not overflow


@dataclass(frozen=True, eq=False)
class Dataset:
    """Checked inputs with their names, the target and the weights of the rows."""

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray  # mean one
    names: tuple[str, ...]
    noise: float | None = None  # variance of a row of weight one, if measurement errors are known
    # -1 for rows whose y lies below a limit, 1 above, 0 for known ones; None if all are known. In y, censored rows have
    # values that lead to the same least-squares fit.
    censored: np.ndarray | None = None

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None, target: str = "y") -> Dataset:
        """Check everything a fit relies on and return the dataset; every error names the place and the remedy."""
        names = column_names(X)
        x = numeric_matrix(X, names)
        values = numeric_vector(y, target)
        if len(x) == 0:
            raise InputError("Found array with 0 sample(s): X is empty. Give at least two rows.")
        if x.shape[1] == 0:
            raise InputError(
                f"Found array with 0 feature(s) (shape={x.shape}) while a minimum of 1 is required: X has no columns."
            )
        if len(x) != len(values):
            raise InputError(f"X has {len(x)} rows but {target} has {len(values)}: they must be of equal length.")
        if len(x) == 1:
            raise InputError("X has 1 sample, and any formula fits one row: give at least two.")
        for column, name in zip(x.T, names, strict=True):
            require_squares(column, f"column {name!r} of X")
        require_squares(values, target)
        weight = _weights(sample_weight, len(x))
        counted = weight > 0  # rows without weight are dropped: formulas need not be defined there
        if not counted.all():
            if counted.sum() < 2:
                raise InputError("sample_weight is zero for every row but one: give at least two rows a weight.")
            x, values, weight = x[counted], values[counted], weight[counted]
        if not 1e-300 < weight.max() < 1e300 / len(weight):  # their mean would overflow or underflow
            weight = weight / weight.max()
        data = cls(x, values, weight / weight.mean(), names)
        if data.is_constant:
            warnings.warn(
                f"{target} is constant ({values[0]:g}), so the formula is that constant. Was the right column chosen?",
                CeqlWarning,
                stacklevel=4,
            )
        return data

    @property
    def is_constant(self) -> bool:
        return bool((self.y == self.y[0]).all())

    def thinned(self, most: int) -> Dataset:
        """Return at most that many rows, drawn without replacement and always the same ones."""
        if len(self.y) <= most:
            return self
        rows = np.sort(np.random.default_rng(0).choice(len(self.y), most, replace=False))
        weight = self.weight[rows]
        if weight.sum() == 0:
            return self
        noise = None if self.noise is None else self.noise / float(weight.mean())
        codes = None if self.censored is None else self.censored[rows]
        return Dataset(self.x[rows], self.y[rows], weight / weight.mean(), self.names, noise, codes)


def column_names(X: Any) -> tuple[str, ...]:
    """Return the names of the columns, which become symbols; plain arrays get x1, x2, ..."""
    if not is_table(X):
        shape = shape_of(X, "X")
        return tuple(f"x{k + 1}" for k in range(shape[1] if len(shape) == 2 else 0))
    if getattr(X.columns, "nlevels", 1) > 1:
        raise InputError(
            "The columns of X have several levels (a MultiIndex): flatten them first, such as "
            "X.columns = ['_'.join(map(str, name)) for name in X.columns]."
        )
    names = tuple(str(name) for name in X.columns)
    for name in names:
        require_text(name, "A column of X")
        if not name.strip():
            raise InputError("A column of X has an empty name: rename it, it becomes a symbol of the formula.")
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError(f"X has several columns named {', '.join(twice)}: rename them, names become symbols.")
    return names


def require_text(name: str, what: str) -> None:
    """Raise an error if a name has lone surrogates, left by a wrong encoding: it cannot be printed or saved."""
    if not is_text(name):
        raise InputError(f"{what} is called {name!a}, which is not valid text (it has a lone surrogate): rename it.")


def is_table(X: Any) -> bool:
    """Return whether X is a pandas or polars DataFrame, or anything else with named columns."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__")


def require_squares(values: np.ndarray, what: str) -> None:
    """Raise an error if the squares of the values, which losses and products need, could overflow or underflow."""
    size = float(np.max(np.abs(values)))
    if size != 0 and not 1 / _LARGEST < size < _LARGEST:
        extreme = "large" if size > 1 else "small"
        raise InputError(
            f"The values of {what} are too {extreme} to compute with (up to {size:.0e}): choose another unit for them."
        )


def columns_named(X: Any, names: Sequence[str]) -> Any:
    """Return these columns of a table, in this order."""
    all_names = column_names(X)
    places = [all_names.index(name) for name in names]
    return X.iloc[:, places] if hasattr(X, "iloc") else X[[X.columns[k] for k in places]]


def numeric_matrix(X: Any, names: Sequence[str]) -> np.ndarray:
    shape = shape_of(X, "X")
    if len(shape) != 2:
        what = f" X is of type {type(X).__name__}." if not shape else ""
        raise InputError(
            f"Expected 2D array, got {len(shape)}D array instead: X needs the shape (samples, variables).{what} "
            "Reshape your data with X.reshape(-1, 1) if it has a single variable."
        )
    if is_table(X):
        columns = [_numbers(column_of(X, k), f"column {name!r} of X") for k, name in enumerate(names)]
        x = np.column_stack(columns) if columns else np.zeros(shape)
    else:
        x = _numbers(X, "X")
    _require_finite(x, "X", names)
    return x


def column_of(table: Any, k: int) -> Any:
    """Return column k of any kind of table: a DataFrame, an array or a list of rows."""
    if hasattr(table, "iloc"):
        return table.iloc[:, k]
    if is_table(table):
        return table[table.columns[k]]
    return [row[k] for row in table] if isinstance(table, list | tuple) else table[:, k]


def _require_finite(values: np.ndarray, what: str, names: Sequence[str] = ()) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        kind = "NaN" if np.isnan(values[tuple(bad[0])]) else "infinity"
        where, remedy = (f", column {names[bad[0][1]]!r}", "Drop or fill") if values.ndim == 2 else ("", "Drop")
        raise InputError(
            f"Input {what} contains {kind}: {len(bad)} value(s) are not finite, the first in row {bad[0][0]}{where}. "
            f"{remedy} these rows first."
        )


def numeric_vector(values: Any, name: str) -> np.ndarray:
    if values is None:
        raise InputError(f"This estimator requires {name} to be passed, but the target {name} is None.")
    shape = shape_of(values, name)
    if len(shape) == 2 and shape[1] == 1:
        values = np.asarray(values).ravel() if not np.ma.isMaskedArray(values) else values.ravel()
    elif len(shape) != 1:
        raise InputError(f"{name} should be a 1d array, got an array of shape {shape} instead.")
    vector = _numbers(values, name)
    _require_finite(vector, name)
    return vector


def shape_of(values: Any, what: str) -> tuple[int, ...]:
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise InputError(f"{what} is a sparse matrix; sparse data is not supported, use {what}.toarray().")
    shape = getattr(values, "shape", None)
    return shape if isinstance(shape, tuple) else _array(values, what).shape


def _array(values: Any, what: str) -> np.ndarray:
    if np.ma.isMaskedArray(values):
        if np.ma.is_masked(values):
            raise InputError(f"{what} is a masked array with masked entries: drop these rows or fill them first.")
        values = values.data
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(f"{what} is ragged: its rows differ in length.") from None


def is_complex(values: Any) -> bool:
    return values is not None and np.iscomplexobj(_array(values, "y"))


def _numbers(values: Any, what: str) -> np.ndarray:
    """Return the values as float64. As in scikit-learn, texts that read as numbers pass; missing values become NaN."""
    array = _array(values, what)
    if array.dtype.kind in "mM":
        raise InputError(f"{what} holds dates or durations: convert them to numbers, such as seconds since the start.")
    if np.iscomplexobj(array):
        raise InputError(
            f"Complex data not supported: {what} is complex. Give its real and imaginary part as columns; a complex "
            "target needs a template with the imaginary unit I."
        )
    if array.dtype.kind == "O":
        array = np.where(pd.isna(array), np.nan, array)
    try:
        with np.errstate(over="ignore"):  # a long double may become infinite, which is rejected later
            return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise NotNumericError(f"{what} is not numeric: {_why_not_numeric(array)}. Convert or drop it first.") from error


def _why_not_numeric(array: np.ndarray) -> str:
    for index, value in np.ndenumerate(array):
        row = index[0] if index else 0
        try:
            float(value)
        except OverflowError:
            return f"the number at row {row} is too large for a float"
        except (TypeError, ValueError):
            return f"{value!r} at row {row} is not a number (argument must be a string or a number)"
    return "it has no common numeric type"


def _weights(sample_weight: Any, n: int) -> np.ndarray:
    if sample_weight is None:
        return np.ones(n)
    scalar = shape_of(sample_weight, "sample_weight") == ()
    weight = numeric_vector([sample_weight] * n if scalar else sample_weight, "sample_weight")
    if len(weight) != n:
        raise InputError(f"sample_weight has {len(weight)} entries but X has {n} rows.")
    if (weight < 0).any():
        raise InputError("sample_weight has negative entries; weights must be zero or positive.")
    if not weight.any():
        raise InputError("sample_weight is zero for every row, so there is nothing to fit.")
    return weight


@dataclass(frozen=True, eq=False)
class Scaling:
    """Powers of two that bring inputs and target to unit size without rounding them."""

    x: np.ndarray
    y: float

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray) -> Scaling:
        return cls(power_of_two(np.max(np.abs(x), axis=0)), float(power_of_two(robust_size(y))))

    def apply(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x / self.x, y / self.y


def robust_size(y: np.ndarray) -> float:
    """Return the smaller of standard deviation and 1.5 times the median size, since poles inflate the former."""
    largest = max(np.max(np.abs(y)), 1e-300)
    spread = float(np.std(y / largest) * largest)
    middle = 1.5 * float(np.median(np.abs(y)))
    least = 1e-100 * float(largest)  # so that scaled values do not overflow
    candidates = [max(size, least) for size in (spread, middle) if size > 0]
    return min(candidates) if candidates else 1.0


def power_of_two(size: np.ndarray | float) -> np.ndarray:
    size = np.asarray(size, float)
    exponent = np.round(np.log2(np.where(size > 0, size, 1.0)))
    return np.exp2(np.clip(exponent, -1000, 1000))


def typical_size(y: np.ndarray) -> float:
    """Return the median size of y, or of its nonzero values if most are zero; never zero."""
    sizes = np.abs(y)
    middle = float(np.median(sizes))
    if middle == 0.0 and sizes.any():
        middle = float(np.median(sizes[sizes > 0.0]))
    return max(middle, 1e-300)
