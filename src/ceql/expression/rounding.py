"""The scale of rounding errors of a formula: where large terms cancel, as in 1 - cos(x), it is that of the terms."""

from __future__ import annotations

from sympy import Abs

from ceql.expression.symbolic import Expr


def of_its_terms(expression: Expr) -> Expr:
    """Return the formula with all terms of its sums made positive."""
    if expression.is_Add or expression.is_Mul:
        return expression.func(*map(of_its_terms, expression.args))
    # Unevaluated, since SymPy would write the absolute value of an exponential with the angle of a complex number.
    return Abs(expression) if expression.is_Number else Abs(expression, evaluate=False)
