"""Exponents that are simple fractions, written as such: a power of a fitted logarithm comes with a decimal one."""

from __future__ import annotations

from fractions import Fraction

from sympy import Float, Pow, Rational

from ceql.expression.symbolic import Expr

_LARGEST_DENOMINATOR = 6


def with_simple_exponents(expr: Expr, accuracy: float) -> Expr:
    """The same with x**0.5 as a square root, and so on, where the exponent is that fraction to the given accuracy."""

    def is_decimal(part: Expr) -> bool:
        return isinstance(part, Pow) and isinstance(part.exp, Float)

    return expr.replace(is_decimal, lambda power: power.base ** _simple(power.exp, accuracy))


def _simple(exponent: Float, accuracy: float) -> Expr:
    value = float(exponent)
    near = Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
    if near and abs(value - float(near)) <= 100.0 * accuracy * abs(value):
        return Rational(near.numerator, near.denominator)
    return exponent
