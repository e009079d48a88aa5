"""Tables from files, with errors that name the line and the column and say what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ceql.data.formats import binary, delimited
from ceql.data.formats.file_layout import DEFAULT, Layout
from ceql.errors import InputError, unknown_name

_READERS: Mapping[str, Callable[[Path, Layout], pd.DataFrame]] = {
    ".csv": delimited.read,
    ".tsv": delimited.read,
    ".parquet": binary.read_parquet,
    ".xlsx": binary.read_workbook,
    ".npz": binary.read_npz,
}
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
_DECIMAL_POINT = re.compile(r"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*")


@dataclass(frozen=True, eq=False)
class Table:
    """The cells of a file as they were read, and where they come from."""

    cells: pd.DataFrame
    path: Path
    layout: Layout

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.cells.columns]

    def numbers(self, names: Sequence[str]) -> pd.DataFrame:
        """These columns as finite numbers; an error names the first cell that is not one."""
        for name in names:
            if name not in self.cells.columns:
                raise unknown_name("column", name, self.names)
        return pd.DataFrame({name: self._column(name) for name in names})

    def labels(self, name: str) -> np.ndarray:
        """A column as it stands; an error names the first cell that is empty."""
        if name not in self.names:
            raise unknown_name("column", name, self.names)
        column: Any = self.cells[name]
        empty = np.flatnonzero(column.isna().to_numpy())
        if len(empty):
            raise InputError(
                f"{self.path}, {self._place(int(empty[0]))}, column {name!r}: the cell is empty. "
                "Give every row a label."
            )
        return column.astype(str).to_numpy()

    def _column(self, name: str) -> np.ndarray:
        column: Any = self.cells[name]
        if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
            raise InputError(
                f"{self.path}: column {name!r} holds dates or durations: turn them into numbers, such as seconds "
                "since the start."
            )
        values = _as_floats(column, self.layout.decimal)
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise self._complaint(name, column, bad)
        return values

    def _complaint(self, name: str, column: Any, bad: np.ndarray) -> InputError:
        missing = column.isna().to_numpy()
        if missing.all():
            return InputError(f"{self.path}: column {name!r} is empty, every cell of it is missing. Leave it out.")
        strange = [k for k in bad if not missing[k]]
        first = int(strange[0] if strange else bad[0])
        place = f"{self.path}, {self._place(first)}, column {name!r}"
        if not strange:
            return InputError(
                f"{place}: the cell is empty or NaN; {len(bad)} of {len(column)} cells of this column are. "
                "Fill these cells or delete their rows."
            )
        value = column.iloc[first]
        if isinstance(value, float):
            return InputError(f"{place}: the value is infinite. Delete this row.")
        return InputError(f"{place}: {str(value)!r} is not a number.{self._remedy(str(value))}")

    def _remedy(self, value: str) -> str:
        if self.layout.decimal == "." and _DECIMAL_COMMA.fullmatch(value):
            return " If its comma is a decimal comma, say --decimal ','."
        if self.layout.decimal == "," and _DECIMAL_POINT.fullmatch(value):
            return " Its numbers have decimal points: leave out --decimal."
        return " Correct it, or choose other columns with --features."

    def _place(self, row: int) -> str:
        if self.path.suffix.lower() in delimited.SEPARATORS:
            return f"line {delimited.line_of(self.path, self.layout, row)}"
        if self.path.suffix.lower() == ".xlsx":
            return f"row {self.cells.index[row] + 1}"
        return f"row {row + 1}"


def _as_floats(column: Any, decimal: str) -> np.ndarray:
    """NaN for whatever is not a number. Where decimals have a comma, a point may mark thousands: that is no number."""
    if not pd.api.types.is_numeric_dtype(column):
        text = column.astype("string").str.strip()
        if decimal != ".":
            text = text.str.replace(".", "?", regex=False).str.replace(decimal, ".", regex=False)
        column = pd.to_numeric(text, errors="coerce")
    return column.to_numpy(dtype=float, na_value=np.nan)


def read_cells(path: Path, layout: Layout = DEFAULT) -> Table:
    """A table of any of the known kinds, which the file's ending tells apart."""
    ending = path.suffix.lower()
    if ending not in _READERS:
        raise InputError(f"{path} has the ending {path.suffix!r}; known are {', '.join(_READERS)}.")
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a file.")
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    layout.check(ending)
    try:
        cells = _READERS[ending](path, layout)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    twice = sorted({str(name) for name in cells.columns[cells.columns.duplicated()] if str(name)})
    if twice:
        raise InputError(f"{path} has several columns named {', '.join(map(repr, twice))}: rename them.")
    if not len(cells):
        raise InputError(f"{path} has names of columns and no rows below them.")
    return Table(cells, path, layout)


def read_table(path: Path) -> pd.DataFrame:
    """The cells alone, numbers or not."""
    return read_cells(path).cells


def split_targets(
    table: Table, targets: Sequence[str], features: Sequence[str] = ()
) -> tuple[pd.DataFrame, pd.Series | pd.DataFrame]:
    """The chosen columns and the target column, or a table of several, all of them numbers."""
    for name in (*targets, *features):
        if name not in table.names:
            raise unknown_name("column", name, table.names)
    for name in targets:
        if name in features:
            raise InputError(f"{name!r} is the target and cannot be a feature as well.")
        if list(targets).count(name) > 1:
            raise InputError(f"{name!r} is named twice as a target.")
    chosen = list(features) or [name for name in table.names if name not in targets]
    if not chosen:
        which = f"the column {targets[0]!r} alone" if len(targets) == 1 else "no column beside the targets"
        raise InputError(f"{table.path} has {which}: a formula needs at least one other column.")
    if "" in chosen:
        where = table.names.index("") + 1
        raise InputError(
            f"{table.path}: column {where} has no name. Name or delete it, or choose columns with --features. "
            "(pandas writes such a column unless it is told index=False.)"
        )
    numbers = table.numbers([*chosen, *targets])
    return numbers.loc[:, chosen], numbers.loc[:, targets[0] if len(targets) == 1 else list(targets)]
