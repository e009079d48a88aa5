"""Julia: one function of numbers; `f.(x, y)` applies it to columns."""

from __future__ import annotations

from collections.abc import Sequence

from ceql.export.program_text import Dialect
from ceql.export.python import body
from ceql.export.source import header, plan
from ceql.formula import Formula

_FUNCTIONS = {
    "log": "log",
    "exp": "exp",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "tanh": "tanh",
    "abs": "abs",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "sqrt": "sqrt",
}
_DIALECT = Dialect(number=repr, functions=_FUNCTIONS, power="{}^{}")
_WORDS = """
abstract baremodule begin break catch const continue do else elseif end export false finally for function global if
import in isa let local macro module mutable outer primitive public quote return struct true try type using var where
while float pi im missing nothing Inf NaN Float64 Int Base Core Main
"""
_RESERVED = frozenset(_WORDS.split()) | set(_FUNCTIONS.values())
_NOTE = (
    "Outside the domain (the logarithm, root or fractional power of a negative number, a sine of infinity) Julia "
    "throws a DomainError; a division by zero gives infinity or NaN. For columns: {}.(...)."
)


def write(formula: Formula, names: Sequence[str], target: str | None) -> str:
    planned = plan(formula, names, target, _DIALECT, _RESERVED)
    top = header(formula, names, planned.arguments, target, "#", [_NOTE.format(planned.function)])
    floats = "".join(f"    {name} = float({name})\n" for name in planned.arguments)  # whole numbers would overflow
    return f"{top}\nfunction {planned.function}({', '.join(planned.arguments)})\n{body(planned.text, floats)}end\n"
