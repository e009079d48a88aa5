"""The written length of numbers, short numbers near a given one, and factors that make many numbers short at once."""

from __future__ import annotations

import math

import numpy as np
from sympy import Float, Rational

from ceql.expression.algebra.simplify_policy import SIMPLIFY, SimplifyPolicy
from ceql.expression.symbolic import Expr

FULL_LENGTH = 17  # most digits that any number needs
DECIMALS = 100.0


def significant_digits(value: float) -> int:
    """Return the number of digits of the shortest decimal that reads back as ``value``: 0.25 has two, 100 has one."""
    if value == 0.0 or not math.isfinite(value):
        return 1
    mantissa = f"{abs(value):.16e}".split("e")[0].replace(".", "")
    digits = next(digits for digits in range(1, FULL_LENGTH + 1) if rounded(value, digits) == value)
    return len(mantissa[:digits].rstrip("0")) or digits


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
    """Return the number of digits of every constant of a formula, for each occurrence."""
    if not expr.args:
        return [number_length(expr)] if expr.is_number else []
    return [length for argument in expr.args for length in number_lengths(argument)]


def constants_length(expr: Expr) -> int:
    """Total digits of all constants of a formula."""
    return sum(number_lengths(expr))


def short_scales(coefficients: list[float], accuracy: float, policy: SimplifyPolicy = SIMPLIFY) -> list[float]:
    """Positive factors s such that all s*coefficients are multiples of 0.01, fewest digits first.

    With few coefficients or a loose accuracy some factor always fits; those are left out, because
    such digits would say nothing about the formula.
    """
    values = np.array([value for value in coefficients if value], dtype=np.float64)
    if len(values) < 2 or not np.all(np.isfinite(values)):
        return []
    sizes = np.abs(values)
    steps = np.arange(1, policy.largest_reference + 1, dtype=np.float64)
    factors = steps / (DECIMALS * sizes.min())
    hundredths = factors[:, None] * sizes[None, :] * DECIMALS
    nearest = np.round(hundredths)
    fits = np.abs(hundredths - nearest) <= accuracy * nearest
    fits &= (nearest >= 1.0) & (nearest <= policy.largest_coefficient)
    # Expected number of smaller factors that would fit by luck; the reference itself always fits.
    luck = np.sort(np.minimum(1.0, 2.0 * accuracy * nearest), axis=1)[:, 1:].prod(axis=1) * steps
    good = np.flatnonzero(np.all(fits, axis=1) & (luck <= policy.likely_chance))

    def digits(row: np.intp) -> int:
        return writing_cost([len(str(int(value)).rstrip("0")) for value in nearest[row]])

    ranked = sorted(good, key=lambda row: (digits(row), row))
    return [float(factors[row]) for row in ranked[: policy.most_scales]]


def writing_cost(lengths: list[int]) -> int:
    """Return all digits plus a charge for the longest number: 1.08 and 2.85 read better than 5.4 and 14.25."""
    return sum(lengths) + 2 * max(lengths, default=0)
