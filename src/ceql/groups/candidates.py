"""Where candidate structures come from: laws, small forms, and searches of single groups and of all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ceql.catalogue.law import Law, catalogue
from ceql.catalogue.policy import CataloguePolicy
from ceql.catalogue.small_forms import small_forms
from ceql.data.dataset import Dataset, robust_size
from ceql.engine.deadline import Deadline
from ceql.formula import Formula
from ceql.groups.policy import GroupPolicy
from ceql.groups.rows import GroupedRows
from ceql.groups.screening import assigned, extended
from ceql.groups.structures import skeleton

Pair = tuple[Law, tuple[int, ...]]  # a structure and the columns that it uses
Search = Callable[[Dataset], Sequence[Formula]]  # finds formulas for a table


def from_laws(with_laws: bool, columns: int, policy: GroupPolicy) -> Iterator[Pair]:
    """The laws of the catalogue, or only its plain models, and laws of one column extended by an offset or a column."""
    laws = [law for law in catalogue() if (with_laws or law.is_plain) and len(law.columns) <= columns]
    both = [*laws, *extended(laws, columns, policy)]
    return assigned(both, range(columns), policy.most_looks)


def from_small_forms(
    rows: GroupedRows, policy: GroupPolicy, forms: CataloguePolicy, until: Deadline
) -> dict[str, Pair]:
    """Small forms of the largest groups and of all rows, keyed by their text, since they often agree."""
    found: dict[str, Pair] = {}
    for table in tables(rows, policy):
        if until.over:
            break
        for fit in small_forms(table, forms):
            places = tuple(table.names.index(name) for name in fit.columns)
            law = _with_starts(fit.law, [constant.value for constant in fit.constants])
            found.setdefault(f"{law.formula} of {places}", (law, places))
    return found


def _with_starts(law: Law, values: Sequence[float]) -> Law:
    """The law with these values, and multiples of them, as starting values, since groups differ."""
    constants = tuple(
        c if c.start is None else replace(c, start=replace(c.start, kind="numbers", numbers=_around(float(value))))
        for c, value in zip(law.constants, values, strict=True)
    )
    return replace(law, name=law.formula, constants=constants)


def _around(value: float) -> tuple[float, ...]:
    return (value, 0.4 * value, 2.5 * value) if value else (0.0,)


def from_searches(rows: GroupedRows, search: Search, policy: GroupPolicy, until: Deadline) -> Iterator[Pair]:
    """Structures that searches find for the largest groups, and for all rows with y in units of its size in each
    group."""
    for table in tables(rows, replace(policy, alone=policy.searched), only_alike=True):
        if until.over:
            return
        for formula in search(table):
            pair = skeleton(formula.expression, formula.symbols)
            if pair is not None:
                yield pair


def tables(rows: GroupedRows, policy: GroupPolicy, only_alike: bool = False) -> Iterator[Dataset]:
    """The largest groups on their own, all rows, and all rows with y scaled by its size or spread in each group."""
    for group in range(min(policy.alone, rows.groups)):
        if rows.sizes[group] >= policy.alone_rows:
            yield rows.one(group)
    data = rows.data
    sizes = np.array([robust_size(rows.one(group).y) for group in range(rows.groups)])[rows.codes]
    yield replace(data, y=data.y / sizes, noise=None)
    if only_alike:
        return
    yield data
    means = np.array([rows.one(group).y.mean() for group in range(rows.groups)])[rows.codes]
    spreads = np.array([rows.one(group).y.std() for group in range(rows.groups)])[rows.codes]
    if (spreads > 0).all():
        yield replace(data, y=(data.y - means) / spreads, noise=None)
