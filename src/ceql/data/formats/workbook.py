"""Excel workbooks, through openpyxl: one sheet, its first filled row is the header."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import pandas as pd

from ceql.data.formats.file_layout import Layout
from ceql.errors import InputError, missing_extra, unknown_name


def read(path: Path, layout: Layout) -> pd.DataFrame:
    """The cells, numbered by the rows of the sheet counted from 0."""
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
        raise InputError(f"{path} is no Excel workbook, or only part of one.") from None
    filled = sheet.dropna(how="all").dropna(axis=1, how="all")
    if filled.empty:
        raise InputError(f"{path}: the sheet is empty; choose one with --sheet.")
    cells = filled.iloc[1:].infer_objects()
    cells.columns = pd.Index(["" if pd.isna(name) else str(name).strip() for name in filled.iloc[0]])
    return cells
