"""Text as written by laboratory software: odd encodings, remarks before the numbers, decimal commas, lines of units.

The longest block of rows with equally many numbers is the table; the lines directly above it name its columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ceql.errors import InputError
from ceql.frf.formats.column_names import told_apart

_SEPARATORS = ("\t", ";", "|", None, ",")  # None stands for blanks
_REAL = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?"
_NUMBER = re.compile(rf"{_REAL}|[-+]?(?:nan|inf|infinity)", re.IGNORECASE)
_COMPLEX = re.compile(rf"\(?\s*({_REAL})\s*([-+]\s*{_REAL[5:]})\s*\*?[ij]\s*\)?", re.IGNORECASE)
_COMMENT = re.compile(r"^\s*(?:[#%!*\"']|//)+\s*")
# Units in a line of units, after removing brackets, blanks and carets.
_UNIT = re.compile(
    r"[kmg]?hz|db.*|deg(?:rees?)?|°|rad(?:/s)?|s|sec|[mµu]s|n|kn|lbf|-|lin|g|v|1/kg|"
    r"(?:(?:[nµum]?m|g|v|in)(?:/s[²2]?)?)(?:/(?:[mk]?n|lbf|v|g|m/s[²2]))?",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"\[[^\[\]]*\]|\([^()]*\)")
_PEEKED = 4096  # bytes read to recognise text
_LEAST_ROWS = 3
_ALIKE = 0.5  # shorter tables than this share of the longest one are ignored
_ENCODINGS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, eq=False)
class LabText:
    """A table and the remarks above it; columns without a name are numbered from 1."""

    remarks: tuple[str, ...]
    table: pd.DataFrame
    named: bool


def decoded(path: Path, encoding: str = "") -> str:
    """The text in the given encoding, or in the one that its first bytes indicate, otherwise in UTF-8 or cp1252."""
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
    raise InputError(f"{path} is not text in a known encoding: use --encoding NAME, such as --encoding utf-16.")


def holds_a_table(path: Path, encoding: str = "") -> bool:
    """Whether a file is text with rows of numbers, whatever its name."""
    with path.open("rb") as file:
        raw = file.read(_PEEKED)
    marked = encoding or any(raw.startswith(mark) for mark, _ in _ENCODINGS)
    if not marked and any(byte < 32 and byte not in b"\t\n\r\f" for byte in raw):
        return False
    try:
        return bool(read_lab_text(path, encoding))
    except InputError:
        return False


def read_lab_text(path: Path, encoding: str = "") -> list[LabText]:
    """The tables of a file: the longest one, and others of the same width and similar length."""
    lines = decoded(path, encoding).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    ways = [(separator, decimal) for separator in _SEPARATORS for decimal in ".," if separator != decimal]
    found = [_blocks(lines, separator, decimal) for separator, decimal in ways]
    blocks = max(found, key=lambda own: max(((block.rows, block.width) for block in own), default=(0, 0)))
    best = max(blocks, key=lambda block: (block.rows, block.width), default=None)
    if best is None or best.rows < _LEAST_ROWS:
        raise InputError(
            f"{path} holds no table: no {_LEAST_ROWS} lines in a row have equally many numbers, at least two each. "
            "Export it as text with one frequency per line."
        )
    alike = [block for block in blocks if block.width == best.width and block.rows >= _ALIKE * best.rows]
    ends = [0, *(block.first + block.rows for block in alike)]
    tables = [_table(lines, block, above) for block, above in zip(alike, ends, strict=False)]
    header = next((own for own in tables if own.named), tables[0])
    return [own if own.named else _named_like(own, header) for own in tables]


def _table(lines: Sequence[str], block: _Block, above: int) -> LabText:
    """The table of a block; the lines since the previous block are its remarks."""
    cells = [_cells(line, block.separator)[: block.width] for line in lines[block.first : block.first + block.rows]]
    remarks = [_COMMENT.sub("", line).strip() for line in lines[above : block.first]]
    names = _names(remarks, block)
    columns: dict[str, list[float]] = {}
    for name, column in zip(names or map(str, range(1, block.width + 1)), zip(*cells, strict=True), strict=True):
        values = [_value(cell, block.decimal) for cell in column]
        if any(isinstance(value, complex) for value in values):
            columns[f"Re({name})"], columns[f"Im({name})"] = ([complex(v).real for v in values],
                                                              [complex(v).imag for v in values])  # fmt: skip
        else:
            columns[name] = [float(value.real) for value in values]
    return LabText(tuple(line for line in remarks if line), pd.DataFrame(columns), names is not None)


def _named_like(own: LabText, header: LabText) -> LabText:
    """The table with the column names of another one, for tables of a file that do not repeat the names."""
    return LabText(own.remarks, own.table.set_axis(header.table.columns, axis=1), header.named)


@dataclass(frozen=True)
class _Block:
    first: int
    rows: int
    width: int
    separator: str | None
    decimal: str


def _blocks(lines: Sequence[str], separator: str | None, decimal: str) -> list[_Block]:
    """The runs of lines that consist of equally many numbers, in the order of the file."""
    found, first, width = [], 0, 0
    for k, line in enumerate([*lines, ""]):
        cells = _cells(line, separator)
        here = len(cells) if len(cells) >= 2 and all(_is_number(cell, decimal) for cell in cells) else 0
        if here != width:
            if width and k - first >= _LEAST_ROWS:
                found.append(_Block(first, k - first, width, separator, decimal))
            first, width = k, here
    return found


def _cells(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return line.split()
    cells = [cell.strip().strip('"') for cell in line.split(separator)]
    while cells and not cells[-1]:
        cells.pop()
    if separator == "\t":
        cells = [cell for cell in cells if cell]  # real files may have two tabs in place of one
    return cells


def _is_number(cell: str, decimal: str) -> bool:
    if decimal == ",":
        if "." in cell:
            return False
        cell = cell.replace(",", ".")
    return _NUMBER.fullmatch(cell) is not None or _COMPLEX.fullmatch(cell) is not None


def _value(cell: str, decimal: str) -> float | complex:
    text = cell.replace(",", ".") if decimal == "," else cell
    parts = _COMPLEX.fullmatch(text)
    if parts:
        return complex(*(float(re.sub("[dD]", "e", part.replace(" ", ""))) for part in parts.groups()))
    return float(re.sub("[dD]", "e", text) if re.search(r"\d[dD][-+]?\d", text) else text)


def _names(remarks: Sequence[str], block: _Block) -> list[str] | None:
    """Column names from the lines directly above the numbers, with units added in brackets; None if there are none."""
    units: list[str] | None = None
    for line in [line for line in reversed(remarks) if line][:4]:
        cells = _name_cells(line, block)
        if cells is None:
            break
        if units is None and all(_is_unit(cell) for cell in cells):
            units = cells
            continue
        return told_apart(
            [_with_unit(name, unit) for name, unit in zip(cells, units or [""] * block.width, strict=True)]
        )
    return None


def _name_cells(line: str, block: _Block) -> list[str] | None:
    ways = [block.separator, "\t", ";", ",", None] if block.separator is not None else [None, "\t", ";", ","]
    for way in ways:
        cells = _cells(line, way)
        if len(cells) == block.width and not all(_is_number(cell, ".") for cell in cells):
            return cells
    wide = [cell for cell in re.split(r"\s{2,}|\t", line.strip()) if cell]
    return wide if len(wide) == block.width else None


def _is_unit(cell: str) -> bool:
    return bool(_BRACKETED.fullmatch(cell.strip()) or _UNIT.fullmatch(re.sub(r"[\s\[\]()^*·]", "", cell)))


def _with_unit(name: str, unit: str) -> str:
    bare = unit.strip()
    bare = bare[1:-1].strip() if _BRACKETED.fullmatch(bare) or re.fullmatch(r"\[.*\]", bare) else bare
    return f"{name} [{bare}]" if bare and bare != "-" and "(" not in name and "[" not in name else name
