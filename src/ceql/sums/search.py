"""The search for a sum: an archive by number of constants, whose best sums are extended and fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite, log, log10

import numpy as np

from ceql.sums.fitting import fitted
from ceql.sums.moves import Proposal, Scan, multiplied, over_poles, surroundings, swapped
from ceql.sums.table import Table
from ceql.sums.terms import NOTHING, Factor, Real, Sum
from ceql.sums.view import View
from ceql.sums.vocabulary import FREED, ON_AXIS, SAME_POLE

_ROUNDING = 1e-32  # of the square of y, below which misfits are alike


@dataclass(frozen=True)
class Known:
    """The sums found so far, and the structures that were extended."""

    sums: tuple[Sum, ...] = ()
    expanded: frozenset[str] = frozenset()  # structures

    def of_size(self, size: int) -> list[Sum]:
        return [found for found in self.sums if found.size == size]


def ranked(table: Table, sums: Sequence[Sum], weight: float) -> list[Sum]:
    """By misfit and price."""
    return sorted(sums, key=lambda s: weight * log(max(s.misfit, _ROUNDING)) + table.price_of(s))


def rankings(table: Table, sums: Sequence[Sum]) -> list[list[Sum]]:
    """By misfit and price, for each weight of the misfit."""
    parts = [(log(max(s.misfit, _ROUNDING)), table.price_of(s)) for s in sums]
    orders = (np.argsort([w * a + b for a, b in parts], kind="stable") for w in table.policy.weights_of_misfit)
    return [[sums[k] for k in order] for order in orders]


def merged(table: Table, known: Known, new: Sequence[Sum]) -> Known:
    """The best sums of every size and ranking, each structure once."""
    best: dict[str, Sum] = {}
    for found in (*known.sums, *new):
        before = best.get(found.structure)
        if isfinite(found.misfit) and (before is None or found.misfit < before.misfit):
            best[found.structure] = found
    sizes: dict[int, list[Sum]] = {}
    for found in best.values():
        sizes.setdefault(found.size, []).append(found)
    kept: dict[str, Sum] = {}
    for size in sorted(sizes):
        kept |= {s.structure: s for first in rankings(table, sizes[size]) for s in first[: table.policy.kept]}
    return replace(known, sums=tuple(kept.values()))


def exact(table: Table, known: Known) -> Sum | None:
    """The smallest sum that leaves nothing, and far less than all smaller ones: a wrong sum improves only gradually.

    Of sums with equal size, the cheapest. A sum that is the difference of large terms proves nothing and is left out.
    """
    policy = table.policy

    def is_far(size: int, least: float, before: tuple[int, float]) -> bool:
        reachable = max(policy.vanishes_a_constant**size, 10.0 * policy.rounding)
        return least < min(policy.vanishes, reachable, policy.leap * before[1])

    return _smallest(table, known, is_far)


def standing_out(table: Table, known: Known, left: float) -> Sum | None:
    """The smallest sum that leaves far less than all smaller ones, relative to its additional constants."""
    policy = table.policy
    return _smallest(
        table,
        known,
        lambda size, least, before: (
            max(least, policy.rounding)
            < before[1] * min(policy.leap_beside, policy.leap_a_constant ** (size - before[0]))
        ),
        left,
    )


def most_promising(table: Table, known: Known, left: float) -> tuple[float, Sum]:
    """The sum that improves most on all smaller ones, in decades per additional constant."""
    before, best = (0, left), (0.0, NOTHING)
    for size in sorted({found.size for found in known.sums}):
        sound = [s for s in known.of_size(size) if s.misfit < before[1] and is_sound(table, s)]
        if sound:
            found = min(sound, key=lambda s: s.misfit)
            decades = log10(before[1] / max(found.misfit, table.policy.rounding)) / (size - before[0])
            best = max(best, (decades, found), key=lambda entry: entry[0])
            before = size, found.misfit
    return best


def _smallest(
    table: Table, known: Known, is_far: Callable[[int, float, tuple[int, float]], bool], left: float = 1.0
) -> Sum | None:
    before = 0, left  # the size of the best of the smaller ones, and what it leaves
    for size in sorted({found.size for found in known.sums}):
        own = known.of_size(size)
        least = min(found.misfit for found in own)
        if is_far(size, least, before):
            sound = [s for s in own if is_far(size, s.misfit, before) and is_sound(table, s)]
            if sound:
                return min(sound, key=table.price_of)
        if least < before[1]:
            before = size, least
    return None


def is_sound(table: Table, found: Sum) -> bool:
    """Whether no term is far larger than the sum of all."""
    with np.errstate(over="ignore", invalid="ignore"):
        columns = table.columns_of(found)[0]
        sizes = np.abs(found.weights) * np.linalg.norm(columns, axis=0)
    return bool(np.isfinite(sizes).all() and (sizes <= table.policy.cancelling * np.sqrt(table.size)).all())


def tidied(view: View, found: Sum, threads: int = 1) -> Sum:
    """The cheapest form of an exact sum: without unneeded terms, and with simpler terms where possible."""
    table = view.table
    while True:
        tries = [found.replaced(k) for k in range(len(found.terms)) if len(found.terms) > 1]
        tries += [
            s for k, term in enumerate(found.terms) if term.numbers for s in _simpler(view, found.replaced(k), found)
        ]
        price = table.price_of(found) if is_sound(table, found) else np.inf
        still = [s for s in fitted(tries, view, threads) if s.misfit < table.policy.vanishes and is_sound(table, s)]
        best = min(still, key=table.price_of, default=found)
        if table.price_of(best) >= price:
            return found
        found = best


def _simpler(view: View, others: Sum, found: Sum) -> list[Sum]:
    """The sum with a replacement for a left-out term: one with fewer constants, or two without numbers inside."""
    near = surroundings(others, view)
    if near is None:
        return []
    scan = Scan(view, others, near)
    singles = [(gain, s) for gain, s in scan.single_terms() if s.size < found.size]
    free = [(gain, s) for gain, s in singles if not s.terms[-1].numbers]
    return [*_few(view.table, singles, 12), *_few(view.table, free, 8), *_few(view.table, scan.free_pairs(), 4)]


def stretch(
    view: View, known: Known, expansions: int, threads: int = 1, stop: Callable[[], bool] = lambda: False
) -> Known:
    """Extends the best sums of every size until one is exact. If stopped, the result is unchanged."""
    before, done = known, 0
    while done < expansions and (fresh := list(_to_expand(view.table, known))):
        for found in fresh[: expansions - done]:
            if stop():
                return before
            known, done = expanded(view, known, found, threads), done + 1
            if exact(view.table, known) is not None:
                return known
    return known


def _to_expand(table: Table, known: Known) -> Iterator[Sum]:
    """One sum of each size and ranking, small ones first."""
    chosen: set[tuple] = set()
    for size in range(0, min(table.policy.largest, len(table.y) // table.policy.rows_a_constant) + 1):
        for first in rankings(table, known.of_size(size) if size else [NOTHING]):
            first = first[: table.policy.looked_at]
            fresh = [s for s in first if s.structure not in known.expanded and s.key not in chosen]
            if fresh:
                chosen.add(fresh[0].key)
                yield fresh[0]


def expanded(view: View, known: Known, found: Sum, threads: int = 1, is_sure: bool = False) -> Known:
    """The sums after all moves have been applied to one of them, fitted. With `is_sure`, its numbers stay fixed."""
    table = view.table
    near = surroundings(found, view, slopes_too=not is_sure)
    known = replace(known, expanded=known.expanded | {found.structure})
    if near is None:
        return known
    scan = Scan(view, found, near, threads)
    changed = multiplied(view, found), swapped(view, found), over_poles(view, found, near)
    moves = (scan.single_terms(), scan.groups(), *scan.pairs(), *changed)
    proposals = [s for move in moves for s in _few(table, move)]
    proposals += with_numbers_freed(found)
    new = fitted(list({(p.key, *p.numbers): p for p in proposals}.values()), view, threads)
    return merged(table, known, [*new, *fitted([s for n in new for s in _elsewhere(n)], view, threads)])


def _few(table: Table, proposals: Iterable[Proposal], most: int | None = None) -> list[Sum]:
    """The best proposals by what they explain, and as many by that and their price; of each structure only some."""
    policy = table.policy
    most = policy.refined if most is None else most
    usable = [(gain, found) for gain, found in proposals if not _repeats(found)]
    parts = [(log(max(1.0 - gain, _ROUNDING)), table.price_of(found)) for gain, found in usable]
    few: dict[tuple, Sum] = {}
    for weight in (policy.weights_of_misfit[0], policy.weights_of_misfit[-1]):
        seen: dict[tuple, int] = {}
        chosen = 0
        for k in np.argsort([weight * left + price for left, price in parts], kind="stable"):
            found = usable[k][1]
            seen[found.key] = seen.get(found.key, 0) + 1
            if seen[found.key] <= policy.alike:
                few[(found.key, *found.numbers)] = found
                chosen += 1
            if chosen == most // 2:
                break
    return list(few.values())


def _repeats(found: Sum) -> bool:
    free = [term.key for term in found.terms if not term.numbers]
    return len(set(free)) < len(free)


def with_numbers_freed(found: Sum) -> Iterator[Sum]:
    """The sum with a one or a simple power in a function replaced by a fitted number: in one term, and in all."""
    everywhere = found
    for place, term in enumerate(found.terms):
        if any(factor.kind in FREED for factor in term.factors):
            factors = tuple(
                replace(f, kind=FREED[f.kind][0], numbers=FREED[f.kind][1]) if f.kind in FREED else f
                for f in term.factors
            )
            freed = replace(term, factors=factors)
            yield found.replaced(place, freed)
            everywhere = everywhere.replaced(place, freed)
    if everywhere.terms != found.terms:
        yield everywhere


def _elsewhere(found: Sum) -> Iterator[Sum]:
    """The sum with a complex pole moved to the real axis, or another function with the same pole."""
    for place, term in enumerate(found.terms):
        for k, factor in enumerate(term.factors):
            for other in _in_its_place(factor):
                yield found.replaced(place, replace(term, factors=(*term.factors[:k], other, *term.factors[k + 1 :])))


def _in_its_place(factor: Factor) -> Iterator[Factor]:
    if factor.kind in ON_AXIS:
        yield replace(factor, kind=ON_AXIS[factor.kind], numbers=factor.numbers[:1])
    for kind, numbers_of in SAME_POLE.get(factor.kind, ()):
        p, q = factor.numbers
        if q != 0.0:
            yield replace(factor, kind=kind, numbers=tuple(Real(float(n)) for n in numbers_of(p, abs(q))))
