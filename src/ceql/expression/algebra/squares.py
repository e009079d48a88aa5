"""Roots of perfect squares: the values of a square do not show the sign of its root, but often its form does."""

from __future__ import annotations

import itertools
from math import prod

from sympy import Add, Mul, Poly, PolynomialError, Pow, Symbol, sqrt

from ceql.expression.algebra.polynomial import Poly as Terms
from ceql.expression.algebra.polynomial import times
from ceql.expression.algebra.simplify_policy import SIMPLIFY, SimplifyPolicy
from ceql.expression.symbolic import Expr


def signed_root(expr: Expr, policy: SimplifyPolicy = SIMPLIFY) -> Expr:
    """Return the square root of a fraction; for parts that are squares of polynomials, the polynomial with its sign."""
    above, below = expr.as_numer_denom()
    symbols = sorted(expr.free_symbols, key=lambda symbol: symbol.name)
    for sign in (1, -1):  # both parts may be negative
        roots = [root_of_square(sign * part, symbols, policy) for part in (above, below)]
        if any(root is not None for root in roots):
            over, under = (sqrt(sign * part) if r is None else r for part, r in zip((above, below), roots, strict=True))
            return over / under
    return sqrt(expr)


def root_of_square(expr: Expr, symbols: list[Symbol], policy: SimplifyPolicy = SIMPLIFY) -> Expr | None:
    """Return the polynomial whose square this is, with a positive leading coefficient; None if there is none."""
    if not symbols or not expr.free_symbols or _terms_of(expr) > policy.most_terms_of_square:
        return None
    try:
        square = Poly(expr, *symbols)
    except PolynomialError:
        return None
    terms: Terms = {tuple(powers): float(number) for powers, number in square.terms()}
    first = max(terms)
    if any(power % 2 for power in first) or terms[first] <= 0.0:
        return None
    lead = tuple(power // 2 for power in first)
    size = terms[first] ** 0.5
    root = {lead: size}
    # Each further term of the root follows from its product with the leading one, which is a term of the square.
    for powers in sorted(terms, reverse=True):
        other = tuple(a - b for a, b in zip(powers, lead, strict=True))
        if powers == first or min(other) < 0 or other in root:
            continue
        crossed = sum(
            a * b for p, a in root.items() for q, b in root.items() if lead not in (p, q) and times(p, q) == powers
        )
        value = (terms[powers] - crossed) / (2.0 * size)
        if abs(value) > policy.same_coefficients * abs(terms[powers]) / (2.0 * size):
            root[other] = value
    return Poly.from_dict(root, *symbols).as_expr() if _is_square(root, terms, policy.same_coefficients) else None


def _terms_of(expr: Expr) -> float:
    """Return the largest number of terms that it can have when multiplied out."""
    if isinstance(expr, Add):
        return sum(map(_terms_of, expr.args))
    if isinstance(expr, Mul):
        return prod(map(_terms_of, expr.args))
    if isinstance(expr, Pow) and expr.exp.is_Integer and expr.exp > 0:
        return _terms_of(expr.base) ** int(expr.exp)
    return 1


def _is_square(root: Terms, terms: Terms, same: float) -> bool:
    square: Terms = {}
    sizes: Terms = {}
    for (p, a), (q, b) in itertools.product(root.items(), repeat=2):
        powers = times(p, q)
        square[powers] = square.get(powers, 0.0) + a * b
        sizes[powers] = sizes.get(powers, 0.0) + abs(a * b)
    everywhere = square.keys() | terms.keys()
    return all(
        abs(square.get(powers, 0.0) - terms.get(powers, 0.0)) <= same * sizes.get(powers, 0.0) for powers in everywhere
    )
