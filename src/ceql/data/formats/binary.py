"""Readers of binary tables: NumPy archives, Parquet files with pyarrow and Excel workbooks with openpyxl."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from ceql.data.dataset import require_text
from ceql.data.formats.file_layout import Layout
from ceql.errors import InputError, missing_extra, unknown_name


def read_parquet(path: Path, layout: Layout) -> pd.DataFrame:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_table
    except ImportError:
        raise missing_extra("pyarrow", "tables", f"Reading {path.name}, a Parquet file,") from None
    try:
        return read_table(path).to_pandas().reset_index(drop=True)
    except (ArrowException, ValueError):
        raise InputError(f"{path} is not a Parquet file, or only part of one.") from None


def read_workbook(path: Path, layout: Layout) -> pd.DataFrame:
    """Return the cells of a sheet, indexed by its rows counted from 0; its first filled row is the header."""
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise missing_extra("openpyxl", "tables", f"Reading {path.name}, a workbook,") from None
    try:
        with pd.ExcelFile(path, engine="openpyxl") as book:
            if layout.sheet and layout.sheet not in book.sheet_names:
                raise unknown_name("sheet", layout.sheet, map(str, book.sheet_names))
            sheet: Any = pd.read_excel(book, sheet_name=layout.sheet or 0, header=None)
    except (BadZipFile, KeyError, EOFError):
        raise InputError(f"{path} is not an Excel workbook, or only part of one.") from None
    filled = sheet.dropna(how="all").dropna(axis=1, how="all")
    if filled.empty:
        raise InputError(f"{path}: the sheet is empty; choose one with --sheet.")
    cells = filled.iloc[1:].infer_objects()
    cells.columns = pd.Index(["" if pd.isna(name) else str(name).strip() for name in filled.iloc[0]])
    return cells


def read_npz(path: Path, layout: Layout) -> pd.DataFrame:
    """Return the columns of an archive of named columns, or of a matrix `X` and `y`."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            found = {name: archive[name] for name in archive.files}
    except (ValueError, TypeError, BadZipFile, EOFError, AttributeError):
        raise InputError(f"{path} is not an .npz archive of plain numbers.") from None
    columns: dict[str, np.ndarray] = {}
    for name, array in found.items():
        require_text(name, f"A column of {path}")
        for column, values in _columns(path, name, array).items():
            if column in columns:
                raise InputError(
                    f"{path} has several columns named {column!r}: an array has the name of a column of X."
                )
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
