"""NumPy archives (.npz): named columns, or a matrix `X` with its `y`."""

from __future__ import annotations

from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from ceql.data.dataset import require_text
from ceql.data.formats.file_layout import Layout
from ceql.errors import InputError


def read(path: Path, layout: Layout) -> pd.DataFrame:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            found = {name: archive[name] for name in archive.files}
    except (ValueError, TypeError, BadZipFile, EOFError, AttributeError):
        raise InputError(f"{path} is no .npz archive of plain numbers.") from None
    columns: dict[str, np.ndarray] = {}
    for name, array in found.items():
        require_text(name, f"A column of {path}")
        for column, values in _columns(path, name, array).items():
            if column in columns:
                raise InputError(f"{path} has several columns named {column!r}: an array is called as a column of X.")
            columns[column] = values
    if not columns:
        raise InputError(f"{path} is empty: it needs one-dimensional arrays, or X and y.")
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        words = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError(f"{path}: the arrays differ in length: {words}.")
    return pd.DataFrame(columns)


def _columns(path: Path, name: str, array: np.ndarray) -> dict[str, np.ndarray]:
    if np.iscomplexobj(array):
        raise InputError(f"{path}: the array {name!r} is complex. Give its real and imaginary part as two arrays.")
    if array.ndim == 1:
        return {name: array}
    if name == "X" and array.ndim == 2:
        return {f"x{k + 1}": array[:, k] for k in range(array.shape[1])}
    raise InputError(
        f"{path}: the array {name!r} has the shape {array.shape}; a column has one dimension, and a matrix is called X."
    )
