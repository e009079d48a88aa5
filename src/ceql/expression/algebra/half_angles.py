"""Writes 1 - cos(u) as 2*sin(u/2)**2 and 1 + cos(u) as 2*cos(u/2)**2, which do not lose digits near their zeros."""

from __future__ import annotations

from typing import Any

import sympy


def with_half_angles(expression: Any) -> Any:
    """Return the formula with these sums replaced by squares."""
    return expression.replace(lambda part: _square(part) is not None, _square)


def _square(total: Any) -> Any:
    if not total.is_Add or len(total.args) != 2:
        return None
    number, term = total.as_coeff_Add()
    factor, wave = term.as_coeff_Mul()
    if not isinstance(wave, sympy.cos) or abs(number) != abs(factor):
        return None
    half = wave.args[0] / sympy.Integer(2)
    return 2 * number * (sympy.cos(half) if number == factor else sympy.sin(half)) ** 2
