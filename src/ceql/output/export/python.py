"""Plain Python for one row of numbers, with nothing but `math`.

`math` raises where NumPy gives NaN or infinity; small functions in front make it answer as `predict` does.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Sequence

from ceql.formula import Formula
from ceql.operators import functions
from ceql.operators.functions import ElementaryFunction
from ceql.output.export.program_text import Dialect, ProgramText
from ceql.output.export.source import Plan, folded, is_long, plan

KEYWORDS = frozenset({*keyword.kwlist, *keyword.softkwlist})


def _call(function: ElementaryFunction, argument: str) -> str:
    return f"_{function.name}({argument})" if function.python else function.call("python", argument, "math.{}")


_DIALECT = Dialect(number=repr, call=_call, power="_power({}, {})", divide="_divide({}, {})")
_RESERVED = KEYWORDS | {"math", "abs"}
_DIVIDE = """
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
"""
_POWER = """
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:
        return math.inf if a == 0 else math.nan
"""
_POWERS = {"integer_power", "real_power", "power"}
_NOTE = "One number for each input. NaN where the formula is undefined."


def write(formula: Formula, names: Sequence[str], target: str | None) -> str:
    planned = plan(formula, names, target, _DIALECT, _RESERVED, "#", [_NOTE])
    helpers = "".join(_helpers(planned))
    function = f"def {planned.function}({', '.join(planned.arguments)}):\n{body(planned.text)}"
    module = "import math\n" if "math." in helpers + function else ""
    return f"{planned.top}\n{module}{helpers}\n\n{function}"


def body(text: ProgramText, before: str = "", indent: str = "    ") -> str:
    """The lines of a Python function: variables, then the value."""
    lines = [assigned(f"{indent}{name} = ", value, indent) for name, value in text.variables]
    return before + "".join(lines) + assigned(f"{indent}return ", text.value, indent)


def assigned(start: str, value: str, indent: str) -> str:
    if not is_long(value):
        return f"{start}{value}\n"
    return f"{start}(\n{folded(value, indent + '    ')}\n{indent})\n"


def _helpers(planned: Plan) -> Iterator[str]:
    """What answers as NumPy does where `math` raises, as far as it is needed."""
    if "divide" in planned.operations:
        yield f"\n\ndef _divide(a, b):{_DIVIDE}"
    if planned.operations & _POWERS:
        yield f"\n\ndef _power(a, b):{_POWER}"
    for name in functions.names():
        body_of = functions.get(name).python
        if name in planned.functions and body_of is not None:
            yield f"\n\ndef _{name}(a):{body_of}"
