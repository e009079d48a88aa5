"""Sums taken apart: smooth functions, or functions of other columns, are projected out and let back in step by step.

Beside smooth functions only the roughest terms are left, and beside functions of the other columns only the terms of
one column. There the right terms stand out by many decades; the next step starts from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import log

import numpy as np

from ceql.sums.fitting import fitted
from ceql.sums.interactions import Pair, interacting
from ceql.sums.policy import SumSearchPolicy
from ceql.sums.search import Known, exact, expanded, merged, most_promising, ranked, standing_out
from ceql.sums.table import Table
from ceql.sums.terms import NOTHING, Factor, Real, Sum, Term
from ceql.sums.view import View, functions_of, smooth_functions, view_beside
from ceql.sums.vocabulary import KINDS, SIMPLER

_FLOOR = 1e-26  # of the square of y: misfits below it are rounding


@dataclass(frozen=True)
class Rung:
    """The columns whose terms are looked for, up to which degree they count as smooth, and the other columns."""

    own: tuple[int, ...]
    degree: int = 0
    others: tuple[int, ...] = ()
    is_split: bool = False  # whether columns that do not seem to act together are taken to stand apart


def rung_view(table: Table, rung: Rung, base: Sum = NOTHING) -> View:
    """The view of a rung, with functions of the other columns (as far as the rows allow), smooth functions of its own
    columns, and the known terms with their slopes projected out."""
    policy = table.policy
    known = columns_with_slopes(table, base)
    apart = frozenset[Pair]()
    if rung.is_split and rung.others:
        together = interacting(table.x, table.y, known, table.root_weight, policy.interactions)
        apart = frozenset(combinations(range(table.x.shape[1]), 2)) - together
    beside = [k for k in rung.others if any(_sorted(j, k) not in apart for j in rung.own)]
    functions = [known / table.root_weight[:, None]]
    if rung.degree:
        for j in rung.own:
            smooth = smooth_functions(table.x[:, j], rung.degree)
            functions += [smooth, *(smooth[:, 1:] * table.x[:, [k]] for k in beside)]
            functions += [smooth_functions(table.x[:, k], rung.degree)[:, 2:] * table.x[:, [j]] for k in beside]
    if rung.others:
        most = int(policy.projected * len(table.y))
        functions.append(functions_of(table.x, rung.others, most, apart, policy.dearer_apart))
    own, within = frozenset(rung.own), frozenset((*rung.own, *beside))
    return view_beside(table, np.concatenate(functions, axis=1), own if rung.others else None, within, base)


def _sorted(j: int, k: int) -> Pair:
    return (j, k) if j < k else (k, j)


def columns_with_slopes(table: Table, found: Sum) -> np.ndarray:
    """The columns of a sum and their slopes, weighted."""
    if not found.terms:
        return np.zeros((len(table.y), 0))
    columns, slopes = table.columns_of(found)
    return np.column_stack([columns, *_along_weights(found, slopes)])


def _along_weights(found: Sum, slopes: list[list[np.ndarray]]) -> list[np.ndarray]:
    """The slopes of the terms, with their weights, by their numbers."""
    ends = np.cumsum([term.columns for term in found.terms])[:-1]
    weights = np.split(np.array(found.weights), ends)
    return [slope @ c for by_number, c in zip(slopes, weights, strict=True) for slope in by_number]


def score(table: Table, found: Sum, weight: float) -> float:
    return weight * log(max(found.misfit, _FLOOR)) + table.price_of(found)


def leaders(table: Table, sums: Sequence[Sum]) -> list[Sum]:
    """The best sums by misfit and price, for several weights between the two; one of those with equal misfits."""
    best: dict[tuple, Sum] = {}
    for weight in table.policy.peeling_weights:
        chosen: list[Sum] = []
        for found in sorted(sums, key=lambda s: score(table, s, weight)):
            if all(_leave_other(found, other) for other in chosen):
                chosen.append(found)
            if len(chosen) == table.policy.roots:
                break
        best |= {found.key: found for found in chosen}
    return list(best.values())


def _leave_other(one: Sum, other: Sum) -> bool:
    return one.size != other.size or abs(log(max(one.misfit, _FLOOR) / max(other.misfit, _FLOOR))) > 0.02


def parts_left_out(found: Sum) -> Iterator[Sum]:
    """The sum without one of its terms, one of the monomials that share a factor, or one factor of a term."""
    for place, term in enumerate(found.terms):
        if len(found.terms) > 1:
            yield found.replaced(place)
        for factor in term.factors if len(term.factors) > 1 else ():
            yield found.replaced(place, replace(term, factors=tuple(f for f in term.factors if f != factor)))
        for monomial in term.monomials if len(term.monomials) > 1 else ():
            yield found.replaced(place, replace(term, monomials=tuple(m for m in term.monomials if m != monomial)))


def with_simpler_factors(found: Sum) -> Iterator[Sum]:
    """The sum with a simpler function in place of one that is close to it, such as log for a power near zero."""
    for place, term in enumerate(found.terms):
        for k, factor in enumerate(term.factors):
            for kind in SIMPLER[factor.kind]:
                other = Factor(kind, factor.inner, factor.numbers[: len(KINDS[kind].names)])
                yield found.replaced(place, replace(term, factors=(*term.factors[:k], other, *term.factors[k + 1 :])))


def explored(
    view: View, roots: Sequence[Sum], expansions: int, threads: int = 1, stop: Callable[[], bool] = lambda: False
) -> Known:
    """The given roots and the best sums derived from them, until nothing is left to explain."""
    table, policy = view.table, view.table.policy
    known = merged(table, Known(), fitted([s for s in roots if s.terms], view, threads))
    is_sure = len(roots) == 1 and bool(roots[0].terms)  # it was proved with more projected out
    for turn in range(expansions):
        if stop() or proved(view, known) is not None:
            break
        weight = policy.peeling_weights[turn % len(policy.peeling_weights)]
        fresh = [s for s in known.sums if s.structure not in known.expanded and s.size <= policy.largest]
        fresh.sort(key=lambda s: score(table, s, weight))
        if turn == 0 and (is_sure or NOTHING in roots):
            fresh = [roots[0] if is_sure else NOTHING]
        if not fresh:
            break
        known = expanded(view, known, fresh[0], threads, is_sure and turn == 0)
        first = [s for s in leaders(table, known.sums) if s.structure not in known.expanded]
        known = merged(table, known, fitted([part for s in first for part in parts_left_out(s)], view, threads))
    return known


def proved(view: View, known: Known) -> Sum | None:
    """The sum that stands out, if any; nothing further need then be explored beside what is projected out."""
    if view.nuisance.shape[1] == 0:
        return exact(view.table, known)
    return standing_out(view.table, known, view.left)


def pruned(view: View, known: Known, threads: int = 1) -> Known:
    """The sums, with parts of the best ones left out as long as their price exceeds what they explain in noise."""
    table, weight = view.table, len(view.table.y) / 2.0
    smaller: list[Sum] = []
    for found in ranked(table, known.sums, weight)[: table.policy.looked_at]:
        while True:
            parts = fitted(list(parts_left_out(found)), view, threads)
            found, before = next(iter(ranked(table, [found, *parts], weight))), found
            if found is before:
                break
            smaller.append(found)
    return merged(table, known, smaller)


# ---- column by column -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hope:
    """Terms of a column that stand out a little; if they are right, the others can be seen beside them."""

    decades: float  # decades per constant by which they stand out
    left: tuple[int, ...]
    base: Sum


@dataclass(frozen=True)
class Peeled:
    """How far a sum has been taken apart."""

    left: tuple[int, ...]  # the columns whose terms are not known yet
    waiting: tuple[int, ...]  # those of them that were not examined since the last column was done
    base: Sum = NOTHING  # the terms of the other columns
    rung: int = 0  # the next rung of the first waiting column
    roots: tuple[Sum, ...] = (NOTHING,)
    steps: int = 0
    in_vain: int = 0  # steps since the last that found a term
    due: int = 0  # network starts that come before the next step
    hopes: tuple[Hope, ...] = ()  # hopes not followed yet, the best first
    followed: int = 0
    sure: Hope | None = None  # what was known before the first hope was followed
    is_second: bool = False  # whether all columns have been examined once, in haste


def begun(table: Table) -> Peeled:
    columns = tuple(range(table.x.shape[1]))
    return Peeled(columns, columns if table.policy.separable else ())


def next_rung(
    table: Table, peeled: Peeled, threads: int = 1, stop: Callable[[], bool] = lambda: False
) -> tuple[Peeled, list[Sum]]:
    """The state after one more rung, and, once a column is done, sums to try with nothing projected out.

    A column whose terms are known is done: the rest is a sum of the others.
    """
    policy = table.policy
    column, is_last = peeled.waiting[0], len(peeled.left) == 1
    degrees = policy.degrees if is_last else policy.degrees_beside
    others = tuple(k for k in peeled.left if k != column)
    in_haste = not (is_last or peeled.is_second)
    view = rung_view(table, Rung((column,), degrees[peeled.rung], others, in_haste), peeled.base)
    is_done = peeled.rung + 1 == len(degrees)
    if view.left < policy.nothing_left:
        # What is left beside smooth functions is nothing yet; beside those of the others, it never will be.
        if not is_done:
            return replace(peeled, rung=peeled.rung + 1), []
        return _column_done(table, peeled, NOTHING), [peeled.base] if is_last else []
    count = policy.expansions_at_first if in_haste else policy.expansions_a_rung
    known = explored(view, peeled.roots, count, threads, stop)
    found = proved(view, known)
    decades, best = most_promising(table, known, view.left) if in_haste and found is None else (0.0, NOTHING)
    if decades >= policy.hope_at_once and not is_done:
        found, peeled = best, replace(peeled, sure=peeled.sure or Hope(0.0, peeled.left, peeled.base))
    peeled = _counted(peeled, found is not None, policy)
    if found is not None:
        found = trimmed(view, found, threads)
        if is_done and not is_last:
            return _column_done(table, peeled, found), [joined(peeled.base, found)]
    roots = tuple(leaders(table, known.sums))
    if found is not None:
        roots = (found, *(root for root in roots if root.key != found.key))
    if found is not None and not peeled.is_second:
        peeled, roots = _part_known(peeled, found), (NOTHING,)
    # With all of its terms in view a column that promised nothing before is in vain, at least beside these others.
    in_vain = in_haste and found is None and decades < policy.hope and degrees[peeled.rung + 1 :] == (0,)
    if not is_done and not in_vain:
        return replace(peeled, rung=peeled.rung + 1, roots=roots), [] if found is None else [peeled.base]
    if found is None and decades >= policy.hope:
        hopes = (*peeled.hopes, Hope(decades, peeled.left, joined(peeled.base, trimmed(view, best, threads))))
        peeled = replace(peeled, hopes=tuple(sorted(hopes, key=lambda hope: -hope.decades)))
    tries = [joined(peeled.base, root) for root in roots] if is_done else []
    waiting = peeled.waiting[1:]
    if waiting:
        return replace(peeled, waiting=waiting, rung=0, roots=(NOTHING,)), tries
    return _turned_back(table, peeled), tries


def _counted(peeled: Peeled, has_shown: bool, policy: SumSearchPolicy) -> Peeled:
    """The state with one more step counted; steps come less often while they find nothing."""
    in_vain = 0 if has_shown else peeled.in_vain + 1
    due = peeled.due + round(policy.starts_a_rung * (1.0 + policy.dearer_in_vain * in_vain))
    return replace(peeled, steps=peeled.steps + 1, in_vain=in_vain, due=due)


def _column_done(table: Table, peeled: Peeled, found: Sum) -> Peeled:
    left = tuple(k for k in peeled.left if k != peeled.waiting[0])
    base = joined(peeled.base, found)
    done = replace(peeled, left=left, waiting=left, base=base, rung=0, roots=(NOTHING,), is_second=False)
    return done if left else _turned_back(table, done)


def _part_known(peeled: Peeled, found: Sum) -> Peeled:
    """The state with more known terms of a column, beside which the search of all columns begins again."""
    column, *_ = peeled.waiting
    waiting = column, *(k for k in peeled.left if k != column)
    return replace(peeled, base=joined(peeled.base, found), waiting=waiting)


def _turned_back(table: Table, peeled: Peeled) -> Peeled:
    """The state after all columns: the best remaining hope, then all columns once more with patience, then nothing.

    Terms of the remaining columns are dropped: what looked proved beside smooth functions may be wrong.
    """
    sure = peeled.sure or Hope(0.0, peeled.left, peeled.base)
    if peeled.hopes and peeled.followed < table.policy.hopes:
        hope, *others = peeled.hopes
        return Peeled(
            hope.left,
            hope.left,
            hope.base,
            steps=peeled.steps,
            in_vain=peeled.in_vain,
            due=peeled.due,
            hopes=tuple(others),
            followed=peeled.followed + 1,
            sure=sure,
        )
    waiting = () if peeled.is_second else sure.left
    base = of_others(table, sure.base, sure.left)
    return replace(
        peeled, left=sure.left, waiting=waiting, base=base, rung=0, roots=(NOTHING,), hopes=(), is_second=True
    )


def of_others(table: Table, found: Sum, columns: Sequence[int]) -> Sum:
    """The terms with a column that is none of these."""
    others = {symbol for k, symbol in enumerate(table.symbols) if k not in columns}
    return with_terms_of(found, lambda term: bool(table.symbols_of(term) & others))


def with_terms_of(found: Sum, is_kept: Callable[[Term], bool]) -> Sum:
    """Some of the terms, with their weights."""
    weights = np.split(np.array(found.weights), np.cumsum([term.columns for term in found.terms])[:-1])
    kept = [k for k, term in enumerate(found.terms) if is_kept(term)]
    return Sum(tuple(found.terms[k] for k in kept), tuple(Real(float(w)) for k in kept for w in weights[k]))


def trimmed(view: View, found: Sum, threads: int = 1) -> Sum:
    """The sum without constants that contribute hardly anything."""
    policy = view.table.policy
    while True:
        left = max(found.misfit, policy.rounding)
        parts = [
            s for s in fitted(list(parts_left_out(found)), view, threads) if s.misfit <= left / policy.leap_a_constant
        ]
        simpler = [
            s for s in fitted(list(with_simpler_factors(found)), view, threads) if s.misfit <= left * policy.as_good
        ]
        if not parts and not simpler:
            return found
        found = min(parts or simpler, key=lambda s: s.misfit)


def joined(one: Sum, other: Sum) -> Sum:
    """The terms of both, with their weights."""
    weights = np.split(np.array(other.weights), np.cumsum([term.columns for term in other.terms])[:-1])
    known = {term.key for term in one.terms}
    fresh = [k for k, term in enumerate(other.terms) if term.key not in known]
    terms = (*one.terms, *(other.terms[k] for k in fresh))
    return Sum(terms, (*one.weights, *(Real(float(w)) for k in fresh for w in weights[k])))
