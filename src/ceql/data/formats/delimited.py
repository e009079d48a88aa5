"""Text with a header line and a separator between the cells."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from ceql.data.dataset import require_text
from ceql.data.formats.file_layout import Layout
from ceql.errors import InputError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
_NAMED = {"\t": "tab", ";": "';'", ",": "','", "|": "'|'"}


def read(path: Path, layout: Layout) -> pd.DataFrame:
    separator = _separator(path, layout)
    with _in_plain_words(path, layout):
        header = _header(path, layout, separator)
        _check_header(path, header, separator)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # cells beyond the header would be cut off
            table = pd.read_csv(
                path,
                sep=separator,
                decimal=layout.decimal,
                encoding=_encoding(layout),
                skipinitialspace=True,
                index_col=False,
                low_memory=False,
            )
    table.columns = pd.Index(header)
    return table.loc[:, [bool(name) or not table.iloc[:, k].isna().all() for k, name in enumerate(header)]]


def line_of(path: Path, layout: Layout, row: int) -> int:
    """The line of the file in which the given row of the table ends, counted from 1."""
    with path.open(encoding=_encoding(layout), newline="") as file:
        reader = csv.reader(file, delimiter=_separator(path, layout), skipinitialspace=True)
        filled = (reader.line_num for cells in reader if any(cell.strip() for cell in cells))
        next(filled)
        return next((line for k, line in enumerate(filled) if k == row), row + 2)


def _separator(path: Path, layout: Layout) -> str:
    return layout.separator or SEPARATORS[path.suffix.lower()]


def _encoding(layout: Layout) -> str:
    # Windows programs begin UTF-8 with a mark that is no part of the first name.
    return "utf-8-sig" if layout.encoding.lower().replace("_", "-") in ("utf-8", "utf8") else layout.encoding


@contextmanager
def _in_plain_words(path: Path, layout: Layout) -> Iterator[None]:
    try:
        yield
    except UnicodeError:
        raise InputError(
            f"{path} is not encoded in {layout.encoding}. Say what it is, such as --encoding latin-1 or --encoding "
            "utf-16, or save it as UTF-8."
        ) from None
    except pd.errors.EmptyDataError:
        raise _empty(path) from None
    except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ").rstrip(".")
        if isinstance(error, pd.errors.ParserWarning):
            reason = "a row has more cells than the header has names"
        raise InputError(f"{path} is not a table of numbers: {reason}.") from None


def _empty(path: Path) -> InputError:
    return InputError(f"{path} is empty: it needs a header line and rows of numbers.")


def _header(path: Path, layout: Layout, separator: str) -> list[str]:
    with path.open(encoding=_encoding(layout), newline="") as file:
        reader = csv.reader(file, delimiter=separator, skipinitialspace=True)
        names = next((cells for cells in reader if any(cell.strip() for cell in cells)), None)
    if names is None:
        raise _empty(path)
    return [name.strip() for name in names]


def _check_header(path: Path, header: list[str], separator: str) -> None:
    for name in header:
        require_text(name, f"A column of {path}")
    if len(header) == 1:
        other = next((mark for mark in _NAMED if mark != separator and mark in header[0]), None)
        if other is not None:
            decimal = " (and --decimal ',' if its numbers have decimal commas)" if other == ";" else ""
            raise InputError(
                f"{path} has one column only, {header[0]!r}: its columns seem to be separated by {_NAMED[other]}, "
                f"so say --separator {_NAMED[other]}{decimal}."
            )
    if all(is_number(name) for name in header):
        raise InputError(f"{path} begins with numbers: its first line must name the columns, as in x{separator}y.")


def is_number(text: str) -> bool:
    """Whether a cell can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
