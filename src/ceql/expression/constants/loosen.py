"""Gives a finished formula its freedom back: numbers that rounding made whole can be fitted again."""

from __future__ import annotations

from sympy import Add, Float, Pow, Rational

from ceql.expression.symbolic import Expr


def loosened(expr: Expr) -> Expr:
    """The same formula with whole numbers and fractions as decimals, which a refit may change; exponents stay."""
    if isinstance(expr, Rational):
        return Float(expr)
    if not expr.args:
        return expr
    if isinstance(expr, Pow):
        return Pow(loosened(expr.base), expr.exp)
    if isinstance(expr, Add):
        return Add(*[_with_factor(loosened(term)) for term in expr.args])
    return expr.func(*[loosened(argument) for argument in expr.args])


def _with_factor(term: Expr) -> Expr:
    """A term without a number in front of it has the factor 1, which is free as well."""
    return term if term.as_coeff_Mul()[0] != 1 else Float(1.0) * term
