"""A table of conditions: the values under which each file, folder or repetition was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from ceql.data.tables import read_table
from ceql.errors import InputError, missing_extra
from ceql.frf.formats.delimited import REPETITION_NAMES, identifier
from ceql.frf.labels import REPETITION, Label, check_names

_FILE, _FOLDER = "file", "folder"


@dataclass(frozen=True)
class ConditionTable:
    """A table of conditions, looked up by file, folder or repetition."""

    path: Path
    keys: tuple[str, ...]
    names: tuple[str, ...]
    rows: Mapping[tuple[str, ...], tuple[float, ...]]

    def label(self, name: str, known: Label) -> Label:
        """The label of a file. If the table has repetitions as its only key, conditions read from the name are kept."""
        wanted = tuple(_key(key, name, known) for key in self.keys)
        values = self.rows.get(wanted)
        if values is None:
            words = ", ".join(f"{key} {value!r}" for key, value in zip(self.keys, wanted, strict=True))
            raise InputError(f"{name}: its condition is missing, as {self.path} has no row for {words}. Add that row.")
        kept = known.conditions if self.keys == (REPETITION,) else {}
        return Label({**kept, **dict(zip(self.names, values, strict=True))}, known.repetition)


def read_condition_table(path: Path) -> ConditionTable:
    table = _from_workbook(path) if path.suffix.lower() == ".xlsx" else read_table(path)
    table = table.rename(columns={name: _key_name(str(name)) for name in table.columns})
    keys = tuple(name for name in (_FILE, _FOLDER, REPETITION) if name in table.columns)
    columns = [str(name) for name in table.columns if name not in keys]
    if not keys or not columns:
        raise InputError(
            f"{path} has the columns {', '.join(map(str, table.columns))}; a table of conditions needs 'file', "
            "'folder' or 'repetition' and at least one column of numbers."
        )
    for name in columns:
        if not pd.api.types.is_numeric_dtype(table[name]) or bool(table[name].isna().to_numpy().any()):
            raise InputError(f"{path}: column {name!r} holds something that is not a number.")
    names = tuple(identifier(name) for name in columns)
    check_names(names)
    rows: dict[tuple[str, ...], tuple[float, ...]] = {}
    for record in table[[*keys, *columns]].itertuples(index=False):
        key = tuple(_written(value) for value in record[: len(keys)])
        if key in rows:
            raise InputError(f"{path} has two rows for {', '.join(key)}.")
        rows[key] = tuple(float(value) for value in record[len(keys) :])
    return ConditionTable(path, keys, names, rows)


def _key(key: str, name: str, known: Label) -> str:
    path = PurePosixPath(name)
    if key != REPETITION:
        return path.stem if key == _FILE else path.parent.name
    if known.repetition is None:
        raise InputError(f"{name} does not number its repetition: use the column 'file', or --pattern.")
    return str(known.repetition)


def _key_name(name: str) -> str:
    lowered = name.strip().lower()
    return REPETITION if lowered in REPETITION_NAMES else lowered if lowered in (_FILE, _FOLDER) else name


def _written(value: object) -> str:
    """A key as text: 3.0 and 3 are equal, and files are identified by their names without folder and extension."""
    if isinstance(value, int | float):
        return str(int(value))
    path = PurePosixPath(str(value))
    return path.stem if path.suffix and not path.suffix[1:].isdecimal() else path.name


def _from_workbook(path: Path) -> pd.DataFrame:
    """The first block of numbers on the first sheet, with the header line directly above it."""
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    try:
        sheet = pd.read_excel(path, header=None)
    except ImportError:
        raise missing_extra("openpyxl", "frf", f"Reading {path.name}, a workbook,") from None
    numbers = sheet.apply(pd.to_numeric, errors="coerce")
    filled = numbers.notna()
    starts = [k for k in range(1, len(sheet)) if filled.iloc[k, :2].all()]
    if not starts:
        raise InputError(f"{path} holds no block of numbers under a header line.")
    first = starts[0]
    # A run ends before the first cell that is not a number; the appended False makes sure that there is one.
    width = int(np.argmin([*filled.iloc[first], False]))
    height = int(np.argmin([*filled.iloc[first:, :width].all(axis=1), False]))
    block = numbers.iloc[first : first + height, :width]
    block.columns = [_header(sheet, first, k) for k in range(width)]
    return block.reset_index(drop=True)


def _header(sheet: pd.DataFrame, row: int, column: int) -> str:
    """The nearest text above a column, since headings may span two lines."""
    above = [sheet.iloc[k, column] for k in range(row - 1, -1, -1)]
    return next((text.strip() for text in above if isinstance(text, str) and text.strip()), f"column_{column + 1}")
