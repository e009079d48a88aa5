"""Rests: what remains of y beside a known part, as targets of their own that get some of the rounds.

A sum is taken apart column by column. The terms of one column are often proved long before those of another, which may
not be in the vocabulary at all. What remains then depends on fewer columns and consists of few terms, which
sub-networks, closed forms or undoing the outermost operator find easily. Every formula of a rest gives one of y, and
all numbers of both parts are fitted together before it is judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from ceql.data.dataset import Dataset
from ceql.formula import Formula
from ceql.search.partials import Partial, is_y, rest_of
from ceql.search.policy import RestPolicy
from ceql.search.scheduler import SearchTargets, next_turn, round_of, with_others
from ceql.search.stage import Search, Stage, require_own
from ceql.search.state import Rest, SearchState
from ceql.search.summing import exact_sum, has_exact, next_sums, view_of
from ceql.search.target_search import TargetProblem, TargetState, begin, closed_form, next_round
from ceql.transforms import TransformedTarget


def with_rests(state: SearchState, policy: RestPolicy) -> SearchState:
    """The state with a rest for each part of y that the sums are sure of, the first ones first."""
    parts = () if state.sums is None else state.sums.parts[: policy.most]
    fresh = tuple(Rest(part) for part in parts[len(state.rests) :])
    return replace(state, rests=(*state.rests, *fresh)) if fresh else state


@dataclass(eq=False)
class Rests:
    """The rests of a search: their targets, made when they are first needed, and their turns."""

    search: Search
    # Per rest the targets of y that it belongs to, and its own.
    _known: dict[int, tuple[SearchTargets, SearchTargets | None]] = field(default_factory=dict)

    def require(self, stage: Stage, state: SearchState) -> None:
        """A ContentError where a rest has the state of other targets."""
        for index, rest in enumerate(state.rests):
            targets = self._targets(stage, index, rest)
            if rest.state is not None and targets is not None:
                require_own(targets, rest.state)

    def next(self, stage: Stage, state: SearchState) -> tuple[SearchState, list[Formula]]:
        """The state after a round of the rest whose turn it is, if any."""
        index, most = self._turn(state), self.search.settings.max_starts
        if index is None or self.search.deadline_of_rounds.over or (most is not None and state.starts >= most):
            return state, []
        rest = state.rests[index]
        targets = self._targets(stage, index, rest)
        if targets is None:
            return state.with_rest(index, replace(rest, is_done=True)), []
        rest, exact = self._next(targets, rest)
        return state.with_rest(index, rest), exact

    def _turn(self, state: SearchState) -> int | None:
        """The first rest with the fewest starts, as long as the rests have had less than their share."""
        policy = self.search.policy.rests
        spent = sum(rest.starts for rest in state.rests)
        waiting = [k for k, rest in enumerate(state.rests) if not rest.is_done and rest.starts < policy.starts]
        if not waiting or spent * policy.every > state.starts:
            return None
        return min(waiting, key=lambda k: state.rests[k].starts)

    def _next(self, targets: SearchTargets, rest: Rest) -> tuple[Rest, list[Formula]]:
        """A round of the rest or of a target made from it; before the first round, formulas that need no search."""
        search, deadline = self.search, self.search.deadline_of_rounds
        state = rest.state
        if state is None:
            state = SearchState(tuple(map(begin, targets.mains)))
            state, exact = self._without_search(targets, state)
            if exact or deadline.over:
                return replace(rest, state=state), exact
        state, turn = next_turn(targets, state, deadline.left)
        problem, known = targets.problems(state)[turn], state.targets[turn]
        count = round_of(targets, state, turn, None)
        changed, exact = next_round(problem, known, count, search.workers, deadline)
        state = state.with_target(turn, changed)
        if not exact and not deadline.over:
            state, exact = self._summed(targets.mains[0], state)
        return replace(rest, state=state), exact

    def _summed(self, main: TargetProblem, state: SearchState) -> tuple[SearchState, list[Formula]]:
        """Sums of the rest, as of y itself."""
        threads, deadline = self.search.workers.threads_here, self.search.deadline_of_rounds
        sums = next_sums(main, state.sums, state.starts, False, threads, lambda: deadline.over)
        state = replace(state, sums=sums)
        if sums is None or not has_exact(main, sums):
            return state, []
        known, exact = exact_sum(main, state.targets[0], sums, threads)
        return state.with_target(0, known), exact

    def _without_search(self, targets: SearchTargets, state: SearchState) -> tuple[SearchState, list[Formula]]:
        """Looks for formulas of the rest, and of the first targets made from it, that need no search."""
        deadline = self.search.deadline_of_rounds
        state = with_others(targets, state)
        for index, problem in enumerate(targets.problems(state)[: self.search.policy.rests.asked]):
            if deadline.over:
                break
            changed, exact = closed_form(problem, state.targets[index], deadline)
            if not exact:
                changed, exact = glimpsed(self.search, problem, changed)
            state = state.with_target(index, changed)
            if exact:
                return state, exact
        return state, []

    def _targets(self, stage: Stage, index: int, rest: Rest) -> SearchTargets | None:
        known = self._known.get(index)
        if known is None or known[0] is not stage.targets or rest.state is None:
            known = self._known[index] = stage.targets, _targets_of(stage, rest.part, self.search.policy.rests)
        return known[1]


def glimpsed(search: Search, problem: TargetProblem, known: TargetState) -> tuple[TargetState, list[Formula]]:
    """A first look at sums of terms for a target of very few variables, where it takes a fraction of a second."""
    if search.loss is not None or problem.target.x.shape[1] > search.policy.shortcuts.summed:
        return known, []
    threads, over = search.workers.threads_here, lambda: search.deadline_of_rounds.over
    begun = next_sums(problem, None, 0, False, threads, over)
    sums = None if begun is None else next_sums(problem, begun, 0, False, threads, over)
    known, exact = (known, []) if sums is None else exact_sum(problem, known, sums, threads)
    problem.sum_views.clear()  # which nothing reads again
    return known, exact


def _targets_of(stage: Stage, part: Partial, policy: RestPolicy) -> SearchTargets | None:
    """The targets of a rest: the rest itself and all targets that can be made from it, as for y."""
    if not is_y(stage.main.target):
        return None
    target = rest_of(stage.targets.target, part, view_of(stage.main, False).table)
    if target is None:
        return None
    return replace(stage.targets, target=target, make=partial(_with_loose_sums, stage.targets.make, policy), units=None)


def _with_loose_sums(
    make: Callable[..., TargetProblem],
    policy: RestPolicy,
    data: Dataset,
    whole: TransformedTarget,
    target: TransformedTarget,
) -> TargetProblem:
    """A problem whose exact sums may leave as much as the error of the rest."""
    problem = make(data, whole, target)
    sums = replace(problem.policy.sums, vanishes=max(problem.policy.sums.vanishes, policy.vanishes))
    return replace(problem, policy=replace(problem.policy, sums=sums))
