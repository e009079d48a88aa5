"""Text as laboratories write it: an odd encoding, lines of remarks before the numbers, decimal commas, units in a line
of their own. The longest block of rows with equally many numbers is the table; the lines right above it name it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ceql.errors import InputError

_SEPARATORS = ("\t", ";", "|", None, ",")  # None: blanks
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?|[-+]?(?:nan|inf|infinity)", re.IGNORECASE)
_COMMENT = re.compile(r"^\s*(?:[#%!*\"']|//)+\s*")
_UNIT = re.compile(r"[\[\(]?\s*(?:hz|khz|mhz|ghz|db|deg|degrees?|°|rad|rad/s|s|sec|n|-|lin|m/s\W?2?\W*/?\s*n?|g/n|m/n|"
                   r"m/s/n|\(?m/s[²2]?\)?/n)?\s*[\]\)]?", re.IGNORECASE)  # fmt: skip
_LEAST_ROWS = 3
_ENCODINGS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, eq=False)
class LabText:
    """The remarks above the table, and the table; columns without a name are numbered from 1."""

    remarks: tuple[str, ...]
    table: pd.DataFrame
    named: bool


def decoded(path: Path, encoding: str = "") -> str:
    """The text, in the encoding that is said, or that its first bytes show, else UTF-8 or what Windows writes."""
    raw = path.read_bytes()
    if encoding:
        try:
            return raw.decode(encoding)
        except (UnicodeError, LookupError):
            raise InputError(
                f"{path} is not encoded in {encoding}: try --encoding latin-1 or utf-16, or save it as UTF-8."
            ) from None
    marked = next((name for mark, name in _ENCODINGS if raw.startswith(mark)), None)
    if marked is None and raw[:200].count(b"\0") > len(raw[:200]) // 4:
        marked = "utf-16-le" if raw[1:2] == b"\0" else "utf-16-be"
    for name in (marked,) if marked else ("utf-8", "cp1252", "latin-1"):
        try:
            return raw.decode(name)
        except UnicodeError:
            continue
    raise InputError(f"{path} is no text in a known encoding: say --encoding NAME, such as --encoding utf-16.")


def read_lab_text(path: Path, encoding: str = "") -> LabText:
    lines = decoded(path, encoding).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    best = max(
        (_block(lines, separator, decimal) for separator in _SEPARATORS for decimal in ".," if separator != decimal),
        key=lambda found: (found.rows, found.width),
    )
    if best.rows < _LEAST_ROWS:
        raise InputError(
            f"{path} holds no table: no {_LEAST_ROWS} lines in a row have equally many numbers, at least two each. "
            "Export it as text with one frequency per line."
        )
    cells = [_cells(line, best.separator) for line in lines[best.first : best.first + best.rows]]
    numbers = np.array([[_value(cell, best.decimal) for cell in row[: best.width]] for row in cells])
    remarks = [_COMMENT.sub("", line).strip() for line in lines[: best.first]]
    names = _names(remarks, best)
    unnamed = [str(k + 1) for k in range(best.width)]
    table = pd.DataFrame(numbers, columns=pd.Index(names or unnamed))
    return LabText(tuple(line for line in remarks if line), table, names is not None)


@dataclass(frozen=True)
class _Block:
    first: int
    rows: int
    width: int
    separator: str | None
    decimal: str


def _block(lines: Sequence[str], separator: str | None, decimal: str) -> _Block:
    """The longest run of lines with equally many numbers and nothing else; empty lines at its end do not count."""
    best, first, width = _Block(0, 0, 0, separator, decimal), 0, 0
    for k, line in enumerate([*lines, ""]):
        cells = _cells(line, separator)
        here = len(cells) if len(cells) >= 2 and all(_is_number(cell, decimal) for cell in cells) else 0
        if here != width:
            if width and k - first > best.rows:
                best = _Block(first, k - first, width, separator, decimal)
            first, width = k, here
    return best


def _cells(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return line.split()
    cells = [cell.strip().strip('"') for cell in line.split(separator)]
    while cells and not cells[-1]:
        cells.pop()
    if separator == "\t":
        cells = [cell for cell in cells if cell]  # two tabs in place of one occur in real files
    return cells


def _is_number(cell: str, decimal: str) -> bool:
    if decimal == ",":
        if "." in cell:
            return False
        cell = cell.replace(",", ".")
    return _NUMBER.fullmatch(cell) is not None


def _value(cell: str, decimal: str) -> float:
    text = cell.replace(",", ".") if decimal == "," else cell
    return float(re.sub("[dD]", "e", text) if re.search(r"\d[dD][-+]?\d", text) else text)


def _names(remarks: Sequence[str], block: _Block) -> list[str] | None:
    """From the last lines above the numbers that have as many cells as they; a line of units is added in brackets."""
    units: list[str] | None = None
    for line in [line for line in reversed(remarks) if line][:4]:
        cells = _name_cells(line, block)
        if cells is None:
            break
        if units is None and all(_UNIT.fullmatch(cell) for cell in cells):
            units = cells
            continue
        return _unique([_with_unit(name, unit) for name, unit in zip(cells, units or [""] * block.width, strict=True)])
    return None


def _name_cells(line: str, block: _Block) -> list[str] | None:
    ways = [block.separator, "\t", ";", ",", None] if block.separator is not None else [None, "\t", ";", ","]
    for way in ways:
        cells = _cells(line, way)
        if len(cells) == block.width and not all(_is_number(cell, ".") for cell in cells):
            return cells
    wide = [cell for cell in re.split(r"\s{2,}|\t", line.strip()) if cell]
    return wide if len(wide) == block.width else None


def _with_unit(name: str, unit: str) -> str:
    bare = unit.strip().strip("[]() ")
    return f"{name} ({bare})" if bare and bare != "-" and "(" not in name and "[" not in name else name


def _unique(names: Sequence[str]) -> list[str]:
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return found
