"""Which operators a formula is made of, as seen in its text, and whether it keeps to what is asked of it.

SymPy writes a quotient as a power and an exponential may be a power of e: here each node is given back the names of
the operators that a reader sees in it, from the outside in. 1/sqrt(x) is a division around a root.
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
    """The operators of this one node, the outermost first. Sums, numbers and their products with numbers have none."""
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
    """Factors above the line that are no numbers."""
    above = [f for f in node.args if not f.is_number and "div" not in operations(f)[:1]]
    return len(above)


@lru_cache(maxsize=4096)
def contained(expr: Expr) -> frozenset[str]:
    """Every operator in a formula."""
    return frozenset(name for node in preorder_traversal(expr) for name in operations(node))


def nests(expr: Expr, forbidden: Nesting) -> bool:
    """Whether an operator stands inside another in which it is forbidden, at any depth."""
    inside = {outer: frozenset(inner) for outer, inner in forbidden}
    return any(_breaks(node, inside) for node in preorder_traversal(expr)) if inside else False


def _breaks(node: Expr, inside: Mapping[str, frozenset[str]]) -> bool:
    below = frozenset().union(*(contained(part) for part in node.args))
    chain = operations(node)
    return any(inside.get(outer, frozenset()) & (below | set(chain[k + 1 :])) for k, outer in enumerate(chain))


def extra_cost(expr: Expr, costs: Mapping[str, int]) -> int:
    """What operators that count more than one add to the number of nodes."""
    if not costs:
        return 0
    return sum(costs.get(name, 1) - 1 for node in preorder_traversal(expr) for name in operations(node))


def numbers_in(expr: Expr) -> Iterator[float]:
    """Every number that is no exponent, whole ones included; 1 and -1 are signs and not told."""
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
