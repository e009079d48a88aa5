"""Finds the operators in a formula as a reader sees them, and whether they satisfy constraints.

SymPy represents a quotient as a power, and an exponential perhaps as a power of e. Here each node gets the names of the
operators that a reader sees in it, from the outside in: 1/sqrt(x) is a division around a root.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sympy import E, Mul, Pow, Rational, preorder_traversal

from ceql.expression.symbolic import Expr
from ceql.operators import functions

_POWERS: dict[Any, tuple[str, ...]] = {
    Rational(1): (),
    Rational(2): ("square",),
    Rational(3): ("cube",),
    Rational(1, 2): ("sqrt",),
}
Nesting = Sequence[tuple[str, Sequence[str]]]


def operations(node: Expr) -> tuple[str, ...]:
    """Return the operators of this node alone, the outermost first; sums, numbers and numeric factors have none."""
    if node.is_number:
        return ()
    if isinstance(node, Pow):
        return _of_power(node)
    if isinstance(node, Mul):
        return ("mul",) if _plain_factors(node) > 1 else ()
    function = functions.of_kind(node.func)
    return () if function is None else (function.name,)


def _of_power(node: Pow) -> tuple[str, ...]:
    base, exponent = node.args
    if base is E:
        return ("exp",)
    if not exponent.is_number:
        return ("pow", "exp")  # 2**x and x**y are exponentials as well
    below = ("div",) if exponent.is_negative else ()
    return (*below, *_POWERS.get(abs(exponent), ("pow",)))


def _plain_factors(node: Mul) -> int:
    """Return the number of factors in the numerator that are not numbers."""
    above = [f for f in node.args if not f.is_number and "div" not in operations(f)[:1]]
    return len(above)


@lru_cache(maxsize=4096)
def contained(expr: Expr) -> frozenset[str]:
    """Return all operators in a formula."""
    return frozenset(name for node in preorder_traversal(expr) for name in operations(node))


def nests(expr: Expr, forbidden: Nesting) -> bool:
    """Return whether an operator occurs, at any depth, inside another in which it is forbidden."""
    inside = {outer: frozenset(inner) for outer, inner in forbidden}
    return any(_breaks(node, inside) for node in preorder_traversal(expr)) if inside else False


def _breaks(node: Expr, inside: Mapping[str, frozenset[str]]) -> bool:
    below = frozenset().union(*(contained(part) for part in node.args))
    chain = operations(node)
    return any(inside.get(outer, frozenset()) & (below | set(chain[k + 1 :])) for k, outer in enumerate(chain))


def extra_cost(expr: Expr, costs: Mapping[str, int]) -> int:
    """Return how much operators that cost more than one add to the number of nodes."""
    if not costs:
        return 0
    return sum(costs.get(name, 1) - 1 for node in preorder_traversal(expr) for name in operations(node))


def numbers_in(expr: Expr) -> Iterator[float]:
    """Yield every number that is not an exponent, including whole ones, but not 1 and -1."""
    if expr.is_number:
        value = float(expr)
        if abs(value) != 1.0:
            yield value
        return
    parts = expr.args[:1] if isinstance(expr, Pow) and expr.exp.is_number else expr.args
    numeric = [part for part in parts if part.is_number and not (isinstance(expr, Pow) and part is E)]
    if isinstance(expr, Mul) and len(numeric) > 1:  # 2*pi is one number
        yield from numbers_in(Mul(*numeric))
        numeric = []
    for part in (*numeric, *(part for part in parts if not part.is_number)):
        yield from numbers_in(part)
