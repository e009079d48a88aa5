"""Plain Python for one row of numbers, with nothing but `math`.

`math` raises where NumPy gives NaN or infinity; small functions in front make it answer as `predict` does.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from ceql.export.program_text import Dialect, ProgramText
from ceql.export.source import Plan, folded, is_long, plan
from ceql.formula import Formula

KEYWORDS = frozenset({*keyword.kwlist, *keyword.softkwlist})
_DIALECT = Dialect(
    number=repr,
    functions={
        "log": "_log",
        "exp": "_exp",
        "sin": "_sin",
        "cos": "_cos",
        "tan": "_tan",
        "tanh": "math.tanh",
        "abs": "abs",
        "arcsin": "_arcsin",
        "arccos": "_arccos",
        "arctan": "math.atan",
        "sqrt": "_sqrt",
    },
    power="_power({}, {})",
    divide="_divide({}, {})",
)
_RESERVED = KEYWORDS | {"math", "abs"}
_HELPERS = {
    "_divide": """
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
""",
    "_power": """
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:
        return math.inf if a == 0 else math.nan
""",
    "_log": """
    if a > 0:
        return math.log(a)
    return -math.inf if a == 0 else math.nan
""",
    "_exp": """
    try:
        return math.exp(a)
    except OverflowError:
        return math.inf
""",
    "_sqrt": """
    return math.sqrt(a) if a >= 0 else math.nan
""",
    "_sin": """
    return math.sin(a) if math.isfinite(a) else math.nan
""",
    "_cos": """
    return math.cos(a) if math.isfinite(a) else math.nan
""",
    "_tan": """
    return math.tan(a) if math.isfinite(a) else math.nan
""",
    "_arcsin": """
    return math.asin(a) if -1 <= a <= 1 else math.nan
""",
    "_arccos": """
    return math.acos(a) if -1 <= a <= 1 else math.nan
""",
}
_OF_TWO = {"_divide", "_power"}
_POWERS = {"integer_power", "real_power", "power"}
_NOTE = "One number for each input. NaN where the formula is undefined."


def write(formula: Formula, names: Sequence[str], target: str | None) -> str:
    planned = plan(formula, names, target, _DIALECT, _RESERVED, "#", [_NOTE])
    helpers = "".join(f"\n\ndef {name}({_parameters(name)}):{_HELPERS[name]}" for name in _needed(planned))
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


def _parameters(helper: str) -> str:
    return "a, b" if helper in _OF_TWO else "a"


def _needed(planned: Plan) -> list[str]:
    used = {_DIALECT.functions[name] for name in planned.functions}
    used |= {"_divide"} if "divide" in planned.operations else set()
    used |= {"_power"} if planned.operations & _POWERS else set()
    return [name for name in _HELPERS if name in used]
