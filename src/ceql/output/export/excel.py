"""Writes a formula for a spreadsheet cell; columns A, B, ... hold the inputs, with the first data in row 2."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import accumulate

from ceql.errors import InputError
from ceql.expression import compile_numpy
from ceql.formula import Formula
from ceql.output.export.program_text import Dialect, program_text
from ceql.output.export.source import header

_ROW = 2
_LONGEST, _MOST_COLUMNS, _DEEPEST = 8192, 16384, 64  # Excel's limits: characters, columns, nesting
_DIGITS = 15  # Excel reads no more digits of a number


def _number(value: float) -> str:
    """The number to the last bit: digits beyond those that Excel reads are added as a second number."""
    if value != 0.0 and abs(value) < sys.float_info.min:
        raise InputError(f"The constant {value!r} is too small for a spreadsheet.")
    head = float(f"{value:.{_DIGITS}g}")
    if head == value:
        return _short(value)
    tail = value - head
    return f"({_short(head)}{'+' if tail > 0 else '-'}{_short(abs(tail))})"


def _short(value: float) -> str:
    return f"{value:.{_DIGITS}g}".replace("e", "E")


_DIALECT = Dialect(
    number=_number,
    call=lambda function, argument: function.call("excel", argument, function.name.upper()),
    power="{}^{}",
)
_NOTES = (
    "Put it beside the first data and fill it down. It is in the English notation: decimal points, names such as SQRT.",
    "Outside the domain a cell shows #NUM! or #DIV/0!.",
)


def write(formula: Formula, names: Sequence[str], target: str | None) -> str:
    if len(names) > _MOST_COLUMNS:
        raise InputError(
            f"A sheet has {_MOST_COLUMNS:,} columns and the model {len(names):,}: export to another language."
        )
    cells = [f"{column_letters(k)}{_ROW}" for k in range(len(names))]
    program = compile_numpy(formula.expression, formula.symbols)
    text = "=" + program_text(program, cells, _DIALECT).value
    depth = max(accumulate((character == "(") - (character == ")") for character in text))
    if len(text) > _LONGEST or depth > _DEEPEST:
        raise InputError(
            f"The formula is too long for a cell, which takes {_LONGEST:,} characters and {_DEEPEST} levels of "
            "parentheses: export a simpler row or to another language."
        )
    top = header(formula, names, cells, target, "#", _NOTES, inputs="Cells of the first data")
    return f"{top}{text}\n"


def column_letters(index: int) -> str:
    """The letters of a column: A, B, ..., Z, AA, AB, ..."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
