"""Recognises the law behind a formula: the smallest one that has the formula's values for some constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy.stats import qmc

from ceql.catalogue.fitting import Array, Tried, improve, look, with_errors
from ceql.catalogue.foreign_poles import has_foreign_pole
from ceql.catalogue.law import Law, catalogue
from ceql.catalogue.policy import POLICY, CataloguePolicy
from ceql.catalogue.separable import Rows, allowed, descend
from ceql.catalogue.starts import Facts
from ceql.data.dataset import Dataset
from ceql.engine.one_thread import one_thread
from ceql.formula import Formula, LawConstant

_INSIDE = 1e-3  # share of the box left out at each end, where a law may be undefined: log(0), 1/0


@dataclass(frozen=True, eq=False)
class Named:
    """A recognised law, the columns that it is in, and its constants by name."""

    law: Law
    columns: tuple[str, ...]
    values: dict[str, float]

    def constants(self, data: Dataset) -> tuple[LawConstant, ...]:
        """The constants with their standard errors on the rows of a table."""
        places = [data.names.index(name) for name in self.columns]
        return with_errors(self.law, places, np.array(list(self.values.values())), data)


def box_of(data: Dataset) -> tuple[Array, Array]:
    """The smallest and the largest value of each column."""
    return data.x.min(axis=0), data.x.max(axis=0)


@one_thread
def named(
    formula: Formula,
    box: tuple[Array, Array],
    policy: CataloguePolicy = POLICY,
    laws: Sequence[Law] | None = None,
) -> Named | None:
    """The smallest law (of the whole catalogue by default) that has the formula's values in the box.

    None if no law has them, or if the formula is undefined in most of the box.
    """
    used = [k for k, symbol in enumerate(formula.symbols) if symbol in formula.expression.free_symbols]
    points = _points(formula, box, used, policy)
    if points is None:
        return None
    spread = float(np.std(points.y)) or float(np.max(np.abs(points.y))) or 1.0
    facts = Facts(points)
    looked = [
        look(law, places, points, facts, policy)
        for law in (catalogue() if laws is None else laws)
        if len(law.columns) == len(used) and len(law.constants) < len(points.y)
        for places in permutations(range(len(used)))
    ]
    for law, values, places in _candidates(looked, points, spread, policy):
        apart = np.abs(law.program.value(points.x[:, places], values) - points.y)
        if np.max(apart) <= policy.recognised_within * spread and not has_foreign_pole(
            law, values, points.x[:, places]
        ):
            columns = tuple(formula.symbols[used[k]].name for k in places)
            return Named(law, columns, dict(zip(law.names, map(float, values), strict=True)))
    return None


def _points(formula: Formula, box: tuple[Array, Array], used: Sequence[int], policy: CataloguePolicy) -> Dataset | None:
    """The formula's values on points that fill the box, in the columns that it uses; None if most are undefined."""
    lower, upper = (np.asarray(side, float) for side in box)
    count = max(len(used), 1)
    share = qmc.Halton(count, scramble=False).random(policy.recognised_points + 1)[1:]
    if count == 1:
        share = np.linspace(0.0, 1.0, policy.recognised_points)[:, None]
    share = _INSIDE + (1.0 - 2.0 * _INSIDE) * share
    x = np.tile(0.5 * (lower + upper), (len(share), 1))
    for k, place in enumerate(used):
        x[:, place] = lower[place] + (upper[place] - lower[place]) * share[:, k]
    y = formula(x)
    defined = np.isfinite(y)
    if 2 * defined.sum() < len(y):
        return None
    names = tuple(formula.symbols[k].name for k in used) or ("x1",)
    inner = x[:, list(used)] if used else share
    return Dataset(inner[defined], y[defined], np.ones(int(defined.sum())), names)


def _candidates(
    looked: Sequence[Tried], points: Dataset, spread: float, policy: CataloguePolicy
) -> Iterator[tuple[Law, Array, list[int]]]:
    """Laws fitted to the points, the smallest first; laws that remain far off are given up."""
    for one in sorted(looked, key=lambda one: one.law.size):
        tried = one
        for steps, share in policy.recognition:
            tried = improve(tried, points, steps) if np.isfinite(tried.score) else tried
            if not tried.ends.misfit[0] <= (share * spread) ** 2 * len(points.y):
                break
        else:
            ends = descend(tried.law, Rows.of(points, tried.places), tried.ends.constants, policy.last_steps)
            best = allowed(tried.law, ends).best(1)
            if np.isfinite(best.misfit[0]):
                yield tried.law, best.constants[0], list(tried.places)
