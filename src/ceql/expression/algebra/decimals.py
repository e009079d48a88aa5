"""How long a number is to write, and the short numbers near a given one."""

from __future__ import annotations

import math

from sympy import Float, Rational

from ceql.expression.symbolic import Expr

FULL_LENGTH = 17


def significant_digits(value: float) -> int:
    """Digits of the shortest decimal that reads back as ``value``: 0.25 has two, 100 has one."""
    if value == 0.0 or not math.isfinite(value):
        return 1
    mantissa = f"{abs(value):.16e}".split("e")[0].replace(".", "")
    for digits in range(1, FULL_LENGTH + 1):
        if float(f"{value:.{digits - 1}e}") == value:
            return len(mantissa[:digits].rstrip("0")) or digits
    return FULL_LENGTH


def rounded(value: float, digits: int) -> float:
    """The nearest decimal with that many significant digits."""
    return float(f"{value:.{digits - 1}e}")


def number_length(number: Expr) -> int:
    if isinstance(number, Float):
        return significant_digits(float(number))
    if isinstance(number, Rational):
        return len(str(abs(number.p))) + (len(str(number.q)) if number.q != 1 else 0)
    return 1


def number_lengths(expr: Expr) -> list[int]:
    """Digits of every constant of a formula, each occurrence counted."""
    if not expr.args:
        return [number_length(expr)] if expr.is_number else []
    return [length for argument in expr.args for length in number_lengths(argument)]


def constants_length(expr: Expr) -> int:
    """Total digits of all constants of a formula."""
    return sum(number_lengths(expr))
