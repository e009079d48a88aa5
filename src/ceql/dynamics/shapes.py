"""The structure of a right-hand side, whatever its numbers and the order that SymPy gives its terms.

SymPy sorts terms by their numbers, so that the same sum fitted twice may be two expressions even with names for its
numbers. Its shape is the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sympy

from ceql.expression.constants.parametrise import structural_exponent

Shape = tuple[Any, ...]
_NUMBER: Shape = ("number",)


@lru_cache(maxsize=8192)
def shape_of(expression: Any) -> Shape:
    """Equal for expressions that differ in decimals alone."""
    if isinstance(expression, sympy.Float):
        return _NUMBER
    if not expression.args:
        return ("leaf", str(expression))
    if expression.is_Pow and isinstance(expression.exp, sympy.Float):
        whole = structural_exponent(float(expression.exp))
        return ("Pow", shape_of(expression.base), _NUMBER if whole is None else shape_of(whole))
    parts = [shape_of(argument) for argument in expression.args]
    if expression.is_Add or expression.is_Mul:
        parts.sort(key=repr)
    return (expression.func.__name__, *parts)
