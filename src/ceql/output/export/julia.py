"""Julia: one function of numbers; `f.(x, y)` applies it to columns."""

from __future__ import annotations

from collections.abc import Sequence

from ceql.formula import Formula
from ceql.output.export.program_text import Dialect, plain_calls, words
from ceql.output.export.python import body
from ceql.output.export.source import plan

_DIALECT = Dialect(number=repr, call=plain_calls("julia"), power="{}^{}")
_WORDS = """
abstract baremodule begin break catch const continue do else elseif end export false finally for function global if
import in isa let local macro module mutable outer primitive public quote return struct true try type using var where
while float pi im missing nothing Inf NaN Float64 Int Base Core Main
"""
_RESERVED = frozenset(_WORDS.split())
_NOTE = (
    "Outside the domain (the logarithm, root or fractional power of a negative number, a sine of infinity) Julia "
    "throws a DomainError; a division by zero gives infinity or NaN. For columns: {function}.(...)."
)


def write(formula: Formula, names: Sequence[str], target: str | None) -> str:
    planned = plan(formula, names, target, _DIALECT, _RESERVED | words("julia"), "#", [_NOTE])
    floats = "".join(f"    {name} = float({name})\n" for name in planned.arguments)  # whole numbers would overflow
    arguments = ", ".join(planned.arguments)
    return f"{planned.top}\nfunction {planned.function}({arguments})\n{body(planned.text, floats)}end\n"
