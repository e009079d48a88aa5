"""The type of formulas.

SymPy's own annotations promise only Basic for the parts of an expression, so a checker would refuse
every step of a tree walk; for it a formula may be anything, at run time it is SymPy's Expr.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# SymPy imports these two with its first sum and its first sine. An import in the middle of a fit would leave its lock
# behind in a process that another thread forks meanwhile.
import sympy.sets.setexpr
import sympy.tensor.tensor  # noqa: F401
from sympy import Add, Mul

if TYPE_CHECKING:
    Expr = Any
else:
    from sympy import Expr

__all__ = ["Expr", "factors_of", "terms_of"]


def terms_of(expr: Expr) -> tuple[Expr, ...]:
    """The terms of a sum; anything else is its own only term."""
    return Add.make_args(expr)


def factors_of(expr: Expr) -> tuple[Expr, ...]:
    """The factors of a product; anything else is its own only factor."""
    return Mul.make_args(expr)
