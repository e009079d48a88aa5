"""Writes the formulas of a search as a text table that fits the terminal; the chosen row is marked, and long formulas
wrap.
"""

from __future__ import annotations

import math
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ceql.discovery import Discovery
from ceql.formula import Formula

CHOSEN = "*"  # marks the chosen row
_LEAST_FORMULA = 36  # characters that a formula should have; columns are dropped to make room
_GIVE_WAY = ("held out", "law", "weight", "R2", "size")  # columns dropped in a narrow terminal, in this order
_BREAK = re.compile(r"(?<=[^\s(e]) (?=[+-] )|(?<=[^*(])(?=\*[^*])|(?<=/)|(?<=, )")  # where a formula may be broken
_UNKNOWN = "-"


@dataclass(frozen=True)
class Column:
    """A column: its heading and the text of every row."""

    name: str
    cells: tuple[str, ...]

    @property
    def width(self) -> int:
        return max(len(cell) for cell in (self.name, *self.cells))


def terminal_width() -> int | None:
    """The width of the terminal; None if the output is not a terminal, so that formulas are not wrapped."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def front_table(discovery: Discovery, rows: Sequence[int], laws: Sequence[str], width: int | None) -> list[str]:
    """The heading, then one text for each row, which may have several lines; `width` is the width of the terminal."""
    formulas = [discovery.formulas[row] for row in rows]
    columns = _columns(discovery, rows, formulas, laws)
    if width is not None:
        columns = _that_fit(columns, width)
    room = None if width is None else max(width - _total(columns), _LEAST_FORMULA // 2)
    marks = [CHOSEN if row == discovery.chosen else " " for row in rows]
    heading = _line(" ", columns, None) + "formula"
    return [heading, *(_row(marks[k], columns, k, str(formula), room) for k, formula in enumerate(formulas))]


def _columns(
    discovery: Discovery, rows: Sequence[int], formulas: Sequence[Formula], laws: Sequence[str]
) -> list[Column]:
    is_square = all(formula.surprise is None for formula in formulas)
    errors = [math.sqrt(formula.loss) if is_square else formula.loss for formula in formulas]
    columns = {
        "row": [str(row) for row in rows],
        "size": [str(formula.complexity) for formula in formulas],
        "RMSE" if is_square else "loss": [f"{error:.4g}" for error in errors],
        "R2": _numbers(discovery.r2, rows),
        "held out": _numbers(discovery.r2_cv, rows),
        "weight": _shares(discovery.weights, rows),
        "law": laws,
    }
    return [
        Column(name, tuple(cells)) for name, cells in columns.items() if any(c not in ("", _UNKNOWN) for c in cells)
    ]


def _numbers(values: Sequence[float], rows: Iterable[int]) -> list[str]:
    known = [values[row] if values else math.nan for row in rows]
    return [f"{round(value, 5) + 0.0:.5g}" if math.isfinite(value) else _UNKNOWN for value in known]


def _shares(values: Sequence[float], rows: Iterable[int]) -> list[str]:
    """The weights of these rows in percent; a positive one below one percent is shown as <1 %."""
    known = [values[row] if values else math.nan for row in rows]
    return [_UNKNOWN if not math.isfinite(v) else "<1 %" if 0.0 < v < 0.01 else f"{v:.0%}"[:-1] + " %" for v in known]


def _that_fit(columns: list[Column], width: int) -> list[Column]:
    """The columns without those that leave the formula too little room."""
    for name in _GIVE_WAY:
        if width - _total(columns) >= _LEAST_FORMULA:
            break
        columns = [column for column in columns if column.name != name]
    return columns


def _total(columns: Sequence[Column]) -> int:
    return 2 + sum(column.width + 2 for column in columns)


def _line(mark: str, columns: Sequence[Column], row: int | None) -> str:
    """A line without its formula; numbers are aligned to the right, names to the left."""
    cells = [(column, column.name if row is None else column.cells[row]) for column in columns]
    texts = (f"{text:{'<' if column.name == 'law' else '>'}{column.width}}" for column, text in cells)
    return f"{mark} " + "".join(f"{text}  " for text in texts)


def _row(mark: str, columns: Sequence[Column], row: int, formula: str, room: int | None) -> str:
    first, *others = [formula] if room is None else wrapped(formula, room)
    indent = " " * (_total(columns) + 2)
    return "\n".join([(_line(mark, columns, row) + first).rstrip(), *(indent + line for line in others)])


def wrapped(formula: str, width: int) -> list[str]:
    """The formula wrapped at its terms and factors to lines of at most this width; later lines are two shorter, for the
    indent.
    """
    lines, line = [], ""
    for piece in _BREAK.split(formula):
        joined = f"{line} {piece}" if line and piece[:2] in ("+ ", "- ") else line + piece
        if line and len(joined) > width - (2 if lines else 0):
            lines.append(line)
            joined = piece
        line = joined
    return [*lines, line]
