"""What rounding may do to a formula: where large terms cancel, as in 1 - cos(x), it is a share of these terms."""

from __future__ import annotations

from sympy import Abs

from ceql.expression.symbolic import Expr


def of_its_terms(expression: Expr) -> Expr:
    """The formula with all terms of its sums made positive."""
    if expression.is_Add or expression.is_Mul:
        return expression.func(*map(of_its_terms, expression.args))
    # As it stands: SymPy writes the size of an exponential as that of a complex number, with an angle in it.
    return Abs(expression) if expression.is_Number else Abs(expression, evaluate=False)
