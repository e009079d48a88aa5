"""Gives a finished formula its freedom back: numbers that rounding made whole can be fitted again."""

from __future__ import annotations

from sympy import Float, Pow, Rational

from ceql.expression.symbolic import Expr


def loosened(expr: Expr) -> Expr:
    """The same formula with whole numbers and fractions as decimals, which a refit may change; exponents stay."""
    if isinstance(expr, Rational):
        return Float(expr)
    if not expr.args:
        return expr
    if isinstance(expr, Pow):
        return Pow(loosened(expr.base), expr.exp)
    return expr.func(*[loosened(argument) for argument in expr.args])
