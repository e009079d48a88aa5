"""The search from its first round to its end.

`run` is a loop over steps that take a state and return the next one. The clock only decides whether another round
begins and how much is drawn at the end.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf
from typing import cast

from ceql.engine import fit
from ceql.engine.ahead import Ahead, Key, Plan, Planned
from ceql.errors import WorkersLostError
from ceql.formula import Formula
from ceql.search.archive import Archive
from ceql.search.ending import ended
from ceql.search.finishing import sketches_within
from ceql.search.glimpses import tell_beginning, tell_round
from ceql.search.outcome import Found, Outcome, Progress
from ceql.search.rests import Rests, glimpsed
from ceql.search.reweighting import followed
from ceql.search.scheduler import asked, is_measured, looks_noisy, next_turn, round_of, with_others
from ceql.search.simple_laws import simplest_law
from ceql.search.stage import Search, Stage, first_state, make_stage, proposers, require_own, weighted
from ceql.search.state import RowWeights, SearchState
from ceql.search.summing import next_sums
from ceql.search.sums_beside import Moment, SumsBeside
from ceql.search.target_search import (
    TargetProblem,
    begin,
    best_loss,
    closed_form,
    few_show_noise,
    fitted_round,
    glance,
    has_settled,
    next_round,
    reweighed,
)


def run(search: Search, kept: SearchState | None = None) -> Found:
    """Runs rounds until a formula is exact, the fit has settled, the time is up, or Ctrl-C is pressed.

    `kept` is the state of an earlier search; a ContentError is raised if it belongs to other targets.
    """
    stage, rests = make_stage(search, kept), Rests(search)
    if kept is not None:
        require_own(stage.targets, kept)
        rests.require(stage, kept)
    state = first_state(search, stage) if kept is None else kept
    first = state
    search.keep(first)
    exact: list[Formula] = []
    outcome = Outcome.OUT_OF_TIME if state.starts and search.deadline_of_rounds.over else None
    workers = search.workers
    ahead: Ahead[Archive] = Ahead(workers.rounds_ahead, workers.rounds_at_once, workers.starts_ahead)
    beside = SumsBeside(search)
    try:
        state, exact = _between_groups(search, stage, state)
        outcome = Outcome.EXACT if exact else outcome
        if outcome is None:
            _tell_first(search, stage, state)
        while outcome is None:
            before = state.starts
            state, exact = _next_round(search, stage, state, ahead)
            if not exact:
                state = _with_others_in_time(search, stage, state)
                _foresee(search, stage, state, ahead)
            if not exact and not state.started_before:
                state, exact = _without_search(search, stage, state)
            if not exact:
                state, exact = rests.next(stage, state)
            moment = Moment(stage, state, before)
            moment, exact = beside.caught_up(moment, exact) if exact else beside.follow(moment)
            moment = moment if exact else _reweighed(search, moment)
            _tell(search, moment.stage, moment.state)
            stage, state, outcome = _continued(search, moment, exact)
            if not exact and (outcome is not None or stage is not moment.stage):  # which the sums may know better
                moment, exact = beside.caught_up(moment, exact)
                stage, state, outcome = _continued(search, moment, exact)
            if outcome is Outcome.SETTLED:
                state = _summed_at_last(search, stage, state)
            if outcome is None:
                state = replace(state, seconds=search.watch.seconds)
                beside.goes_on(state)
                search.keep(beside.settled or first)
    except KeyboardInterrupt:  # what the steps before it have come to is kept
        outcome = Outcome.INTERRUPTED
    except WorkersLostError:
        if not state.starts:
            raise
        outcome = Outcome.WORKERS_LOST
    finally:
        ahead.give_up()
        beside.close()
    if beside.settled is not None:  # the sums of the last rounds have come since
        search.keep(beside.settled)
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


def _with_others_in_time(search: Search, stage: Stage, state: SearchState) -> SearchState:
    """The state with the other targets, if they are about to be made, so that the following rounds are known."""
    if state.started_before or state.explained or search.deadline_of_rounds.over:
        return state
    return _fresh_targets(search, stage, state)[0]


def _foresee(search: Search, stage: Stage, state: SearchState, ahead: Ahead[Archive]) -> None:
    """Begins the next rounds while the last one is evaluated, assuming that this changes nothing for them."""
    has_all = stage.targets.has_made_others(state) or not stage.targets.has_others
    if not search.workers.rounds_ahead or ahead.is_on_course or not has_all:
        return

    def call(key: Key, stop: fit.StopFlag) -> Archive:
        problem, archive, count = cast(tuple[TargetProblem, Archive, int], key)
        return fitted_round(problem, archive, count, search.workers, search.deadline_of_rounds, stop)

    ahead.follow(_foreseen(search, stage, state), call)


def _foreseen(search: Search, stage: Stage, state: SearchState) -> Plan[Archive]:
    """The next rounds, one chain per target, up to the point where other targets would have to be made. Which target
    follows a round of y depends on whether y looks noisy by then."""
    targets, most, deadline = stage.targets, search.settings.max_starts, search.deadline_of_rounds
    newest: dict[int, Archive] = {}
    under_way: set[int] = set()  # targets that are y itself

    def tell(turn: int, archive: Archive) -> None:
        newest[turn] = archive
        under_way.discard(turn)

    while not deadline.over and (most is None or state.starts < most):
        while len(under_way) >= len(targets.mains):
            yield None
        for turn, archive in newest.items():
            known = state.targets[turn]
            planned = replace(archive, starts=known.archive.starts, rounds=known.archive.rounds)
            state = state.with_target(turn, replace(known, archive=planned))
        state, turn = next_turn(targets, state, deadline.left)
        problem, known = stage.problems(state)[turn], state.targets[turn]
        count = round_of(targets, state, turn, most)
        if turn < len(targets.mains):
            under_way.add(turn)
        yield Planned(problem, count, partial(_round_after, problem, known.archive, count), partial(tell, turn))
        done = replace(known.archive, starts=known.archive.starts + count, rounds=known.archive.rounds + 1)
        state = state.with_target(turn, replace(known, archive=done))  # as if it were done
        if targets.has_others and not targets.has_made_others(state):
            return


def _round_after(problem: TargetProblem, archive: Archive, count: int, before: Archive | None) -> Key:
    """Everything that a round depends on: its problem, its archive and its number of starts. The archive is that of the
    round before, or the present one."""
    return problem, archive if before is None else before, count


def _continued(search: Search, moment: Moment, exact: list[Formula]) -> tuple[Stage, SearchState, Outcome | None]:
    """What the next round begins with, or how the search has ended."""
    stage, state = moment.stage, moment.state
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
        state, outcome = _ended_by_itself(search, stage, state, moment.before)
    return stage, state, outcome


def _reweighed(search: Search, moment: Moment) -> Moment:
    """Reweights the rows if a fit of y has improved, under a loss other than squares."""
    loss, stage, state = search.loss, moment.stage, moment.state
    if loss is None or search.deadline_of_rounds.over:
        return moment
    before = weights = state.weights or RowWeights(search.data.weight)
    for index, problem in enumerate(stage.mains):
        weights, known = followed(problem, state.targets[index], before, search.rows, loss)
        state = replace(state.with_target(index, known), weights=weights)
        if weights.weight is not before.weight:
            break
        before = weights
    else:
        return replace(moment, state=state)
    stage = weighted(search, stage, weights)
    problems = zip(stage.problems(state), state.targets, strict=True)
    state = replace(state, targets=tuple(reweighed(problem, known) for problem, known in problems))
    return replace(moment, stage=stage, state=state)


def _between_groups(search: Search, stage: Stage, state: SearchState) -> tuple[SearchState, list[Formula]]:
    """Laws with simple numbers between dimensionless groups; tried before the first round, after y itself."""
    if state.starts or search.loss is not None or not search.settings.constraints.is_strict:
        return state, []
    deadline = search.deadline_of_rounds
    plain = stage.targets.plain_mains[0]
    known, exact = closed_form(plain, begin(plain), deadline)
    if known.spare is not None:
        state = state.with_target(0, replace(state.targets[0], spare=known.spare))
    if not exact:
        law = simplest_law(stage.targets.grouped, lambda: deadline.over)
        exact = [] if law is None else [law]
    return state, exact


def _without_search(search: Search, stage: Stage, state: SearchState) -> tuple[SearchState, list[Formula]]:
    """Examines a few other targets after every round, fewest columns first, for formulas that need no search."""
    if state.explained or search.deadline_of_rounds.over:
        return state, []
    state, fresh = _fresh_targets(search, stage, state)
    problems, first = stage.problems(state), len(stage.targets.mains)
    for index in fresh[: search.policy.shortcuts.a_round]:
        if search.deadline_of_rounds.over:
            return state, []
        changed, exact = closed_form(problems[index], state.targets[index], search.deadline_of_rounds)
        if not exact and index < first + len(stage.targets.others.shorter):
            changed, exact = glimpsed(search, problems[index], changed)
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


def _summed_at_last(search: Search, stage: Stage, state: SearchState) -> SearchState:
    """Sums for noisy data, if the search has settled before their turn."""
    if state.sums is None or state.sums.in_noise:
        return state
    policy, threads = search.policy.sums, search.workers.threads_here
    starts, over = policy.last_in_noise * policy.starts_an_expansion_in_noise, lambda: search.deadline_of_rounds.over
    begun = next_sums(stage.main, None, 0, True, threads, over)
    return replace(state, sums=next_sums(stage.main, begun, starts, True, threads, over))


def _asked_those_tried(search: Search, stage: Stage, state: SearchState) -> SearchState:
    """Asks targets without a closed form for formulas for noisy data, which are fitted by least squares."""
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
    """Whether all rows are needed: noise averages out over rows, so they matter if no formula has been found yet."""
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
    if state.starts >= size * _enough_rounds(search, state):
        return state, Outcome.SETTLED
    mains = zip(stage.mains, state.targets, strict=False)
    if looks_noisy(stage.targets, state) and all(has_settled(problem, known) for problem, known in mains):
        return state, Outcome.SETTLED
    return state, Outcome.EXACT if state.rounds_with_spare > policy.rounds_with_spare else None


def _enough_rounds(search: Search, state: SearchState) -> float:
    """Rounds after which a table with few rows cannot distinguish further formulas; infinite for other tables."""
    policy, y = search.policy.end, search.data.y
    enough = policy.rounds_measured + len(y) // policy.rows_a_round
    if is_measured(y, policy):
        return enough
    if len(y) > policy.few:
        return inf
    if few_show_noise(state.targets[0].archive.chunk, len(y), search.policy.reduction):
        return enough
    return policy.rounds_of_few + policy.rounds_a_row * len(y)


def _tell_first(search: Search, stage: Stage, state: SearchState) -> None:
    """Reports the beginning, or what an earlier search left."""
    if state.starts:
        _tell(search, stage, state)
    else:
        tell_beginning(search, stage)


def _tell(search: Search, stage: Stage, state: SearchState) -> None:
    if not state.starts or not state.targets[0].archive.rounds:
        return
    seen, there = len(stage.main.samples.y), len(search.data.y)
    rows = f"{seen:,} of {there:,} rows" if seen < there else ""
    first = stage.main, state.targets[0]
    seconds, limit = search.watch.seconds, search.settings.time_limit
    report = Progress(seconds, limit, state.starts, best_loss(*first), rows, formula=partial(glance, *first))
    tell_round(search, stage, state, report)
