"""Evaluates a formula of a spreadsheet as Excel does: a minus sign binds tightest, ^ goes from left to right, numbers
have 15 digits, and NaN stands for #NUM! and #DIV/0!."""

from __future__ import annotations

import math
import re

_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:E[+-]?\d+)?)|([A-Z]+\d+)|([A-Z]+)(?=\()|([-+*/^()]))")
_FUNCTIONS = {
    "LN": math.log,
    "EXP": math.exp,
    "SIN": math.sin,
    "COS": math.cos,
    "TAN": math.tan,
    "TANH": math.tanh,
    "ABS": abs,
    "ASIN": math.asin,
    "ACOS": math.acos,
    "ATAN": math.atan,
    "SQRT": math.sqrt,
    "SINH": math.sinh,
    "COSH": math.cosh,
    "SIGN": lambda a: float((a > 0) - (a < 0)),
}


class _Refused(Exception):
    """The cell shows an error."""


def value(text: str, cells: dict[str, float]) -> float:
    assert text.startswith("=")
    try:
        return _Cell(text[1:], cells).value()
    except (_Refused, ZeroDivisionError, ValueError, OverflowError):
        return math.nan


class _Cell:
    def __init__(self, text: str, cells: dict[str, float]) -> None:
        self.tokens, self.cells, position = [], cells, 0
        while position < len(text.rstrip()):
            match = _TOKEN.match(text, position)
            assert match, text[position:]
            self.tokens.append(match.groups())
            position = match.end()
        self.tokens.append((None,) * 4)

    def value(self) -> float:
        result = self.sum()
        assert self.tokens == [(None,) * 4]
        return result

    def sees(self, marks: str) -> bool:
        return self.tokens[0][3] is not None and self.tokens[0][3] in marks

    def sum(self) -> float:
        result = self.product()
        while self.sees("+-"):
            sign = self.tokens.pop(0)[3]
            other = self.product()
            result = finite(result + other if sign == "+" else result - other)
        return result

    def product(self) -> float:
        result = self.power()
        while self.sees("*/"):
            sign = self.tokens.pop(0)[3]
            other = self.power()
            result = finite(result * other if sign == "*" else result / other)
        return result

    def power(self) -> float:
        result = self.signed()
        while self.sees("^"):
            self.tokens.pop(0)
            result = finite(math.pow(result, self.signed()))
        return result

    def signed(self) -> float:
        if self.sees("-"):
            self.tokens.pop(0)
            return -self.signed()
        number, cell, function, mark = self.tokens.pop(0)
        if number:
            return float(f"{float(number):.15g}")
        if cell:
            return self.cells[cell]
        if function:
            self.tokens.pop(0)
        else:
            assert mark == "("
        inner = self.sum()
        assert self.tokens.pop(0)[3] == ")"
        return finite(_FUNCTIONS[function](inner)) if function else inner


def finite(number: float) -> float:
    if not math.isfinite(number):
        raise _Refused
    return number
