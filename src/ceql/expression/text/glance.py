"""A formula at a glance, for a live display: few digits, one line."""

from __future__ import annotations

from typing import Any

import sympy


def short_text(expression: Any, digits: int = 3) -> str:
    """The expression with every decimal constant rounded to a few digits. Not meant to be read back."""
    rounded = {number: sympy.Float(number, digits) for number in expression.atoms(sympy.Float)}
    return sympy.sstr(expression.xreplace(rounded), full_prec=False)
