"""The result of a search: exact formulas with a few approximations, or a front that is drawn from its fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from functools import partial

import numpy as np

from ceql.choice.criterion import criterion
from ceql.engine.deadline import NEVER, Deadline
from ceql.formula import Formula
from ceql.search.drawing import at_once, front, lines, outline
from ceql.search.finishing import finishing, planned
from ceql.search.glimpses import tell_finished
from ceql.search.outcome import Found, Outcome
from ceql.search.policy import Finishing
from ceql.search.scheduler import asked, is_measured
from ceql.search.settings import Settings
from ceql.search.simpler_numbers import with_simpler_numbers
from ceql.search.stage import Search, Stage, proposers
from ceql.search.state import SearchState
from ceql.search.summing import expressions

Growing = Callable[[], Iterator[list[Formula]]]  # yields what there is again and again as it grows


def ended(search: Search, stage: Stage, state: SearchState, exact: list[Formula], outcome: Outcome) -> Found:
    """The formulas of a search that has ended this way."""
    found = partial(_found, stage, state)
    if exact:
        return found(exact + _quick_outline(stage, state), Outcome.EXACT, np.inf)
    stands_until = _stands_until(outcome, search.settings)
    if stands_until < np.inf:
        search.secure()  # a Ctrl-C may come while the front is drawn
    if outcome is Outcome.INTERRUPTED:
        return found(_in_haste(search, stage, state), outcome, stands_until)
    if state.spares:
        return found(state.spares + _quick_outline(stage, state), Outcome.EXACT, stands_until)
    if state.rounds_beyond_limit and outcome in (Outcome.SETTLED, Outcome.OUT_OF_TIME, Outcome.OUT_OF_STARTS):
        outcome = Outcome.TOO_COMPLEX
    formulas, cut = _drawn(search, stage, state)
    if cut is Outcome.OUT_OF_TIME:  # with a longer limit there would be more
        return found(formulas, outcome, min(stands_until, search.settings.time_limit))
    return found(formulas, *((outcome, stands_until) if cut is None else (cut, 0.0)))


def _found(stage: Stage, state: SearchState, formulas: list[Formula], outcome: Outcome, stands_until: float) -> Found:
    return Found(formulas, outcome, state.starts, 0.0, len(stage.main.samples.y), stands_until)


def _stands_until(ended_by: Outcome, settings: Settings) -> float:
    """The time limit up to which the search would end the same way again."""
    if ended_by is Outcome.OUT_OF_TIME:
        return settings.time_limit
    return 0.0 if ended_by in (Outcome.INTERRUPTED, Outcome.WORKERS_LOST) else np.inf


def _drawn(search: Search, stage: Stage, state: SearchState) -> tuple[list[Formula], Outcome | None]:
    """The formulas of the search, and what cut them short, if anything: Ctrl-C or the clock ends the drawing and keeps
    the formulas drawn so far. Formulas that need no search may take half of the remaining time."""
    data, settings = search.data, search.settings
    plan = finishing(settings.time_limit, search.deadline, len(data.y), search.policy.finishing, data.x.shape[1])
    if is_measured(data.y, search.policy.end):  # what such rows can tell apart is soon drawn
        least = planned(search.policy.finishing.levels[-1], search.policy.finishing)
        plan = Finishing(*map(min, astuple(plan), astuple(least)))
    deadline = search.deadline
    least = search.policy.finishing.drawn_anyway if len(data.y) <= search.policy.finishing.rows_for_free else 1
    tell = partial(tell_finished, search, state.starts)
    proposed, cut = _as_it_grows(partial(_proposals, search, stage, state, plan), deadline.halfway, least, tell)
    rival = min((criterion(formula, len(data.y), search.policy.prices) for formula in proposed), default=np.inf)
    of_fits: list[Formula] = []
    for problem, known in zip(stage.mains, state.targets, strict=False):
        if cut is not Outcome.INTERRUPTED and not (of_fits and deadline.over):
            given = problem, known, search.workers.threads_here, plan, rival
            # To take fits apart is the longest step of all. When the time is up they are drawn as they stand.
            growing = partial(at_once, problem, known, plan.drawn) if deadline.over else partial(front, *given)
            drawn, cut_now = _as_it_grows(growing, deadline, least, lambda drawn: tell([*proposed, *drawn]))
            of_fits, cut = of_fits + drawn, cut_now or cut
    if cut is not Outcome.INTERRUPTED and settings.template is None and deadline.over:
        of_fits += lines(stage.main, least)
    relatives: list[Formula] = []
    if cut is not Outcome.INTERRUPTED and settings.template is None and not deadline.over:
        policies = search.policy.polish, search.policy.prices
        given = of_fits + proposed, data, settings.constraints, plan.relatives, *policies
        relatives, cut_now = _as_it_grows(partial(with_simpler_numbers, *given), deadline)
        cut = cut_now or cut
    if cut is Outcome.INTERRUPTED:
        return _in_haste(search, stage, state, of_fits, proposed, relatives), cut
    return of_fits + proposed + relatives, Outcome.OUT_OF_TIME if deadline.over else cut


def _in_haste(
    search: Search,
    stage: Stage,
    state: SearchState,
    of_fits: Sequence[Formula] = (),
    proposed: Sequence[Formula] = (),
    relatives: Sequence[Formula] = (),
) -> list[Formula]:
    """The formulas available when Ctrl-C is pressed, and a few quick ones if there are none.

    A second Ctrl-C ends this as well and keeps what there is.
    """
    kept = [*state.spares, *of_fits, *proposed, *relatives]
    plan = search.policy.finishing.in_haste
    missing: list[Growing] = []
    if not of_fits:
        missing.append(partial(at_once, stage.main, state.targets[0], plan.drawn))
    if not proposed:
        missing.append(partial(stage.candidates.sketched, proposers(stage, state), plan.sketched))
    for growing in missing:
        more, cut = _as_it_grows(growing)
        kept += more
        if cut is not None:
            break
    return kept


def _proposals(search: Search, stage: Stage, state: SearchState, plan: Finishing) -> Iterator[list[Formula]]:
    """Formulas for noisy data that need no search. With few rows, also small ones from fits of other targets."""
    outlined: list[Formula] = []
    if len(search.data.y) <= search.policy.turns.few_rows:
        mains = len(stage.mains)
        pairs = zip(stage.problems(state)[mains:], state.targets[mains:], strict=True)
        searched = [(problem, known) for problem, known in pairs if known.archive.rounds]
        for problem, known in searched[: plan.outlined]:
            outlined = [*outlined, *outline(problem, known)]
            yield outlined
    most = plan.asked, search.policy.noisy.worth_making, search.deadline.halfway.left
    state = asked(stage.targets, state, *most)
    sums = expressions(stage.main, state.sums)
    for drawn in stage.candidates.drawn(proposers(stage, state), plan, sums):
        yield outlined + drawn


def _as_it_grows(
    growing: Growing,
    deadline: Deadline = NEVER,
    least: int = 1,
    tell: Callable[[list[Formula]], None] = lambda _: None,
) -> tuple[list[Formula], Outcome | None]:
    """The last of these lists, and what prevented longer ones: Ctrl-C, or the clock once there are enough."""
    so_far: list[Formula] = []
    try:
        for longer in growing():
            so_far = longer
            tell(so_far)
            if len(so_far) >= least and deadline.over:
                return so_far, Outcome.OUT_OF_TIME
    except KeyboardInterrupt:
        return so_far, Outcome.INTERRUPTED
    return so_far, None


def _quick_outline(stage: Stage, state: SearchState) -> list[Formula]:
    try:
        return outline(stage.main, state.targets[0])
    except KeyboardInterrupt:
        return []
