"""Writes formulas as text: with all digits, which `parse_formula` reads back, or with few digits for people."""

from __future__ import annotations

import re
from typing import Any

import sympy
from sympy.printing.str import StrPrinter

from ceql.expression.constants.rounding_policy import ROUNDING
from ceql.expression.text.tokens import written_name

_PLAIN = re.compile(r"[^\W\d][^-+*/^]*")  # other names could be mistaken for a number or a calculation


def readable_name(name: str) -> str:
    """Return the name as shown to people: in backticks if it could be mistaken for a number or a calculation."""
    return name if _PLAIN.fullmatch(name) else written_name(name)


class _Readable(StrPrinter):
    def _print_Symbol(self, expr: sympy.Symbol) -> str:
        return readable_name(expr.name)


class _Exact(StrPrinter):
    def _print_Float(self, expr: sympy.Float) -> str:
        return repr(float(expr))

    def _print_Symbol(self, expr: sympy.Symbol) -> str:
        return written_name(expr.name)

    def _print_Abs(self, expr: sympy.Abs) -> str:
        return f"abs({self._print(expr.args[0])})"

    def _print_Exp1(self, expr):  # pyright: ignore[reportIncompatibleMethodOverride]
        return "exp(1)"  # a column may be called e

    def _print_Pi(self, expr):  # pyright: ignore[reportIncompatibleMethodOverride]
        return "acos(-1)"  # or pi


def write_formula(expression: sympy.Expr) -> str:
    """Return the formula with all digits of every constant, and names that are not plain words in backticks."""
    return _Exact({"full_prec": True}).doprint(expression)


def with_decimals(expression: sympy.Expr) -> Any:
    """Replace fractions by decimals: known constants are kept as fractions, but are shown as 9.81, not 981/100."""
    long = [r for r in expression.atoms(sympy.Rational) if min(abs(r.p), r.q) > ROUNDING.largest_denominator]
    return expression.xreplace({number: sympy.Float(float(number)) for number in long}) if long else expression


def readable_text(expression: sympy.Basic) -> str:
    """Return the formula for people, with few digits, and names in backticks only where necessary."""
    return _Readable({"full_prec": False}).doprint(expression)


def in_words(name: str) -> str:
    """Return the name for formulas without quotation marks: one that looks like a number is called a column."""
    return name if _PLAIN.fullmatch(name) or not name[:1].isdigit() else f"column {name}"


def short_text(expression: sympy.Expr, digits: int = 3) -> str:
    """Return the expression with every decimal constant rounded to a few digits; not meant to be read back."""
    rounded = {number: sympy.Float(number, digits) for number in expression.atoms(sympy.Float)}
    return readable_text(expression.xreplace(rounded))
