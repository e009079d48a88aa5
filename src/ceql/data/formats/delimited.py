"""Reader of text files with a header line and a separator between the cells."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from ceql.data.dataset import require_text
from ceql.data.formats.dialect import NAMED, Dialect, cells_of, is_number, recognised
from ceql.data.formats.file_layout import BLANKS, Layout
from ceql.errors import InputError

__all__ = ["is_number", "line_of", "read"]

_LINES_AT_ONCE = 10_000
_LINE = re.compile(r"in line (\d+),")
_ARCHIVE = b"PK\x03\x04"  # the first bytes of a workbook


def read(path: Path, layout: Layout) -> tuple[pd.DataFrame, Dialect]:
    """Return the cells and the recognised layout of the file."""
    encoding = _encoding(layout)
    with _in_plain_words(path, layout):
        dialect = recognised(path, layout, encoding)
        _check_header(path, dialect)
        try:
            with path.open(encoding=encoding, newline="") as file:
                table = _parsed(_Rows(file, dialect), dialect)
        except pd.errors.ParserError as error:
            raise pd.errors.ParserError(_with_the_line_of_the_file(str(error), path, encoding, dialect)) from None
    table.columns = pd.Index(dialect.header)
    named = [bool(name) or not table.iloc[:, k].isna().all() for k, name in enumerate(dialect.header)]
    return table.loc[:, named], dialect


def line_of(path: Path, layout: Layout, row: int) -> int:
    """Return the line of the file, counted from 1, in which the given row of the table ends."""
    dialect = recognised(path, layout, _encoding(layout))
    with path.open(encoding=_encoding(layout), newline="") as file:
        rows = _Rows(file, dialect)
        filled = (rows.line for cells in cells_of(rows, dialect.separator) if any(cell.strip() for cell in cells))
        return next((line for k, line in enumerate(filled) if k == row), row + 2)


class _Rows:
    """The lines of a file that hold rows, for readers that iterate and for pandas, which calls `read`."""

    def __init__(self, file: Iterable[str], dialect: Dialect) -> None:
        self.line = 0  # number of the latest line, counted from 1
        self._lines = self._kept(file, dialect.no_rows)

    def _kept(self, file: Iterable[str], no_rows: frozenset[int]) -> Iterator[str]:
        for place, line in enumerate(file):
            if place not in no_rows:
                self.line = place + 1
                yield line

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def read(self, size: int = -1) -> str:
        return "".join(islice(self._lines, _LINES_AT_ONCE))


def _parsed(rows: _Rows, dialect: Dialect) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # pandas would drop cells beyond the header
        source: Any = rows
        return pd.read_csv(
            source,
            sep=r"\s+" if dialect.separator == BLANKS else dialect.separator,
            decimal=dialect.decimal,
            skipinitialspace=True,
            index_col=False,
            low_memory=False,
            header=None,
            names=range(len(dialect.header)),
        )


def _with_the_line_of_the_file(words: str, path: Path, encoding: str, dialect: Dialect) -> str:
    """Return pandas' message with the line of the file, since pandas only counts the lines passed to it."""
    found = _LINE.search(words)
    if found is None:
        return words
    with path.open(encoding=encoding, newline="") as file:
        rows = _Rows(file, dialect)
        line = next((rows.line for k, _ in enumerate(rows) if k == int(found[1]) - 1), int(found[1]))
    return words.replace(found[0], f"in line {line},")


def _encoding(layout: Layout) -> str:
    # Windows programs begin UTF-8 with a byte order mark, which is not part of the first name.
    return "utf-8-sig" if layout.encoding.lower().replace("_", "-") in ("utf-8", "utf8") else layout.encoding


@contextmanager
def _in_plain_words(path: Path, layout: Layout) -> Iterator[None]:
    try:
        yield
    except UnicodeError:
        with path.open("rb") as file:
            if file.read(len(_ARCHIVE)) == _ARCHIVE:
                raise InputError(
                    f"{path} is not a text file: if it is a workbook, its name must end in .xlsx."
                ) from None
        raise InputError(
            f"{path} is not encoded in {layout.encoding}. Name its encoding, such as --encoding latin-1 or "
            "--encoding utf-16, or save it as UTF-8."
        ) from None
    except pd.errors.EmptyDataError:
        raise _empty(path) from None
    except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ").rstrip(".")
        if isinstance(error, pd.errors.ParserWarning):
            reason = "a row has more cells than the header has names"
        raise InputError(f"{path} is not a table of numbers: {reason}.") from None


def _empty(path: Path) -> InputError:
    return InputError(f"{path} has a header but no rows below it.")


def _check_header(path: Path, dialect: Dialect) -> None:
    for name in dialect.header:
        require_text(name, f"A column of {path}")
    if len(dialect.header) == 1:
        (only,) = dialect.header
        other = next((mark for mark in NAMED if mark not in (dialect.separator, BLANKS) and mark in only), None)
        if other is not None:
            decimal = " (and --decimal ',' if its numbers have decimal commas)" if other == ";" else ""
            raise InputError(
                f"{path} has one column only, {only!r}: its columns seem to be separated by {NAMED[other]}, "
                f"so use --separator {NAMED[other]}{decimal}."
            )
