"""The criterion by which the paper's authors call a formula of their ablation recovered.

Both formulas are written as one fraction whose denominator has the leading coefficient 1. The formula is recovered if
every coefficient of (its numerator times the true denominator minus the true numerator times its denominator) rounds to
zero at two decimals. This is weaker than our own `exact`, which requires constants within 1e-6; the two are never mixed
in a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

DECIMALS = 2
_DIGITS = 5  # the decimals to which the authors round constants
_MOST_NODES = 400  # larger formulas are not written as one fraction; the authors' had at most 57 nodes


def is_recovered(found: Any, truth: Any, symbols: Sequence[Any]) -> bool:
    """Whether the formula is recovered by the authors' criterion; the truth must be rational."""
    if sum(1 for _ in sympy.preorder_traversal(found)) > _MOST_NODES:
        return False
    (above, below), (true_above, true_below) = (_fraction(e, symbols) for e in (found, truth))
    residual = sympy.Poly(above * true_below - true_above * below, *_letters(above, below, true_above, true_below))
    return all(abs(float(c)) < 0.5 * 10.0**-DECIMALS for c in residual.coeffs())


def _fraction(expression: Any, symbols: Sequence[Any]) -> tuple[Any, Any]:
    """The numerator and denominator over the rationals, expanded; logs and roots count as additional symbols."""
    exact = expression.xreplace(
        {f: sympy.Rational(str(round(float(f), _DIGITS))) for f in expression.atoms(sympy.Float)}
    )
    lettered = exact.replace(_is_no_fraction, _letter)
    above, below = (sympy.expand(part) for part in sympy.fraction(sympy.together(lettered)))
    lead = sympy.Poly(below, *symbols).LC() if below.free_symbols <= set(symbols) else sympy.Integer(1)
    return sympy.expand(above / lead), sympy.expand(below / lead)


def _is_no_fraction(expression: Any) -> bool:
    is_root = expression.is_Pow and not expression.exp.is_Integer and bool(expression.free_symbols)
    return is_root or isinstance(expression, sympy.Function)


def _letter(expression: Any) -> Any:
    return sympy.Symbol(f"letter<{expression}>")


def _letters(*parts: Any) -> list[Any]:
    letters = set().union(*(part.free_symbols for part in parts))
    return sorted(letters, key=str) or [sympy.Symbol("x1")]
