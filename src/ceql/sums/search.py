"""The search for a sum: an archive by number of constants, whose best sums are expanded and fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from ceql.sums.fitting import fitted
from ceql.sums.moves import Proposal, doubles, free_pairs, mixed_pairs, multiplied, single_terms, surroundings
from ceql.sums.table import Table
from ceql.sums.terms import Sum, Term
from ceql.sums.vocabulary import ON_AXIS

_ROUNDING = 1e-32  # of the square of y, below which misfits are alike


@dataclass(frozen=True)
class Known:
    """The sums so far, by their number of constants, and the structures that were expanded."""

    sums: tuple[Sum, ...] = ()
    expanded: frozenset = frozenset()
    fits: int = 0

    def of_size(self, size: int) -> list[Sum]:
        return [found for found in self.sums if found.size == size]


def ranked(table: Table, sums: Sequence[Sum], weight: float) -> list[Sum]:
    """By misfit and price."""
    return sorted(sums, key=lambda s: weight * np.log(max(s.misfit, _ROUNDING)) + table.price_of(s))


def merged(table: Table, known: Known, new: Sequence[Sum]) -> Known:
    """The best of every size and ranking, each structure once."""
    best: dict[tuple, Sum] = {}
    for found in (*known.sums, *new):
        if np.isfinite(found.misfit) and (found.key not in best or found.misfit < best[found.key].misfit):
            best[found.key] = found
    sizes: dict[int, list[Sum]] = {}
    for found in best.values():
        sizes.setdefault(found.size, []).append(found)
    kept: dict[tuple, Sum] = {}
    for size in sorted(sizes):
        for weight in table.policy.weights_of_misfit:
            kept |= {s.key: s for s in ranked(table, sizes[size], weight)[: table.policy.kept]}
    return replace(known, sums=tuple(kept.values()), fits=known.fits + len(new))


def exact(table: Table, known: Known) -> Sum | None:
    """The smallest that leaves nothing, far less than all smaller ones: a wrong sum gets there little by little."""
    policy, smaller = table.policy, 1.0
    for size in sorted({found.size for found in known.sums}):
        best = min(known.of_size(size), key=lambda s: s.misfit)
        if best.misfit < policy.vanishes and best.misfit < policy.leap * smaller:
            return best
        smaller = min(smaller, best.misfit)
    return None


def begin(table: Table, threads: int = 1) -> Known:
    known = merged(table, Known(), fitted([Sum((Term((0,)),))], table, threads))
    return expanded(table, known, Sum(()), threads)


def stretch(table: Table, known: Known, threads: int = 1, stop: Callable[[], bool] = lambda: False) -> Known:
    """Expands the best sums of every size that were not, until one is exact."""
    done = 0
    while done < table.policy.expansions:
        before = done
        for size in range(1, table.policy.largest + 1):
            for weight in table.policy.weights_of_misfit:
                first = ranked(table, known.of_size(size), weight)[: table.policy.looked_at]
                fresh = [found for found in first if found.key not in known.expanded]
                if not fresh:
                    continue
                known = expanded(table, known, fresh[0], threads)
                done += 1
                if exact(table, known) is not None or done >= table.policy.expansions or stop():
                    return known
        if done == before:
            break
    return known


def expanded(table: Table, known: Known, found: Sum, threads: int = 1) -> Known:
    near = surroundings(found, table)
    known = replace(known, expanded=known.expanded | {found.key})
    if near is None:
        return known
    proposals = [
        *_few(table, single_terms(table, found, near)),
        *_few(table, multiplied(table, found)),
        *_few(table, free_pairs(table, found, near)),
        *_few(table, mixed_pairs(table, found, near)),
        *_few(table, doubles(table, found, near)),
    ]
    new = fitted(list({(p.key, *p.numbers): p for p in proposals}.values()), table, threads)
    return merged(table, known, [*new, *fitted([s for n in new for s in _on_axis(n)], table, threads)])


def _few(table: Table, proposals: Iterable[Proposal]) -> list[Sum]:
    """The best, of each structure only some."""
    seen: dict[tuple, int] = {}
    few: list[Sum] = []
    for _, found in sorted(proposals, key=lambda p: -p[0]):
        key = found.key
        if seen.get(key, 0) >= table.policy.alike or len({t.key for t in found.terms if not t.numbers}) < sum(
            not t.numbers for t in found.terms
        ):
            continue
        seen[key] = seen.get(key, 0) + 1
        few.append(found)
        if len(few) == table.policy.refined:
            break
    return few


def _on_axis(found: Sum) -> Iterator[Sum]:
    """With a complex number on the real axis."""
    for place, term in enumerate(found.terms):
        for k, factor in enumerate(term.factors):
            if factor.kind in ON_AXIS:
                on = replace(factor, kind=ON_AXIS[factor.kind], numbers=factor.numbers[:1])
                yield found.replaced(place, replace(term, factors=(*term.factors[:k], on, *term.factors[k + 1 :])))


def search(table: Table, threads: int = 1) -> tuple[Sum | None, Known]:
    known = begin(table, threads)
    for _ in range(table.policy.stretches):
        found = exact(table, known)
        if found is not None:
            return found, known
        known = stretch(table, known, threads)
    return exact(table, known), known
