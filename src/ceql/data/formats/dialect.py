"""Recognises the layout of a text file: comments, header, separator and decimal mark, if they are unambiguous.

If exactly one way of reading gives the header and all rows the same number of cells, it is used, and a note says so. If
there are several, or none, an error says which option to use.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ceql.data.formats.file_layout import BLANKS, OF_TEXT, Layout
from ceql.errors import InputError

_SAMPLE = 200  # lines that are examined; later lines that differ cause an error when they are read
NAMED = {"\t": "tab", ";": "';'", ",": "','", "|": "'|'", BLANKS: "blanks"}
_COMMENT = re.compile(r"\s*(#+|%+|//+)\s*")
_BLANK_CELLS = re.compile(r'"[^"]*"|\S+')
_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
_POINT = re.compile(r"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")
_NOTHING = {"", "na", "n/a", "nan", "null", "none"}


@dataclass(frozen=True)
class Dialect:
    separator: str
    decimal: str
    header: tuple[str, ...]
    no_rows: frozenset[int]  # lines, counted from 0, without data: comments, everything up to the header, and units
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Line:
    number: int  # counted from 0
    text: str
    is_comment: bool


def recognised(path: Path, layout: Layout, encoding: str) -> Dialect:
    lines = _lines(path, layout, encoding)
    comments = [line for line in lines if line.is_comment]
    filled = [line for line in lines if not line.is_comment and line.text.strip()][:_SAMPLE]
    if not filled:
        raise InputError(f"{path} is empty: it needs a header line and rows of numbers.")
    named = None if layout.names else _commented_header(path, layout, filled[0], comments)
    if named is not None:
        separator, header = named
        notes = [f"{path}: the names of the columns are taken from a comment: {', '.join(header)}."]
    else:
        separator, header = layout.separator or _separator(path, filled), layout.names
        notes = []
    header, above = (header, 0) if header else _header(filled, separator)
    rows = filled[above:]
    cells = list(cells_of([line.text for line in rows], separator))
    units = _are_units(cells)
    if units:
        notes.append(
            f"{path}, line {rows[0].number + 1}: no number in it, so it is taken for a line of units and left out."
        )
        rows, cells = rows[1:], cells[1:]
    among = sum(line.number > filled[0].number for line in comments)
    if among:
        them = "1 line among the rows begins" if among == 1 else f"{among} lines among the rows begin"
        notes.append(f"{path}: {them} with #, % or //, which marks a comment.")
    first = rows[0].number if rows else filled[-1].number + 1
    no_rows = frozenset({*range(first), *(line.number for line in comments)})
    decimal = layout.decimal or _decimal(path, separator, cells)
    return Dialect(separator, decimal, header, no_rows, (*_said(path, separator, decimal, layout), *notes))


def _lines(path: Path, layout: Layout, encoding: str) -> list[_Line]:
    """Return the first lines, and all comments further down."""
    with path.open(encoding=encoding, newline="") as file:
        return [
            _Line(k, line.rstrip("\r\n"), is_comment)
            for k, line in enumerate(file)
            if k >= layout.skip and ((is_comment := _COMMENT.match(line) is not None) or k < _SAMPLE + layout.skip)
        ]


def cells_of(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    if separator == BLANKS:
        return ([cell.strip('"') for cell in _BLANK_CELLS.findall(line)] for line in lines)
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def is_number(text: str) -> bool:
    """Return whether a cell can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---- the header ---------------------------------------------------------------------------------------------------


def _commented_header(
    path: Path, layout: Layout, first: _Line, comments: Sequence[_Line]
) -> tuple[str, tuple[str, ...]] | None:
    """Return separator and names from the comment above the rows, if the first row holds only numbers; else None."""
    marks = [layout.separator] if layout.separator else list(NAMED)
    numbers = {mark: cells for mark in marks if all(map(_is_number_here, cells := _cells(first.text, mark)))}
    if not numbers:
        return None
    above = [line.text for line in comments if line.number < first.number]
    for mark, cells in numbers.items() if above else ():
        bare = _cells(_COMMENT.sub("", above[-1], count=1), mark)
        names = tuple(name.strip() or ("" if k else "#") for k, name in enumerate(bare))
        if len(names) == len(cells) > 1 and not any(map(_is_number_here, names)):
            return mark, names
    raise InputError(
        f"{path} begins with numbers: its first line must name the columns, as in "
        f"x{OF_TEXT[path.suffix.lower()] or ','}y, or --names x,y does."
    )


