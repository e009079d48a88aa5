"""Formulas as text: all digits, which `parse_formula` reads back, or a few for a glance."""

from __future__ import annotations

import re
from typing import Any

import sympy
from sympy.printing.str import StrPrinter

from ceql.expression.constants.rounding_policy import ROUNDING
from ceql.expression.text.tokens import written_name

_PLAIN = re.compile(r"[^\W\d][^-+*/^]*")  # other names could be taken for a number or a calculation


def readable_name(name: str) -> str:
    """The name as people read it in a formula: in backticks where it could be taken for a number, such as `0`."""
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
    """All digits of every constant; names that are no plain words in backticks."""
    return _Exact({"full_prec": True}).doprint(expression)


def with_decimals(expression: sympy.Expr) -> Any:
    """Known constants are kept as fractions so that nothing moves them; 9.81 is still read as 9.81, not as 981/100."""
    long = [r for r in expression.atoms(sympy.Rational) if min(abs(r.p), r.q) > ROUNDING.largest_denominator]
    return expression.xreplace({number: sympy.Float(float(number)) for number in long}) if long else expression


def readable_text(expression: sympy.Basic) -> str:
    """For people, with few digits and names as they are where that is clear."""
    return _Readable({"full_prec": False}).doprint(expression)


def in_words(name: str) -> str:
    """The name where formulas have no quotation marks: one that looks like a number is called a column."""
    return name if _PLAIN.fullmatch(name) or not name[:1].isdigit() else f"column {name}"


def short_text(expression: sympy.Expr, digits: int = 3) -> str:
    """The expression with every decimal constant rounded to a few digits. Not meant to be read back."""
    rounded = {number: sympy.Float(number, digits) for number in expression.atoms(sympy.Float)}
    return readable_text(expression.xreplace(rounded))
