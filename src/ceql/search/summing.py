"""Sums of terms as a part of the rounds: after each of them a few sums of y itself are expanded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ceql.engine.one_thread import one_thread
from ceql.search.partials import Partial, is_y, partial_sum
from ceql.search.target_search import Step, TargetProblem, TargetState, examined
from ceql.sums import Known, Peeled, View, begun, exact, expression, make_table, next_rung, plain_view, stretch, tidied
from ceql.sums.peeling import explored, pruned
from ceql.sums.search import merged, ranked


@dataclass(frozen=True)
class Summing:
    """What is known of the sums of a target."""

    known: Known
    in_noise: bool  # then all rows count alike, instead of by the size of y
    peeled: Peeled
    parts: tuple[Partial, ...] = ()  # of y, that were sure on the way


@one_thread
def next_sums(
    problem: TargetProblem, before: Summing | None, starts: int, in_noise: bool, threads: int, stop: Callable[[], bool]
) -> Summing | None:
    """The sums after another stretch, as far as the number of starts allows; they begin again once there is noise.

    None if sums are not searched.
    """
    policy = problem.policy.sums
    too_small = len(problem.target.y) < policy.fewest_rows
    if not policy.used or too_small or problem.target.x.shape[1] > policy.most_columns:
        return None
    if problem.functions is not None and "mul" not in problem.functions:
        return None  # whose terms are products
    view = view_of(problem, in_noise)
    if before is None or before.in_noise is not in_noise:
        first = policy.first // len(view.table.symbols)
        parts = () if before is None else before.parts
        return Summing(stretch(view, Known(), first, threads), in_noise, begun(view.table), parts)
    while not in_noise and before.peeled.waiting and not stop():
        if before.peeled.due > starts:
            return before
        before = _climbed(problem, view, before, threads, stop)
        if exact(view.table, before.known) is not None:
            return before
    most, for_each = policy.most_expansions, policy.starts_an_expansion
    if in_noise:
        most, for_each = policy.most_in_noise, policy.starts_an_expansion_in_noise
    count = min(policy.first + starts // for_each, most) - len(before.known.expanded)
    known = stretch(view, before.known, count, threads, stop)
    if in_noise and known is not before.known and not stop():
        known = pruned(view, known, threads)
    return replace(before, known=known)


def _climbed(problem: TargetProblem, view: View, before: Summing, threads: int, stop: Callable[[], bool]) -> Summing:
    """After one more rung; a stop on the way leaves no trace."""
    peeled, tries = next_rung(view.table, before.peeled, threads, stop)
    expansions = 0 if peeled.waiting else view.table.policy.expansions_a_rung
    found = explored(view, tries, expansions, threads, stop) if tries else Known()
    known = merged(view.table, before.known, found.sums)
    policies = problem.policy.rests, problem.policy.transforms
    part = partial_sum(view.table, before.peeled, peeled, *policies, threads) if is_y(problem.target) else None
    is_known = part is None or any(part.is_like(other) for other in before.parts)
    parts = before.parts if is_known else (*before.parts, part)
    return before if stop() else replace(before, known=known, peeled=peeled, parts=parts)


@one_thread
def has_exact(problem: TargetProblem, summing: Summing) -> bool:
    """Whether one of the sums leaves nothing."""
    return exact(view_of(problem, summing.in_noise).table, summing.known) is not None


@one_thread
def exact_sum(problem: TargetProblem, state: TargetState, summing: Summing, threads: int) -> Step:
    """The formula of an exact sum, if there is one."""
    view = view_of(problem, summing.in_noise)
    found = exact(view.table, summing.known)
    if found is None:
        return state, []
    state, formula = examined(problem, state, expression(tidied(view, found, threads), view.table))
    return state, [] if formula is None else [formula]


def expressions(problem: TargetProblem, summing: Summing | None) -> list[Any]:
    """The best sums of each size, for noisy data, in the user's columns."""
    if summing is None:
        return []
    policy = problem.policy.sums
    table = view_of(problem, summing.in_noise).table
    sizes = sorted({found.size for found in summing.known.sums})
    best = [
        found
        for size in sizes
        for found in ranked(table, summing.known.of_size(size), len(table.y) / 2.0)[: policy.proposed_a_size]
    ]
    best = ranked(table, best, len(table.y) / 2.0)[: policy.proposed]
    return [problem.target.back(expression(found, table)) for found in best]


def view_of(problem: TargetProblem, in_noise: bool) -> View:
    """With nothing projected out; worked out once for a target."""
    policy, target, known = problem.policy.sums, problem.target, problem.sum_views
    if in_noise not in known:
        counted = np.flatnonzero(target.weight > 0.0)
        some = np.sort(np.random.default_rng(0).permutation(counted)[: policy.rows])
        x, y, weight = target.x[some], target.y[some], np.sqrt(target.weight[some])
        if not in_noise:
            weight = weight / np.hypot(y, np.median(np.abs(y)) or 1.0)
        combined = 1 < x.shape[1] <= policy.most_combined
        known[in_noise] = plain_view(make_table(x, y, target.symbols, weight, policy, combined, problem.functions))
    return known[in_noise]
