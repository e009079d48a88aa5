"""Sums of terms as a part of the rounds: after each of them a few sums of y itself are expanded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ceql.search.target_search import Step, TargetProblem, TargetState, examined
from ceql.sums import Known, Table, begin, exact, expression, make_table, stretch, tidied
from ceql.sums.search import NOTHING, expanded, ranked


@dataclass(frozen=True)
class Summing:
    """What is known of the sums of a target."""

    known: Known
    in_noise: bool  # then all rows count alike, instead of by the size of y
    combined: bool = False  # whether combinations of two columns have come in


def next_sums(
    problem: TargetProblem, before: Summing | None, starts: int, in_noise: bool, threads: int, stop: Callable[[], bool]
) -> Summing | None:
    """After another stretch, as far as the number of starts allows; all is begun anew once there is noise.

    None where no sums are looked for.
    """
    policy = problem.policy.sums
    if len(problem.target.y) < policy.fewest_rows or problem.target.x.shape[1] > policy.most_columns:
        return None
    if problem.functions is not None and "mul" not in problem.functions:
        return None  # whose terms are products
    if before is None or before.in_noise is not in_noise:
        begun = Summing(Known(), in_noise)
        return replace(begun, known=begin(table_of(problem, begun), threads))
    done, most = len(before.known.expanded), policy.most_in_noise if in_noise else policy.most_expansions
    times = min(problem.target.x.shape[1], policy.dearer)
    count = min(policy.first + starts // (policy.starts_an_expansion * times), most) - done
    if count <= 0:
        return before
    if done >= policy.plain and not before.combined and 1 < problem.target.x.shape[1] <= policy.most_combined:
        before = replace(before, combined=True)
        return replace(before, known=expanded(table_of(problem, before), before.known, NOTHING, threads))
    return replace(before, known=stretch(table_of(problem, before), before.known, count, threads, stop))


def exact_sum(problem: TargetProblem, state: TargetState, summing: Summing, threads: int) -> Step:
    """The formula of an exact sum, if there is one."""
    table = table_of(problem, summing)
    found = exact(table, summing.known)
    if found is None:
        return state, []
    state, formula = examined(problem, state, expression(tidied(table, found, threads), table))
    return state, [] if formula is None else [formula]


def expressions(problem: TargetProblem, summing: Summing | None) -> list[Any]:
    """The best sums of each size, for noisy data, in the user's columns."""
    if summing is None:
        return []
    policy = problem.policy.sums
    table = table_of(problem, summing)
    sizes = sorted({found.size for found in summing.known.sums})
    best = [
        found
        for size in sizes
        for found in ranked(table, summing.known.of_size(size), len(table.y) / 2.0)[: policy.proposed_a_size]
    ]
    best = ranked(table, best, len(table.y) / 2.0)[: policy.proposed]
    return [problem.target.back(expression(found, table)) for found in best]


def table_of(problem: TargetProblem, summing: Summing) -> Table:
    """Worked out once for a target."""
    policy, target, known = problem.policy.sums, problem.target, problem.sum_tables
    which = summing.in_noise, summing.combined
    if which not in known:
        counted = np.flatnonzero(target.weight > 0.0)
        some = np.sort(np.random.default_rng(0).permutation(counted)[: policy.rows])
        x, y, weight = target.x[some], target.y[some], np.sqrt(target.weight[some])
        if not summing.in_noise:
            weight = weight / np.hypot(y, np.median(np.abs(y)) or 1.0)
        known[which] = make_table(x, y, target.symbols, weight, policy, summing.combined, problem.functions)
    return known[which]
