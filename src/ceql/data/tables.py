"""Reads tables from files; errors name the line and the column and say what to do."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ceql.data.formats import binary, delimited
from ceql.data.formats.file_layout import DEFAULT, OF_TEXT, Layout
from ceql.errors import InputError, no_file, unknown_name, why_unreadable

_BINARY: Mapping[str, Callable[[Path, Layout], pd.DataFrame]] = {
    ".parquet": binary.read_parquet,
    ".xlsx": binary.read_workbook,
    ".npz": binary.read_npz,
}
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
_DECIMAL_POINT = re.compile(r"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*")
_LIKE_A_DATE = re.compile(r"\s*(\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}:\d{2}|\d{1,2}[- ]?[A-Za-z]{3}[- ]?\d{2,4})")
_LIKE_A_NUMBER = re.compile(r"\s*[-+\u2212<>~$\u20ac\u00a3]?\s*[.,]?\d")
_FORTRAN = r"(?<=[\d.])[dD](?=[+-]?\d)"  # exponents such as 1.5D+03


@dataclass(frozen=True, eq=False)
class Table:
    """The cells of a file as they were read, and their origin."""

    cells: pd.DataFrame
    path: Path
    layout: Layout
    decimal: str = "."
    notes: tuple[str, ...] = ()  # what was recognised rather than given as an option

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.cells.columns]

    def numbers(self, names: Sequence[str], gaps: bool = False) -> pd.DataFrame:
        """Return these columns as finite numbers, with NaN for empty cells if gaps are allowed.

        An error names the first cell that is not a finite number.
        """
        for name in names:
            if name not in self.names:
                raise unknown_name("column", name, self.names)
        return pd.DataFrame({name: self._column(name, gaps) for name in names})

    def why_no_input(self, name: str) -> str:
        """Return why a column cannot be an input, for instance since it holds dates or words; empty if it can.

        A column with cells that begin like numbers counts as an input, so that errors are raised for its bad cells.
        """
        column: Any = self.cells[name]
        if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
            return "holds dates or durations"
        there = column[column.notna()]
        if not len(there):
            return "is empty"
        if pd.api.types.is_numeric_dtype(column):
            return ""
        words = there.astype(str)
        if words.str.match(_LIKE_A_DATE).all():
            return f"holds dates or times, such as {words.iloc[0]!r}"
        if words.str.match(_LIKE_A_NUMBER).any() or np.isfinite(as_floats(there, self.decimal)).any():
            return ""
        return f"holds text, such as {words.iloc[0][:30]!r}"

    def labels(self, name: str, gaps: bool = False) -> np.ndarray:
        """Return a column as labels, with None for empty cells; without `gaps`, an error names the first empty cell."""
        if name not in self.names:
            raise unknown_name("column", name, self.names)
        column: Any = self.cells[name]
        is_empty = column.isna().to_numpy()
        if is_empty.any() and not gaps:
            raise InputError(
                f"{self.path}, {self.place(int(np.argmax(is_empty)))}, column {name!r}: the cell is empty. "
                "Give every row a label."
            )
        labels = np.array(column.astype(str), dtype=object)
        labels[is_empty] = None
        return labels

    def _column(self, name: str, gaps: bool) -> np.ndarray:
        column: Any = self.cells[name]
        if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
            raise InputError(
                f"{self.path}: column {name!r} holds dates or durations: convert them to numbers, such as seconds "
                "since the start."
            )
        values = as_floats(column, self.decimal)
        is_bad = ~np.isfinite(values)
        if gaps and not (missing := column.isna().to_numpy()).all():
            is_bad &= ~missing
        bad = np.flatnonzero(is_bad)
        if len(bad):
            raise self._complaint(name, column, bad)
        return values

    def _complaint(self, name: str, column: Any, bad: np.ndarray) -> InputError:
        missing = column.isna().to_numpy()
        if missing.all():
            return InputError(f"{self.path}: column {name!r} is empty, every cell of it is missing. Leave it out.")
        strange = [k for k in bad if not missing[k]]
        first = int(strange[0] if strange else bad[0])
        place = f"{self.path}, {self.place(first)}, column {name!r}"
        if not strange:
            return InputError(
                f"{place}: the cell is empty or NaN; {len(bad)} of {len(column)} cells of this column are. "
                "Fill these cells, or leave out their rows with --missing drop."
            )
        value = column.iloc[first]
        if isinstance(value, float):
            return InputError(f"{place}: the value is infinite. Delete this row.")
        return InputError(f"{place}: {str(value)!r} is not a number.{self._remedy(str(value))}")

    def _remedy(self, value: str) -> str:
        if self.decimal == "." and self.layout.decimal != "." and _DECIMAL_COMMA.fullmatch(value):
            return " If its comma is a decimal comma, use --decimal ','."
        if self.decimal == "," and self.layout.decimal and _DECIMAL_POINT.fullmatch(value):
            return " Its numbers have decimal points: leave out --decimal."
        remedy = " Correct it, or choose other columns with --features, or leave this one out with --exclude."
        if _LIKE_A_NUMBER.match(value):
            return remedy
        return f"{remedy} If it marks a missing value, use --missing-mark {shlex.quote(value)} --missing drop."

    def place(self, row: int) -> str:
        """Return the place of a row in the file, in words."""
        if self.path.suffix.lower() in OF_TEXT:
            return f"line {delimited.line_of(self.path, self.layout, row)}"
        if self.path.suffix.lower() == ".xlsx":
            return f"row {self.cells.index[row] + 1}"
        return f"row {row + 1}"


def as_floats(column: Any, decimal: str) -> np.ndarray:
    """Return a column as floats, NaN for anything else. With decimal commas, a cell with a point is not a number, since
    the point may mark thousands."""
    if not pd.api.types.is_numeric_dtype(column):
        text = column.astype("string").str.strip().str.replace("\u2212", "-").str.replace(_FORTRAN, "e", regex=True)
        if decimal != ".":
            text = text.str.replace(".", "?", regex=False).str.replace(decimal, ".", regex=False)
        column = pd.to_numeric(text, errors="coerce")
    return column.to_numpy(dtype=float, na_value=np.nan)


def read_cells(path: Path, layout: Layout = DEFAULT) -> Table:
    """Read a table of any known kind, recognised by the file's ending."""
    ending, known = path.suffix.lower(), ", ".join((*OF_TEXT, *_BINARY))
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a file: name a table in it ({known}).")
    if ending not in (*OF_TEXT, *_BINARY):
        has = f"has the ending {path.suffix!r}" if path.suffix else "has no ending that says what is in it"
        raise InputError(f"{path} {has}; known are {known}.")
    if not path.exists():
        raise InputError(no_file(path))
    layout.check(ending)
    decimal, notes = ".", ()
    try:
        if ending in OF_TEXT:
            cells, dialect = delimited.read(path, layout)
            decimal, notes = dialect.decimal, dialect.notes
        else:
            cells = _BINARY[ending](path, layout)
    except OSError as error:
        raise InputError(why_unreadable(path, error)) from error
    cells.columns = pd.Index([str(name) for name in cells.columns], dtype=object)  # a Parquet file may have 0, 1, ...
    twice = sorted({name for name in cells.columns[cells.columns.duplicated()] if name})
    if twice:
        raise InputError(f"{path} has several columns named {', '.join(map(repr, twice))}: rename them.")
    if not len(cells):
        raise InputError(f"{path} has a header but no rows below it.")
    return Table(_without_marks(cells, layout.missing_marks), path, layout, decimal, notes)


def _without_marks(cells: pd.DataFrame, marks: Sequence[str]) -> pd.DataFrame:
    """Return the cells with those that equal one of these marks, as text or as a number, set to missing."""
    if not marks:
        return cells
    numbers = [float(mark) for mark in marks if delimited.is_number(mark)]
    marked = cells.apply(lambda column: column.astype(str).str.strip().isin(marks) | column.isin(numbers))
    return cells.mask(marked)


def read_table(path: Path) -> pd.DataFrame:
    """Read only the cells of a table, whether numbers or not."""
    return read_cells(path).cells
