"""Parts of y that the search for sums is sure of before it knows the others: what is left may be no such sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ceql.formula import values_of
from ceql.search.policy import RestPolicy
from ceql.sums import Peeled, Table, expression
from ceql.sums.fitting import fitted
from ceql.sums.terms import Sum
from ceql.sums.view import functions_of, view_beside
from ceql.transforms import TransformedTarget, TransformPolicy, is_curve, less, only


@dataclass(frozen=True)
class Partial:
    """Terms of a sum, and the columns that what is left depends on."""

    found: Sum
    left: tuple[int, ...]


def partial_sum(
    table: Table, before: Peeled, after: Peeled, policy: RestPolicy, transforms: TransformPolicy, threads: int
) -> Partial | None:
    """The terms that are known after a rung, where all of some column are; None where these were known before."""
    columns = table.x.shape[1]
    if not policy.used or not 0 < len(after.left) < columns or not after.base.terms:
        return None
    if (after.base.key, after.left) == (before.base.key, before.left):
        return None
    found = _sharpened(table, after.base, after.left, threads)
    values = values_of(expression(found, table), table.symbols, table.x)
    if values is None:
        return None
    rest = table.y / table.root_weight - values
    if not np.ptp(rest) > 0.0:
        return None
    if len(after.left) == 1 and not is_curve(table.x[:, after.left[0]], rest, transforms.smoothness):
        return None  # of a single column it is seen at once whether others are needed
    return Partial(found, after.left)


def _sharpened(table: Table, found: Sum, left: tuple[int, ...], threads: int) -> Sum:
    """With the numbers that leave least beside functions of the columns that are left, and nothing else."""
    functions = functions_of(table.x, left, int(table.policy.projected * len(table.y)))
    return next(iter(fitted([found], view_beside(table, functions), threads)), found)


def rest_of(target: TransformedTarget, part: Partial, table: Table) -> TransformedTarget | None:
    """What is left of a target beside a part, over the columns that it depends on; None where the part has no value."""
    written: Any = expression(part.found, table)
    values = values_of(written, target.symbols, target.x)
    if values is None:
        return None
    left = {table.symbols[k] for k in part.left}
    rest = less(target, values, written)
    return only(rest, [k for k, symbol in enumerate(target.symbols) if symbol in left])
