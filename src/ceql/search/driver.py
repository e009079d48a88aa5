"""The search from its first round to its end.

`run` is a loop over steps that take a state and give the next one. The clock is asked whether a further round begins,
and how much can be drawn at the end; nothing else depends on it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ceql.engine.ahead import Ahead
from ceql.errors import WorkersLostError
from ceql.formula import Formula
from ceql.search.archive import Archive
from ceql.search.ending import ended
from ceql.search.finishing import sketches_within
from ceql.search.outcome import Found, Outcome, Progress
from ceql.search.reweighting import followed
from ceql.search.scheduler import asked, is_measured, looks_noisy, next_turn, round_of, with_others
from ceql.search.stage import Search, Stage, first_state, make_stage, proposers, require_own, weighted
from ceql.search.state import RowWeights, SearchState
from ceql.search.summing import exact_sum, next_sums
from ceql.search.target_search import (
    TargetProblem,
    TargetState,
    best_loss,
    closed_form,
    fitted_round,
    glance,
    has_settled,
    next_round,
    reweighed,
)


def run(search: Search, kept: SearchState | None = None) -> Found:
    """Rounds until a formula is exact, the fit has settled, the time is up or Ctrl-C comes.

    `kept` is what an earlier search left; a ContentError where it belongs to other targets.
    """
    stage = make_stage(search, kept)
    if kept is not None:
        require_own(stage.targets, kept)
    state = first_state(search, stage) if kept is None else kept
    search.keep(state)
    exact: list[Formula] = []
    outcome = Outcome.OUT_OF_TIME if state.starts and search.deadline_of_rounds.over else None
    ahead: Ahead[Archive] = Ahead()
    try:
        while outcome is None:
            before = state.starts
            state, exact = _next_round(search, stage, state, ahead)
            if not exact:
                _foresee(search, stage, state, ahead)
            if not exact and not state.started_before:
                state, exact = _without_search(search, stage, state)
            if not exact:
                state, exact = _summed(search, stage, state)
            if not exact:
                stage, state = _reweighed(search, stage, state)
            _tell(search, stage, state)
            stage, state, outcome = _continued(search, stage, state, before, exact)
    except KeyboardInterrupt:  # what the steps before it have come to is kept
        outcome = Outcome.INTERRUPTED
    except WorkersLostError:
        if not state.starts:
            raise
        outcome = Outcome.WORKERS_LOST
    finally:
        ahead.close()
    return ended(search, stage, state, exact, outcome)


# ---- the steps between two rounds ---------------------------------------------------------------------------------


def _next_round(
    search: Search, stage: Stage, state: SearchState, ahead: Ahead[Archive]
) -> tuple[SearchState, list[Formula]]:
    anyhow = not state.starts
    state, turn = next_turn(stage.targets, state, search.deadline_of_rounds.left)
    problem = stage.problems(state)[turn]
    count = round_of(stage.targets, state, turn, search.settings.max_starts)
    known, deadline = state.targets[turn], search.deadline_of_rounds
    changed, exact = next_round(problem, known, count, search.workers, deadline, anyhow, ahead)
    return state.with_target(turn, changed), exact


def _foresee(search: Search, stage: Stage, state: SearchState, ahead: Ahead[Archive]) -> None:
    """Begins the next round beside what follows the last one, as it will be if that changes nothing for it."""
    targets, most, deadline = stage.targets, search.settings.max_starts, search.deadline_of_rounds
    is_last = deadline.over or (most is not None and state.starts >= most)
    is_first = state.rounds <= len(targets.mains)  # the other targets, which come next, are made after it
    if is_last or not search.workers.has_spare or (targets.has_others and is_first):
        return
    state, turn = next_turn(targets, state, deadline.left)
    key = stage.problems(state)[turn], state.targets[turn].archive, round_of(targets, state, turn, most)
    ahead.begin(key, partial(fitted_round, *key, search.workers, deadline))


def _continued(
    search: Search, stage: Stage, state: SearchState, before: int, exact: list[Formula]
) -> tuple[Stage, SearchState, Outcome | None]:
    """What the next round begins with, or how the search has ended; there were so many starts `before` this one."""
    if exact:
        return stage, state, Outcome.EXACT
    if search.deadline_of_rounds.over:
        return stage, state, Outcome.OUT_OF_TIME
    if search.settings.max_starts is not None and state.starts >= search.settings.max_starts:
        return stage, state, Outcome.OUT_OF_STARTS
    outcome: Outcome | None = None
    state, needs_more_rows = _needs_more_rows(search, stage, state)
    if needs_more_rows:
        stage = make_stage(search, on_all_rows=True)
        state = replace(
            first_state(search, stage),
            started_before=state.starts,
            rounds_beyond_limit=state.rounds_beyond_limit,
            rounds_with_spare=state.rounds_with_spare,
        )
    else:
        state, outcome = _ended_by_itself(search, stage, state, before)
    if outcome is None:
        state = replace(state, seconds=search.watch.seconds)
        search.keep(state)
    return stage, state, outcome


def _reweighed(search: Search, stage: Stage, state: SearchState) -> tuple[Stage, SearchState]:
    """The rows weighed anew where a fit of y has become better, under a loss that is not of squares."""
    loss = search.loss
    if loss is None or search.deadline_of_rounds.over:
        return stage, state
    before = weights = state.weights or RowWeights(search.data.weight)
    for index, problem in enumerate(stage.mains):
        weights, known = followed(problem, state.targets[index], before, search.rows, loss)
        state = replace(state.with_target(index, known), weights=weights)
        if weights.weight is not before.weight:
            break
        before = weights
    else:
        return stage, state
    stage = weighted(search, stage, weights)
    problems = zip(stage.problems(state), state.targets, strict=True)
    return stage, replace(state, targets=tuple(reweighed(problem, known) for problem, known in problems))


def _without_search(search: Search, stage: Stage, state: SearchState) -> tuple[SearchState, list[Formula]]:
    """Other targets that may need no search, those with the fewest columns first: a few after every round."""
    if state.explained or search.deadline_of_rounds.over:
        return state, []
    state, fresh = _fresh_targets(search, stage, state)
    problems, first = stage.problems(state), len(stage.targets.mains)
    for index in fresh[: search.policy.shortcuts.a_round]:
        if search.deadline_of_rounds.over:
            return state, []
        changed, exact = closed_form(problems[index], state.targets[index], search.deadline_of_rounds)
        if not exact and index < first + len(stage.targets.others.shorter):
            changed, exact = _glimpsed(search, problems[index], changed)
        state = state.with_target(index, changed)
        if exact:
            return state, exact
    state = _asked_those_tried(search, stage, state)
    if search.deadline_of_rounds.over:
        return state, []
    noise = stage.targets.noise_at_most(state)
    state = replace(state, explained=stage.candidates.explain(proposers(stage, state), stage.main, noise))
    policy = search.policy.noisy
    seconds = policy.asking * search.settings.time_limit
    if state.explained and search.deadline_of_rounds.left >= seconds:
        # So that what may be even better is not left to the last moment.
        plan = search.policy.finishing
        most = min(plan.everything.asked, sketches_within(seconds, len(search.data.y), plan))
        state = asked(stage.targets, state, most, policy.worth_making, search.deadline_of_rounds.left)
        stage.candidates.of(proposers(stage, state))
    return state, []


def _summed(search: Search, stage: Stage, state: SearchState) -> tuple[SearchState, list[Formula]]:
    """Sums of terms for y itself, under squares: their weights are solved for.

    Of few measured rows none: these cannot tell sums apart from the small forms, which are all tried.
    """
    if search.loss is not None or search.settings.template is not None or search.deadline_of_rounds.over:
        return state, []
    if is_measured(search.data.y, search.policy.end):
        return state, []
    threads = search.workers.threads_here
    in_noise = bool(state.started_before)
    starts = state.starts - state.started_before
    sums = next_sums(stage.main, state.sums, starts, in_noise, threads, lambda: search.deadline_of_rounds.over)
    state = replace(state, sums=sums)
    if sums is None:
        return state, []
    changed, exact = exact_sum(stage.main, state.targets[0], sums, threads)
    return state.with_target(0, changed), exact


def _glimpsed(search: Search, problem: TargetProblem, known: TargetState) -> tuple[TargetState, list[Formula]]:
    """A first look at sums of terms for a target of very few variables, where it takes a fraction of a second."""
    if search.loss is not None or problem.target.x.shape[1] > search.policy.shortcuts.summed:
        return known, []
    threads, over = search.workers.threads_here, lambda: search.deadline_of_rounds.over
    begun = next_sums(problem, None, 0, False, threads, over)
    sums = None if begun is None else next_sums(problem, begun, 0, False, threads, over)
    known, exact = (known, []) if sums is None else exact_sum(problem, known, sums, threads)
    problem.sum_views.clear()  # which nothing reads again
    return known, exact


def _asked_those_tried(search: Search, stage: Stage, state: SearchState) -> SearchState:
    """Targets without a closed form are asked for formulas that fit noisy data; least squares is what they propose."""
    problems = stage.problems(state)
    tried = [k for k, known in enumerate(state.targets) if known.tried_closed_form]
    for index in tried if search.loss is None and len(tried) > len(stage.targets.mains) else []:
        if search.deadline_of_rounds.over:
            break
        stage.candidates.of([problems[index]])
        state = replace(state, asked=state.asked | {index})
    return state


def _fresh_targets(search: Search, stage: Stage, state: SearchState) -> tuple[SearchState, list[int]]:
    if not stage.targets.may_make_others(state, search.deadline_of_rounds.left):
        return state, []
    # After a few rounds a hard formula may still look like noise.
    policy = search.policy.shortcuts
    most = policy.targets_in_noise if looks_noisy(stage.targets, state) else policy.targets
    state = with_others(stage.targets, state)
    first = len(stage.targets.mains)
    in_order = range(first, len(state.targets))[:most]
    return state, [k for k in in_order if not state.targets[k].tried_closed_form]


def _needs_more_rows(search: Search, stage: Stage, state: SearchState) -> tuple[SearchState, bool]:
    """Noise is averaged out over rows, so that they count where the formula is yet to be found."""
    if not stage.targets.looks_at_few_rows or state.explained or not looks_noisy(stage.targets, state):
        return state, False
    state, fresh = _fresh_targets(search, stage, state)
    return state, not fresh


def _ended_by_itself(
    search: Search, stage: Stage, state: SearchState, before: int
) -> tuple[SearchState, Outcome | None]:
    policy, size = search.policy.end, search.policy.round_size
    worth = (state.starts - before) // size  # a large round counts as several
    state = replace(
        state,
        rounds_beyond_limit=state.rounds_beyond_limit + worth * any(known.exceeds_limit for known in state.targets),
        rounds_with_spare=state.rounds_with_spare + worth * bool(state.spares),
        rounds_explained=state.rounds_explained + state.explained,
    )
    if state.rounds_explained > policy.rounds_explained or state.rounds_beyond_limit > policy.rounds_beyond_limit:
        return state, Outcome.SETTLED
    enough = policy.rounds_measured + len(search.data.y) // policy.rows_a_round
    if state.starts >= enough * size and is_measured(search.data.y, policy):
        return state, Outcome.SETTLED
    mains = zip(stage.mains, state.targets, strict=False)
    if looks_noisy(stage.targets, state) and all(has_settled(problem, known) for problem, known in mains):
        return state, Outcome.SETTLED
    return state, Outcome.EXACT if state.rounds_with_spare > policy.rounds_with_spare else None


def _tell(search: Search, stage: Stage, state: SearchState) -> None:
    if not state.starts or not state.targets[0].archive.rounds:
        return
    seen, there = len(stage.main.samples.y), len(search.data.y)
    rows = f"{seen:,} of {there:,} rows" if seen < there else ""
    best, formula = best_loss(stage.main, state.targets[0]), partial(glance, stage.main, state.targets[0])
    seconds, limit = search.watch.seconds, search.settings.time_limit
    search.report(Progress(seconds, limit, state.starts, best, rows, formula=formula))
