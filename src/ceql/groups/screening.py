"""Compares structures on all groups at once, with all constants per group, and fits the better ones further."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations

import numpy as np

from ceql.catalogue.law import Law
from ceql.catalogue.separable import descend, first_look
from ceql.catalogue.starts import Facts, start_grid
from ceql.choice.criterion import price_of_constants
from ceql.choice.exactness import EXACT, size_of
from ceql.engine.deadline import Deadline
from ceql.engine.one_thread import one_thread
from ceql.expression.prices import PRICES
from ceql.groups.policy import GroupPolicy
from ceql.groups.rows import GroupedRows
from ceql.groups.structures import with_column, with_offset

Array = np.ndarray
_NATS_A_NODE = 1.5  # approximate price of a node, before there is a formula to be priced
_AS_GOOD = 1e-6  # misfits with a smaller relative difference count as equal
_SEARCHED = 3  # kinds of structures: with no, one, or more nonlinear constants


@dataclass(frozen=True, eq=False)
class Tried:
    """A structure in given columns, several fits of its constants in every group, and its score (smaller is better)."""

    law: Law
    places: tuple[int, ...]
    ends: Array  # (starts, groups, constants)
    misfit: Array  # (starts, groups)
    score: float
    variance: float  # residual variance with all constants per group; infinite if there are too few rows

    @property
    def best(self) -> Array:
        """The best fit of each group; the first of equally good ones, such as mirror images."""
        least = self.misfit.min(axis=0)
        first = np.argmax(self.misfit <= (1.0 + _AS_GOOD) * least + _AS_GOOD * least.mean(), axis=0)
        return self.ends[first, np.arange(len(first))]

    @property
    def kind(self) -> int:
        return min(len(self.law.nonlinear), _SEARCHED - 1)


def assigned(laws: Iterable[Law], places: Sequence[int], most: int) -> Iterator[tuple[Law, tuple[int, ...]]]:
    """Each law with every assignment of columns to its variables, in the order of the laws; at most `most` pairs."""
    pairs = ((law, chosen) for law in laws for chosen in permutations(places, len(law.columns)))
    return islice(pairs, most)


def extended(laws: Sequence[Law], columns: int, policy: GroupPolicy) -> list[Law]:
    """Laws of one column with an added offset, or combined with another column."""
    short = [law for law in laws if len(law.columns) == 1 and len(law.constants) <= policy.extended_constants]
    found = [longer for law in short if (longer := with_offset(law)) is not None]
    if columns > 1:
        found += [longer for law in short for longer in with_column(law)]
    return found


@one_thread
@np.errstate(all="ignore")
def screened(
    pairs: Iterable[tuple[Law, tuple[int, ...]]], rows: GroupedRows, policy: GroupPolicy, until: Deadline
) -> list[Tried]:
    """Tries each structure at its starting values, then fits the better ones of each kind further while there is
    time."""
    facts = Facts(rows.data)
    tried: list[Tried] = []
    for law, places in pairs:
        if tried and until.over:
            break
        if len(law.constants) <= policy.split_constants:
            tried.append(look(law, places, rows, facts, policy))
    for most, steps in policy.rounds:
        ahead = [one for kind in range(_SEARCHED) for one in _ahead(tried, kind, most)]
        tried = [one if until.over else improved(one, rows, steps) for one in ahead]
    return tried


def _ahead(tried: Sequence[Tried], kind: int, most: int) -> list[Tried]:
    """The best structures of this kind, with an equal share for each number of constants."""
    ranked = sorted((one for one in tried if one.kind == kind and np.isfinite(one.score)), key=lambda one: one.score)
    sizes = sorted({len(one.law.constants) for one in ranked})
    share = max(most // max(len(sizes), 1), 1)
    counts = dict.fromkeys(sizes, 0)
    kept = []
    for place, one in enumerate(ranked):
        counts[len(one.law.constants)] += 1
        if place < most // 2 or counts[len(one.law.constants)] <= share:
            kept.append(one)
    return kept


def look(law: Law, places: tuple[int, ...], rows: GroupedRows, facts: Facts, policy: GroupPolicy) -> Tried:
    """The structure at its starting values in every group."""
    return look_at(law, places, rows, start_grid(law, places, facts, policy.most_starts), policy)


def look_at(law: Law, places: tuple[int, ...], rows: GroupedRows, grid: Array, policy: GroupPolicy) -> Tried:
    """The structure with these values for the constants that it is not linear in."""
    ends = first_look(law, rows.seen_by(places, len(grid)), np.repeat(grid, rows.groups, axis=0))
    constants = ends.constants.reshape(len(grid), rows.groups, -1)
    misfit = ends.misfit.reshape(len(grid), rows.groups)
    order = np.argsort(misfit, axis=0, kind="stable")[: policy.kept_starts]
    best = np.argsort(np.where(np.isfinite(misfit), misfit, np.inf).sum(axis=1), kind="stable")[:1]
    every = np.vstack([order, np.repeat(best[:, None], rows.groups, axis=1)])
    along = np.arange(rows.groups)
    return scored(law, places, constants[every, along], misfit[every, along], rows)


def improved(tried: Tried, rows: GroupedRows, steps: int) -> Tried:
    """The structure after some more steps in every group from each of its fits."""
    if not tried.law.nonlinear:
        return tried
    starts, groups, count = tried.ends.shape
    ends = descend(tried.law, rows.seen_by(tried.places, starts), tried.ends.reshape(-1, count), steps)
    constants, misfit = ends.constants.reshape(tried.ends.shape), ends.misfit.reshape(starts, groups)
    return scored(tried.law, tried.places, constants, misfit, rows)


def spread(tried: Tried, rows: GroupedRows, steps: int) -> Tried:
    """Fits every group again from the constants of others: the median of all, and the group that fits best."""
    if not tried.law.nonlinear:
        return tried
    best, groups = tried.best, rows.groups
    quality = tried.misfit.min(axis=0) / np.maximum(rows.sizes, 1)
    lead = best[int(np.argmin(np.where(rows.sizes > best.shape[1], quality, np.inf)))]
    starts = np.stack([np.tile(lead, (groups, 1)), np.tile(np.median(best, axis=0), (groups, 1)), best])
    return improved(replace(tried, ends=starts, misfit=np.full(starts.shape[:2], np.inf)), rows, steps)


def scored(law: Law, places: tuple[int, ...], ends: Array, misfit: Array, rows: GroupedRows) -> Tried:
    """Scores a structure close to the best criterion it may reach: with one per-group constant and the others
    shared."""
    count, constants, groups = len(rows.codes), len(law.constants), rows.groups
    least = EXACT.loss * size_of(rows.data)
    structure = _NATS_A_NODE * law.structure
    structure = min(structure, PRICES.of_law(law.known)) if law.known else structure
    free = np.minimum(rows.sizes, constants).sum()
    total = float(misfit.min(axis=0).sum())
    variance = total / (count - free) if free < count else np.inf
    # If the constants take up all rows of every group, only shared constants can be compared.
    alike = float(misfit[-1].sum()) / max(count - groups * len(law.linear), 1)
    left = min(variance, alike) if np.isfinite(variance) else alike
    price = price_of_constants(min(constants - 1 + groups, count - 1), count)
    score = count * np.log(max(left, least)) + 2.0 * (structure + price)
    return Tried(law, places, ends, misfit, float(score), variance)
