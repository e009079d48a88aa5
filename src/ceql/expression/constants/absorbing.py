"""Factors that a sum beside them can take in: 0.5*x*(2.1*x + 3.7) has a number too many."""

from __future__ import annotations

from sympy import Add, Float, Mul, Pow

from ceql.expression.complexity import node_count
from ceql.expression.symbolic import Expr


def with_factors_absorbed(expr: Expr) -> Expr:
    """The same with fewer numbers, where a sum that is multiplied or divided by a number can take it in."""

    def has_decimal_factor(part: Expr) -> bool:
        return isinstance(part, Mul) and isinstance(part.args[0], Float) and any(map(_is_sum, part.args[1:]))

    return expr.replace(has_decimal_factor, _absorbed)


def _absorbed(product: Expr) -> Expr:
    factor, *others = product.args
    forms = [product]
    for k, part in enumerate(others):
        if _is_sum(part):
            taken_in = _scaled(part, factor) if isinstance(part, Add) else _scaled(part.base, 1 / factor) ** -1
            forms.append(Mul(*others[:k], taken_in, *others[k + 1 :]))
    return min(forms, key=node_count)


def _is_sum(part: Expr) -> bool:
    return isinstance(part, Add) or (isinstance(part, Pow) and part.exp == -1 and isinstance(part.base, Add))


def _scaled(total: Expr, factor: Expr) -> Expr:
    return Add(*(factor * term for term in total.args))
