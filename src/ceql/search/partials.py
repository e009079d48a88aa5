"""Parts of y that the search for sums is sure of before it knows the rest, which may not be a sum of its terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ceql.formula import values_of
from ceql.search.policy import RestPolicy
from ceql.sums import Peeled, Table, expression
from ceql.sums.fitting import fitted
from ceql.sums.peeling import columns_with_slopes, of_others, with_terms_of
from ceql.sums.terms import Sum
from ceql.sums.view import functions_of, view_beside
from ceql.transforms import TransformedTarget, TransformPolicy, is_curve, less, only


@dataclass(frozen=True)
class Partial:
    """Terms of a sum, and the columns that what is left depends on."""

    found: Sum
    left: tuple[int, ...]

    def is_like(self, other: Partial) -> bool:
        """Whether it has the same terms, whatever their numbers."""
        return (self.found.structure, self.left) == (other.found.structure, other.left)


def partial_sum(
    table: Table, before: Peeled, after: Peeled, policy: RestPolicy, transforms: TransformPolicy, threads: int
) -> Partial | None:
    """The terms that are known after a rung, where what is left beside them depends on fewer columns than y does; None
    where these were known before."""
    is_new = (after.base.key, after.left) != (before.base.key, before.left)
    if not policy.used or not is_new or not after.base.terms:
        return None
    for left in _columns_left(table, after, transforms):
        found = of_others(table, after.base, left)
        if not found.terms:
            continue
        found = _sharpened(table, found, after.base, left, policy, threads)
        rest = _rest(table, found)
        if rest is not None and _may_be_of(table, rest, left, transforms):
            return Partial(found, left)
    return None


def _columns_left(table: Table, peeled: Peeled, transforms: TransformPolicy) -> list[tuple[int, ...]]:
    """What the rest may depend on: a single column, or those of which not all terms are known."""
    columns, rest = range(table.x.shape[1]), _rest(table, peeled.base)
    if rest is None or len(columns) == 1:
        return []
    alone = [(k,) for k in columns if _may_be_of(table, rest, (k,), transforms)]
    return alone + ([peeled.left] if 0 < len(peeled.left) < len(columns) else [])


def _rest(table: Table, found: Sum) -> np.ndarray | None:
    values = values_of(expression(found, table), table.symbols, table.x)
    if values is None:
        return None
    rest = table.y / table.root_weight - values
    return rest if np.ptp(rest) > 0.0 else None


def _may_be_of(table: Table, rest: np.ndarray, left: tuple[int, ...], transforms: TransformPolicy) -> bool:
    """Of a single column it is seen at once whether others are needed."""
    first, *others = left
    return bool(others) or is_curve(table.x[:, first], rest, transforms.smoothness)


def _sharpened(table: Table, found: Sum, base: Sum, left: tuple[int, ...], policy: RestPolicy, threads: int) -> Sum:
    """With the numbers that leave least beside functions of the columns that are left, as far as these say all that is
    left; the other terms that are known are let go of with their slopes."""
    functions = functions_of(table.x, left, int(table.policy.projected * len(table.y)))
    others = with_terms_of(base, lambda term: term not in found.terms)
    known = columns_with_slopes(table, others) / table.root_weight[:, None]
    view = view_beside(table, np.column_stack([functions, known]))
    best = next(iter(fitted([found], view, threads)), found)
    return best if best.misfit <= policy.explained else found


def is_y(target: TransformedTarget) -> bool:
    """Whether it is y itself over columns of the user, and not over quotients or products of them."""
    return target.is_plain and all(symbol.is_Symbol for symbol in target.symbols)


def rest_of(target: TransformedTarget, part: Partial, table: Table) -> TransformedTarget | None:
    """What is left of a target beside a part, over the columns that it depends on; None where the part has no value."""
    written: Any = expression(part.found, table)
    values = values_of(written, target.symbols, target.x)
    if values is None:
        return None
    left = {table.symbols[k] for k in part.left}
    rest = less(target, values, written)
    return only(rest, [k for k, symbol in enumerate(target.symbols) if symbol in left])
