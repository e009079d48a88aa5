"""Fortran 2003: a module with one elemental function in double precision."""

from __future__ import annotations

from collections.abc import Sequence

from ceql.formula import Formula
from ceql.output.export.identifiers import safe_name
from ceql.output.export.program_text import Dialect, plain_calls, words
from ceql.output.export.source import folded, plan


def _number(value: float) -> str:
    text = repr(value)
    return text.replace("e", "d") if "e" in text else f"{text}d0"


_DIALECT = Dialect(number=_number, call=plain_calls("fortran"))
# Fortran reserves nothing, but an argument called `exp` would hide the function of that name.
_WORDS = """
dp result value module contains function end implicit none real integer parameter kind intent in out pure elemental
program subroutine use only public private if then else do while select case where call return stop data common save
print write read open close inquire format entry type class allocate block double precision logical character complex
"""
_RESERVED = frozenset(_WORDS.split())
_NOTE = (
    "Outside the domain (the logarithm or root of a negative number, a division by zero) the standard leaves the "
    "result open; compilers give NaN or infinity unless told to trap."
)


def write(formula: Formula, names: Sequence[str], target: str | None) -> str:
    reserved = _RESERVED | words("fortran")
    planned = plan(formula, names, target, _DIALECT, reserved, "!", [_NOTE], any_case=True)
    taken = {*planned.arguments, planned.function, *reserved}
    module = safe_name(f"{planned.function}_module", taken, any_case=True)
    arguments = ", ".join(planned.arguments)
    variables = [name for name, _ in planned.text.variables]
    lines = [
        f"module {module}",
        "  implicit none",
        "  integer, parameter :: dp = kind(1.0d0)",
        "contains",
        _statement(f"elemental function {planned.function}({arguments}) result(value)", "  "),
        _statement(f"real(dp), intent(in) :: {arguments}", "    "),
        _statement(f"real(dp) :: {', '.join([*variables, 'value'])}", "    "),
        *(_statement(f"{name} = {text}", "    ") for name, text in planned.text.variables),
        _statement(f"value = {planned.text.value}", "    "),
        f"  end function {planned.function}",
        f"end module {module}",
    ]
    return f"{planned.top}\n" + "\n".join(lines) + "\n"


def _statement(text: str, indent: str) -> str:
    return folded(text, indent, more=" &")
