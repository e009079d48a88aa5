"""Writes a formula as LaTeX with all digits of the constants, for a document."""

from __future__ import annotations

import re
from collections.abc import Sequence

import sympy
from sympy.core.alphabets import greeks
from sympy.printing.latex import LatexPrinter

from ceql.expression.text.write import in_words
from ceql.formula import Formula
from ceql.groups.grouped_formula import GroupedFormula
from ceql.output.export.source import header

_ESCAPES = {sign: f"\\{sign}" for sign in "{}_%&#$ "} | {"\\": r"\backslash ", "^": r"\hat{}", "~": r"\sim "}
# Names that SymPy typesets well: a letter or a Greek name with a number or a word as index. Others are set upright.
_PLAIN = re.compile(rf"([A-Za-z]|{'|'.join(greeks)})(_?\d+|_[A-Za-z]+)?")


class _Exact(LatexPrinter):
    def _print_Float(self, expr: sympy.Float) -> str:
        mantissa, _, exponent = repr(float(expr)).partition("e")
        mantissa = mantissa.removesuffix(".0")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def write(formula: Formula, names: Sequence[str], target: str | None) -> str:
    written = symbol_names([*names, *([target] if target else [])])
    right = value_in_latex(formula, written)
    top = header(formula, names, written[: len(names)], target, "%")
    return f"{top}{written[-1]} = {right}\n" if target else f"{top}{right}\n"


def value_in_latex(formula: Formula, written: Sequence[str]) -> str:
    """The formula without its target; `written` are the names of its columns in LaTeX."""
    by_symbol = dict(zip(formula.symbols, written, strict=False))
    if isinstance(formula, GroupedFormula):
        by_symbol |= formula.marks_in_latex()
    return _Exact({"symbol_names": by_symbol}).doprint(formula.expression)


def symbol_names(names: Sequence[str]) -> list[str]:
    """Each name in LaTeX; names that SymPy would typeset alike are set letter by letter."""
    nice = [LatexPrinter().doprint(sympy.Symbol(name)) if _PLAIN.fullmatch(name) else None for name in names]
    escaped = ("".join(_ESCAPES.get(c, c if c.isprintable() else r"\ ") for c in in_words(name)) for name in names)
    return [
        look if look is not None and nice.count(look) == 1 else rf"\mathrm{{{upright}}}"
        for look, upright in zip(nice, escaped, strict=True)
    ]
