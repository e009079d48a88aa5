"""Roots of perfect squares: the square of a formula does not tell its sign, but often its shape does."""

from __future__ import annotations

from sympy import Poly, PolynomialError, Symbol, sqrt

from ceql.expression.symbolic import Expr

_SAME = 1e-6  # relative difference of coefficients that are the same


def signed_root(expr: Expr) -> Expr:
    """A root of a fraction whose numerator or denominator may be the square of a polynomial, which keeps its sign."""
    above, below = expr.as_numer_denom()
    symbols = sorted(expr.free_symbols, key=lambda symbol: symbol.name)
    for sign in (1, -1):  # both parts may be negative
        roots = [root_of_square(sign * part, symbols) for part in (above, below)]
        if any(root is not None for root in roots):
            over, under = (sqrt(sign * part) if r is None else r for part, r in zip((above, below), roots, strict=True))
            return over / under
    return sqrt(expr)


def root_of_square(expr: Expr, symbols: list[Symbol]) -> Expr | None:
    """The polynomial whose square this is, with a positive leading coefficient; None where there is none."""
    if not symbols or not expr.free_symbols:
        return None
    try:
        square = Poly(expr, *symbols)
    except PolynomialError:
        return None
    terms: dict[tuple[int, ...], float] = {tuple(powers): float(number) for powers, number in square.terms()}
    first = max(terms)
    if any(power % 2 for power in first) or terms[first] <= 0.0:
        return None
    lead = tuple(power // 2 for power in first)
    size = terms[first] ** 0.5
    root = {lead: size}
    # Every other term of the root meets the leading one in a term of the square, the largest first.
    for powers in sorted(terms, reverse=True):
        other = tuple(a - b for a, b in zip(powers, lead, strict=True))
        if powers == first or min(other) < 0 or other in root:
            continue
        crossed = sum(
            a * b for p, a in root.items() for q, b in root.items() if lead not in (p, q) and _added(p, q) == powers
        )
        value = (terms[powers] - crossed) / (2.0 * size)
        if abs(value) > _SAME * abs(terms[powers]) / (2.0 * size):
            root[other] = value
    return _written(root, symbols) if _is_square(root, terms) else None


def _added(p: tuple[int, ...], q: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(p, q, strict=True))


def _is_square(root: dict[tuple[int, ...], float], terms: dict[tuple[int, ...], float]) -> bool:
    square: dict[tuple[int, ...], float] = {}
    sizes: dict[tuple[int, ...], float] = {}
    for p, a in root.items():
        for q, b in root.items():
            square[_added(p, q)] = square.get(_added(p, q), 0.0) + a * b
            sizes[_added(p, q)] = sizes.get(_added(p, q), 0.0) + abs(a * b)
    everywhere = square.keys() | terms.keys()
    return all(
        abs(square.get(powers, 0.0) - terms.get(powers, 0.0)) <= _SAME * sizes.get(powers, 0.0) for powers in everywhere
    )


def _written(root: dict[tuple[int, ...], float], symbols: list[Symbol]) -> Expr:
    total: Expr = 0  # type: ignore[assignment]
    for powers, value in root.items():
        term: Expr = value  # type: ignore[assignment]
        for symbol, power in zip(symbols, powers, strict=True):
            term = term * symbol**power
        total = total + term
    return total