def _header(lines: Sequence[_Line], separator: str) -> tuple[tuple[str, ...], int]:
    """Return the names, and how many lines they take: a quoted name may contain line breaks."""
    if separator == BLANKS:
        return tuple(_cells(lines[0].text, separator)), 1
    reader = csv.reader((f"{line.text} " for line in lines), delimiter=separator, skipinitialspace=True)
    return tuple(name.strip() for name in next(reader)), reader.line_num


def _is_number_here(cell: str) -> bool:
    return is_number(cell) or _COMMA.fullmatch(cell) is not None


def _are_units(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row has words but no number, while the second has only numbers."""
    if len(rows) < 2 or not any(cell.strip().casefold() not in _NOTHING for cell in rows[0]):
        return False
    return not any(map(_is_number_here, rows[0])) and sum(map(_is_number_here, rows[1])) == len(rows[1])


# ---- separator and decimal mark -----------------------------------------------------------------------------------


def _separator(path: Path, lines: Sequence[_Line]) -> str:
    texts = [line.text for line in lines]
    fitting = _fitting(texts)
    if len(fitting) == 1:
        return fitting[0]
    if len(fitting) > 1:
        ways = " or ".join(NAMED[mark] for mark in fitting)
        raise InputError(f"The columns of {path} may be separated by {ways}: choose one with --separator.")
    for k in range(1, len(lines) - 1):
        if (marks := _fitting(texts[k:])) and not any(map(_is_number_here, _cells(texts[k], marks[0]))):
            raise InputError(
                f"{path} begins with lines that are not part of the table, such as {texts[0][:40]!r}: use --skip "
                f"{lines[k].number}."
            )
    own = OF_TEXT[path.suffix.lower()]
    if own or len(texts[0].split()) == 1:
        return own or ","
    raise InputError(
        f"The lines of {path} do not have as many cells as the first one, whichever separator is tried (tab, ';', "
        "'|', ',' or spaces): use --separator, and put names with spaces in quotation marks."
    )


def _fitting(lines: Sequence[str]) -> list[str]:
    """Return the separators that give all lines the same number of cells; blanks only if no other one does."""
    fits = [mark for mark in NAMED if mark != BLANKS and _is_even(lines, mark)]
    return fits or ([BLANKS] if _is_even(lines, BLANKS) else [])


def _is_even(lines: Sequence[str], mark: str) -> bool:
    """Return whether all lines have the same number of cells, at least two, ignoring a separator at their ends."""
    try:
        rows = [row for row in cells_of(lines, mark) if row]
    except csv.Error:
        return False
    counts = {len(row) for row in rows}
    if len(counts) > 1:
        counts = {len(row) - (not row[-1].strip()) for row in rows}
    return len(counts) == 1 and counts != {1}


def _cells(line: str, mark: str) -> list[str]:
    return next(cells_of([line], mark), [])


def _decimal(path: Path, separator: str, rows: Sequence[Sequence[str]]) -> str:
    if separator == ",":
        return "."
    commas = [cell for row in rows for cell in row if _COMMA.fullmatch(cell)]
    if not commas:
        return "."
    point = next((cell for row in rows for cell in row if _POINT.fullmatch(cell)), None)
    if point is not None:
        raise InputError(
            f"{path} has decimal commas ({commas[0].strip()!r}) and decimal points ({point.strip()!r}): choose one "
            "with --decimal ',' or --decimal '.'."
        )
    if all(map(_THOUSANDS.fullmatch, commas)):
        raise InputError(
            f"{path} has {commas[0].strip()!r}, whose comma may mark decimals or thousands: use --decimal ',', or "
            "remove the commas."
        )
    return ","


def _said(path: Path, separator: str, decimal: str, layout: Layout) -> list[str]:
    """Return a note on what was recognised if it differs from what the file's ending suggests."""
    parts = []
    if not layout.separator and separator != OF_TEXT[path.suffix.lower()]:
        parts.append(f"its columns are separated by {NAMED.get(separator, repr(separator))}")
    if not layout.decimal and decimal != ".":
        parts.append("its numbers have decimal commas")
    return [f"{path}: {' and '.join(parts)}, judging by its first lines."] if parts else []
