"""Light expression trees for the search: they follow SymPy's automatic rules but cost far less.

Hundreds of forms are compared for one formula; only the few shortest become SymPy expressions.  The
node counts mirror what SymPy would build: nested sums and products are flattened, numbers merge,
and a lone number before a sum is distributed into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sympy import Add, Mul, Pow

from ceql.expression.algebra.precision import accuracy
from ceql.expression.algebra.workspace import number
from ceql.expression.symbolic import Expr


@dataclass(slots=True, eq=False)  # not frozen, since frozen objects take three times as long to create
class Draft:
    """One node; ``kind`` is "number", "leaf", "sum", "product" or "power"."""

    kind: str
    parts: tuple[Draft, ...]
    value: Any
    count: int


def literal(value: float) -> Draft:
    if abs(value - 1.0) < accuracy():
        value = 1.0
    elif abs(value + 1.0) < accuracy():
        value = -1.0
    return Draft("number", (), value, 1)


ZERO = literal(0.0)


def leaf(expr: Expr, count: int) -> Draft:
    return Draft("leaf", (), expr, count)


def total(*terms: Draft) -> Draft:
    """Sum with flattening and merged numbers."""
    constant, size, kept = 0.0, 0.0, []
    for term in _flattened("sum", terms):
        if term.kind == "number":
            constant += term.value
            size += abs(term.value)
        else:
            kept.append(term)
    if abs(constant) > accuracy(10.0) * size:
        kept.append(literal(constant))
    if not kept:
        return ZERO
    return kept[0] if len(kept) == 1 else _node("sum", kept)


def product_of(*factors: Draft) -> Draft:
    """Product with flattening and merged numbers; number * sum becomes a sum."""
    coefficient, kept = 1.0, []
    for factor in _flattened("product", factors):
        if factor.kind == "number":
            coefficient *= factor.value
        else:
            kept.append(factor)
    front = literal(coefficient)
    if front.value == 0.0 or not kept:
        return front
    if front.value == 1.0:
        return kept[0] if len(kept) == 1 else _node("product", kept)
    if len(kept) == 1 and kept[0].kind == "sum":
        return total(*[product_of(front, term) for term in kept[0].parts])
    return _node("product", [front, *kept])


def raised(base: Draft, exponent: int) -> Draft:
    """Integer power; products are raised factor by factor, as SymPy does."""
    if exponent == 1:
        return base
    if base.kind == "number":
        return literal(base.value**exponent)
    if base.kind == "product":
        return product_of(*[raised(part, exponent) for part in base.parts])
    if base.kind == "power":
        return raised(base.parts[0], base.value * exponent)
    return Draft("power", (base,), exponent, base.count + 2)


def _flattened(kind: str, parts: Sequence[Draft]) -> list[Draft]:
    return [inner for part in parts for inner in (part.parts if part.kind == kind else (part,))]


def _node(kind: str, parts: list[Draft]) -> Draft:
    return Draft(kind, tuple(parts), None, 1 + sum(part.count for part in parts))


def written(draft: Draft) -> Expr:
    """The SymPy expression of a draft."""
    match draft.kind:
        case "number":
            return number(draft.value)
        case "leaf":
            return draft.value
        case "sum":
            return Add(*[written(part) for part in draft.parts])
        case "product":
            return Mul(*[written(part) for part in draft.parts])
        case _:
            return Pow(written(draft.parts[0]), draft.value)


def fewest(drafts: Sequence[Draft]) -> Draft:
    return min(drafts, key=lambda draft: draft.count)
