"""The rounds of a search: who has a turn, when more rows are needed, when it ends, and what is drawn of it then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ceql.choice.criterion import criterion
from ceql.data.dataset import Dataset, Scaling
from ceql.engine.deadline import Deadline, Stopwatch
from ceql.engine.dispatch import Workers
from ceql.errors import WorkersLostError
from ceql.formula import Formula, make_symbols
from ceql.network import Structure
from ceql.network.libraries import search_network
from ceql.search.finishing import EVERYTHING, IN_HASTE, Finishing, finishing, reserve, sketches_within
from ceql.search.noisy_candidates import Proposed
from ceql.search.outcome import Found, Outcome, Progress
from ceql.search.reweighting import Reweighting
from ceql.search.scheduler import Turns
from ceql.search.settings import Settings
from ceql.search.simpler_numbers import plainer
from ceql.search.state import Keeping, SearchState
from ceql.search.target_search import Hunt
from ceql.templates.assembly import Assembly
from ceql.transforms import TransformedTarget, plain

_ROUNDS_BEYOND_LIMIT = 12  # the truth is known to be larger than allowed: so many rounds more for an approximation
# Aims that are looked at for a closed form, fewer of them where the data look noisy; to look at one takes about 0.2 s.
_SHORTCUTS, _SHORTCUTS_IN_NOISE, _SHORTCUTS_A_ROUND = 24, 12, 4
_ROUNDS_EXPLAINED = 2  # a formula that needed no search leaves only noise: so many rounds more for a better one
_ASKING = 0.25  # share of the time limit that may go into asking for more of them
_WORTH_MAKING = 4  # other aims to be asked, from which on they are made for it; to make them may take a second
_ROUNDS_WITH_SPARE = 40  # an exact formula is there: so many rounds more for a shorter one
_FEWEST_EDGES = 6  # a limit on the edges of sub-networks is never less
_FEW_ROWS = 40  # up to so many rows, some of the other aims are drawn too: their noise matters less
_FIRST_ROWS, _SEARCHED_ROWS = 400, 2000  # of a long table; without noise few rows say as much as many


class Rounds:
    """Rounds until a formula is exact, the fit has settled, the time is up or Ctrl-C comes."""

    def __init__(
        self,
        data: Dataset,
        settings: Settings,
        report: Callable[[Progress], None],
        watch: Stopwatch,
        workers: Workers,
        reweighting: Reweighting | None,
        guessed: Sequence[Formula],
        keeper: Keeping,
    ) -> None:
        self._data, self._settings, self._report, self._watch = data, settings, report, watch
        self._workers, self._reweighting, self._guessed, self._keeper = workers, reweighting, guessed, keeper
        self._started_before = keeper.started_before  # on fewer rows
        few_will_do = settings.template is None and reweighting is None and not self._started_before
        self._deadline = watch.until(settings.time_limit)
        self._deadline_of_rounds = self._deadline.earlier(reserve(settings.time_limit, len(data.y)))
        self._turns = self._new_turns(_FIRST_ROWS if few_will_do else None)
        kept = keeper.restore(self._turns)
        self._beyond_limit, self._with_spare = kept.rounds_beyond_limit, kept.rounds_with_spare
        self._exact: list[Formula] = []
        self._proposed = Proposed(data, make_symbols(data.names), settings.constraints)
        self._rounds_explained = kept.rounds_explained
        self._explained = kept.rounds_explained > 0  # whether a proposed formula leaves only noise
        if kept.turns.rounds and not self._started_before:  # a file does not hold what was proposed
            self._ask_those_tried()
            if self._explained:
                self._ask_more()

    def run(self) -> Found:
        try:
            outcome = self._until_an_end()
        except KeyboardInterrupt:
            outcome = Outcome.INTERRUPTED
        except WorkersLostError:
            if not self._starts:
                raise
            outcome = Outcome.WORKERS_LOST
        if self._exact:
            return self._found(self._exact + _quick_outline(self._main), Outcome.EXACT, np.inf)
        if outcome is Outcome.INTERRUPTED:
            self._keeper.write()  # a second Ctrl-C may come
            return self._interrupted()
        stands_until = _stands_until(outcome, self._settings)
        if stands_until < np.inf:
            self._keeper.write()  # a Ctrl-C may come while the front is drawn
        if self._turns.spares:
            return self._found(self._turns.spares + _quick_outline(self._main), Outcome.EXACT, stands_until)
        if self._beyond_limit and outcome in (Outcome.SETTLED, Outcome.OUT_OF_TIME, Outcome.OUT_OF_STARTS):
            outcome = Outcome.TOO_COMPLEX
        return self._drawn(outcome, stands_until)

    @property
    def _main(self) -> Hunt:
        return self._turns.mains[0]

    @property
    def _starts(self) -> int:
        return self._started_before + self._turns.starts

    def _state(self) -> SearchState:
        rounds = self._beyond_limit, self._with_spare, self._rounds_explained
        return SearchState(self._turns.state, self._started_before, *rounds, self._watch.seconds)

    def _until_an_end(self) -> Outcome:
        while not self._starts or not self._deadline_of_rounds.over:
            self._exact = self._next_round()
            self._tell()
            if self._exact:
                return Outcome.EXACT
            if self._deadline_of_rounds.over:
                break
            if self._settings.max_starts is not None and self._starts >= self._settings.max_starts:
                return Outcome.OUT_OF_STARTS
            if self._needs_more_rows():
                anew = self._new_turns(None)
                self._started_before, self._turns = self._starts, anew
            elif (ended := self._ended_by_itself()) is not None:
                return ended
            self._keeper.note(self._state)
        return Outcome.OUT_OF_TIME

    def _needs_more_rows(self) -> bool:
        """Noise is averaged out over rows, so that they count where the formula is yet to be found."""
        turns = self._turns
        return turns.rows is not None and not self._explained and turns.sees_noise and not _fresh_aims(turns)

    def _next_round(self) -> list[Formula]:
        turns, reweighting = self._turns, self._reweighting
        exact = turns.next_hunt().next_round(anyhow=not self._starts)
        if self._deadline_of_rounds.over:
            return exact
        exact = exact or ([] if self._started_before else self._shortcut())
        if reweighting is not None and not exact and any(reweighting.follow(main) for main in turns.mains):
            turns.reweigh(reweighting.weighted, reweighting.weighted.thinned(_SEARCHED_ROWS).weight)
        return exact

    def _tell(self) -> None:
        if self._main.archive.rounds:
            rows, limit = _share_of_rows(self._main, self._data), self._settings.time_limit
            best = self._main.best_loss
            self._report(Progress(self._watch.seconds, limit, self._starts, best, rows, formula=self._main.glance))

    def _ended_by_itself(self) -> Outcome | None:
        self._beyond_limit += any(hunt.exceeds_limit for hunt in self._turns.hunts)
        self._with_spare += bool(self._turns.spares)
        self._rounds_explained += self._explained
        if self._rounds_explained > _ROUNDS_EXPLAINED:
            return Outcome.SETTLED
        if self._turns.have_settled() or self._beyond_limit > _ROUNDS_BEYOND_LIMIT:
            return Outcome.SETTLED
        return Outcome.EXACT if self._with_spare > _ROUNDS_WITH_SPARE else None

    def _shortcut(self) -> list[Formula]:
        """Other aims that may need no search, those with the fewest columns first: a few after every round."""
        if self._explained or self._deadline_of_rounds.over:
            return []
        for hunt in _fresh_aims(self._turns)[:_SHORTCUTS_A_ROUND]:
            if self._deadline_of_rounds.over:
                return []
            if found := hunt.closed_form():
                return found
        self._ask_those_tried()
        if self._deadline_of_rounds.over:
            return []
        self._explained = self._proposed.explain(self._main, self._turns.noise_at_most)
        if self._explained:
            self._ask_more()
        return []

    def _ask_those_tried(self) -> None:
        tried = [hunt for hunt in self._turns.hunts if hunt.tried_closed_form]
        least_squares = self._reweighting is None  # which is what is proposed
        for hunt in tried if least_squares and len(tried) > len(self._turns.mains) else []:
            if self._deadline_of_rounds.over:
                break
            self._proposed.ask(hunt)

    def _ask_more(self) -> None:
        """So that what may be even better is not left to the last moment."""
        seconds = _ASKING * self._settings.time_limit
        if self._deadline_of_rounds.left >= seconds:
            self._ask(min(EVERYTHING.asked, sketches_within(seconds, len(self._data.y))))

    def _drawn(self, outcome: Outcome, stands_until: float) -> Found:
        plan = finishing(self._settings.time_limit, self._deadline, len(self._data.y))
        proposed, are_all = _as_it_grows(partial(self._proposals, plan))
        rival = min((criterion(formula, len(self._data.y)) for formula in proposed), default=np.inf)
        front: list[Formula] = []
        for hunt in self._turns.mains:
            if are_all:
                drawn, are_all = _as_it_grows(partial(hunt.front, plan, rival))
                front += drawn
        relatives: list[Formula] = []
        if are_all and self._settings.template is None:
            formulas = front + proposed
            relatives, are_all = _as_it_grows(
                partial(plainer, formulas, self._data, self._settings.constraints, plan.relatives)
            )
        if not are_all:
            return self._interrupted(front, proposed, relatives)
        return self._found(front + proposed + relatives, outcome, stands_until)

    def _interrupted(
        self, front: Sequence[Formula] = (), proposed: Sequence[Formula] = (), relatives: Sequence[Formula] = ()
    ) -> Found:
        """What there is when Ctrl-C comes, beside what is drawn by then: whoever presses it does not want to wait.

        A second one ends this as well, and leaves what is there.
        """
        kept = [*self._turns.spares, *front, *proposed, *relatives]
        missing = [] if front else [partial(self._main.at_once, IN_HASTE.drawn)]
        missing += [] if proposed else [partial(self._proposed.sketched, IN_HASTE.sketched)]
        for growing in missing:
            more, are_all = _as_it_grows(growing)
            kept += more
            if not are_all:
                break
        return self._found(kept, Outcome.INTERRUPTED, 0.0)

    def _proposals(self, plan: Finishing) -> Iterator[list[Formula]]:
        """Formulas for noisy data that need no search. Where rows are few, also small ones that other aims led to."""
        aside = [hunt for hunt in self._turns.asides_so_far if hunt.archive.rounds]
        outlined: list[Formula] = []
        for hunt in aside[: plan.outlined] if len(self._data.y) <= _FEW_ROWS else []:
            outlined = [*outlined, *hunt.outline()]
            yield outlined
        self._ask(plan.asked)
        for drawn in self._proposed.drawn(plan):
            yield outlined + drawn

    def _ask(self, most: int) -> None:
        """For y itself, and for so many other aims, those with the fewest columns first."""
        self._proposed.ask(self._main)
        others = self._turns.asides() if most >= _WORTH_MAKING else self._turns.asides_so_far
        for hunt in sorted(others, key=lambda hunt: hunt.aim.x.shape[1])[:most]:
            self._proposed.ask(hunt)

    def _found(self, formulas: list[Formula], outcome: Outcome, stands_until: float) -> Found:
        return Found(formulas, outcome, self._starts, 0.0, len(self._main.samples.y), stands_until)

    def _new_turns(self, rows: int | None) -> Turns:
        return _turns(self._data, self._settings, self._deadline_of_rounds, self._workers, self._guessed, rows)


def _stands_until(ended_by: Outcome, settings: Settings) -> float:
    """The time limit up to which the search would end so again."""
    if ended_by is Outcome.OUT_OF_TIME:
        return settings.time_limit
    return 0.0 if ended_by is Outcome.WORKERS_LOST else np.inf


def _share_of_rows(hunt: Hunt, data: Dataset) -> str:
    seen, there = len(hunt.samples.y), len(data.y)
    return f"{seen:,} of {there:,} rows" if seen < there else ""


def _as_it_grows(growing: Callable[[], Iterator[list[Formula]]]) -> tuple[list[Formula], bool]:
    """The last of these lists, and whether Ctrl-C has cut none off."""
    so_far: list[Formula] = []
    try:
        for longer in growing():
            so_far = longer
    except KeyboardInterrupt:
        return so_far, False
    return so_far, True


def _quick_outline(hunt: Hunt) -> list[Formula]:
    try:
        return hunt.outline()
    except KeyboardInterrupt:
        return []


def _fresh_aims(turns: Turns) -> list[Hunt]:
    if turns.rounds < len(turns.mains):
        return []
    # After a few rounds a hard formula may still look like noise.
    most = _SHORTCUTS_IN_NOISE if turns.sees_noise else _SHORTCUTS
    hunts = sorted(turns.asides(), key=lambda hunt: hunt.aim.x.shape[1])[:most]
    return [hunt for hunt in hunts if not hunt.tried_closed_form]


def edges_within(max_complexity: int) -> int:
    """The most edges a sub-network needs for a formula of so many nodes, with some room to find it in."""
    return max(_FEWEST_EDGES, int(0.75 * max_complexity) + 2)


def edges_for(rows: int) -> int:
    """The most edges where rows are few: a sub-network with as many edges as rows meets them all and proves nothing.

    Draws have more edges than the formula that is in them, so this must bite only where rows are very few.
    """
    return max(_FEWEST_EDGES, 2 * rows - 10)


def _turns(
    data: Dataset,
    settings: Settings,
    deadline: Deadline,
    workers: Workers,
    guessed: Sequence[Formula] = (),
    rows: int | None = None,
) -> Turns:
    schedule = settings.search.schedule
    if settings.recipe == "real":
        schedule = replace(schedule, complex_weights=False)
    size = max(settings.search.round_size, workers.least_round)
    search_settings = replace(settings.search, schedule=schedule, round_size=size)
    edges = min(search_settings.prior.maximum_edges, edges_for(len(data.y)))
    if settings.max_complexity is not None:
        edges = min(edges, edges_within(settings.max_complexity))
    prior = replace(search_settings.prior, nesting=settings.constraints.nesting, maximum_edges=edges)
    search_settings = replace(search_settings, prior=prior)

    def hunt_for(whole: TransformedTarget, aim: TransformedTarget) -> Hunt:
        network = _searchable(data, aim, settings)
        seed, limit = settings.seed, settings.max_complexity
        needed = _needed_inputs(aim, settings.constraints.required)
        own = replace(search_settings, prior=replace(prior, needed=needed))
        return Hunt(data, aim, network, own, seed, workers, deadline, limit, settings.constraints, whole)

    # The structure shows in some rows; the finished formula is fitted to and judged on all of them.
    few = data.thinned(_SEARCHED_ROWS)
    network = search_network(1, settings.operators, settings.constraints.without)
    operators = tuple({operator.name for operator in network.units})
    required = [data.names.index(name) for name in settings.constraints.required]
    aim = plain(few, make_symbols(data.names))
    turns = Turns(aim, operators, hunt_for, aside=settings.template is None, required=required, rows=rows)
    for hunt in turns.mains if guessed else []:
        hunt.found([formula.expression for formula in guessed])
    return turns


def _needed_inputs(aim: TransformedTarget, required: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Per required column the inputs that bring it in; none where the way back from the aim does."""
    names = [{symbol.name for symbol in expression.free_symbols} for expression in aim.symbols]
    groups = (tuple(k for k, found in enumerate(names) if column in found) for column in required)
    return tuple(group for group in groups if group)


def _searchable(data: Dataset, aim: TransformedTarget, settings: Settings) -> Structure:
    if settings.template is None:
        return search_network(aim.x.shape[1], settings.operators, settings.constraints.without)
    return Assembly(settings.template, data.names, Scaling.of(aim.x, aim.y))
