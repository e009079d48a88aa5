"""The type of formulas.

SymPy's own annotations promise only Basic for the parts of an expression, so a type checker would
reject every step of a tree walk. To the checker a formula is Any; at run time it is SymPy's Expr.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# SymPy imports these with its first comparison, sum and sine. If another thread forked during such an import, the new
# process would keep its lock for ever.
import sympy.assumptions.wrapper
import sympy.sets.setexpr
import sympy.tensor.tensor  # noqa: F401
from sympy import Add, E, Mul, Pow

if TYPE_CHECKING:
    Expr = Any
else:
    from sympy import Expr

__all__ = ["Expr", "above_and_below", "factors_of", "terms_of"]


def terms_of(expr: Expr) -> tuple[Expr, ...]:
    """Return the terms of a sum; anything else is its own only term."""
    return Add.make_args(expr)


def above_and_below(product: Expr) -> tuple[list[Expr], list[Expr]]:
    """Return the factors of numerator and denominator; the latter with positive exponents."""
    above, below = [], []
    for factor in Mul.make_args(product):
        base, exponent = factor.as_base_exp()
        divides = base is not E and exponent.is_number and exponent.is_negative
        (below if divides else above).append(Pow(base, -exponent) if divides else factor)
    return above, below


def factors_of(expr: Expr) -> tuple[Expr, ...]:
    """Return the factors of a product; anything else is its own only factor."""
    return Mul.make_args(expr)
