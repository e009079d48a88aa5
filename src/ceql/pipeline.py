"""From a table to a formula: scale, search or train, eliminate, extract, simplify, choose."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from ceql.aims import Aim, plain
from ceql.checkpoint import Checkpoint, CheckpointError, Ending, SearchState
from ceql.constraints import NONE, Constraints
from ceql.data import Dataset, Scaling
from ceql.dispatch import Workers
from ceql.engine import fit
from ceql.errors import InputError, WorkersLostError, unknown_name
from ceql.expression.extract import extract, upright
from ceql.expression.poles import Pole, find_poles
from ceql.fingerprint import fingerprint
from ceql.formula import Formula, constant_formula, make_symbols, mean_square, polish
from ceql.guesses import starting_formulas
from ceql.hunt import Hunt
from ceql.keeper import Keeper
from ceql.libraries import search_network
from ceql.losses import SQUARED, Loss, read_loss
from ceql.network import Searchable
from ceql.robust import Reweighting, is_exact, judged
from ceql.search import EXACT, SearchSettings
from ceql.selection import choose, pareto_front
from ceql.templates import Template
from ceql.templates.assembly import Assembly
from ceql.training import Recipe, train
from ceql.training.recipes import RECIPES
from ceql.turns import Turns

_ROUNDS_BEYOND_LIMIT = 12  # the truth is known to be larger than allowed: so many rounds more for an approximation
# Aims that are looked at for a closed form, fewer of them where the data look noisy; to look at one takes about 0.2 s.
_SHORTCUTS, _SHORTCUTS_IN_NOISE, _SHORTCUTS_A_ROUND = 24, 12, 4
_ROUNDS_WITH_SPARE = 40  # an exact formula is there: so many rounds more for a shorter one
_FIRST_ROWS, _SEARCHED_ROWS = 400, 2000  # of a long table; without noise few rows say as much as many
_FINISHING, _LONGEST_FINISHING = 0.15, 2.0  # share of the time limit kept for drawing the front, and at most seconds
_FINISHING_LONG, _FINISHING_A_ROW = 0.35, 5e-6  # share beside it for a long table, and at most so many seconds a row


class Outcome(Enum):
    """How a discovery ended, and what to do next."""

    EXACT = "An exact formula was found: it fits to machine precision and no part of it can be left out."
    SETTLED = (
        "No formula fits exactly, and further rounds stopped improving the fit. If the data are noise-free, allow "
        "more operators or a higher max_complexity; otherwise look at the whole front in equations_."
    )
    OUT_OF_TIME = "The time limit was reached. Raise time_limit if the fit is not good enough."
    OUT_OF_STARTS = "The allowed number of starts was fitted. Raise max_starts if the fit is not good enough."
    WORKERS_LOST = "The workers died one after the other and the search ended early; look into their logs."
    INTERRUPTED = "The search was interrupted; this is the best it had found."
    TOO_COMPLEX = (
        "An exact formula was found, but it has more nodes than max_complexity allows; this is the best within it."
    )
    NOT_ALLOWED = (
        "No formula that was found keeps to the constraints; what is left is a constant. Loosen them, allow more "
        "operators or a higher max_complexity, or raise time_limit."
    )
    SCHEDULE_DONE = "The recipe ran to its end."
    CONSTANT = "The target is constant."


@dataclass(frozen=True)
class Progress:
    """What a live display shows."""

    seconds: float
    time_limit: float
    starts: int
    best_loss: float
    message: str = ""
    fraction: float | None = None  # of a schedule of known length
    target: str = ""  # which of several
    formula: Callable[[], str] | None = None  # the best so far; to write it takes milliseconds, so only on demand


@dataclass(frozen=True)
class Settings:
    """What to try and when to stop."""

    recipe: str | Recipe = "search"  # or "real": the same search with real weights
    operators: str | tuple[str, ...] | None = None  # a library by name, or operators; None: the default library
    time_limit: float = 60.0
    max_starts: int | None = None  # after the round that reaches them the search ends, on any machine at the same point
    max_complexity: int | None = None
    model_selection: str = "best"
    seed: int = 0
    n_jobs: int | None = None  # joblib workers; None and 1: this process, unless a joblib.parallel_config says more
    threads: int | None = None  # of the core in each of them; None: all cores
    device: str = "cpu"  # or "gpu", or "auto": the GPU if there is one
    template: Template | None = None  # what is known of the formula; then nothing but its unknown parts is searched
    constraints: Constraints = NONE  # what every formula of the front keeps to
    loss: str = SQUARED  # by name, or a formula in `residual`
    guesses: tuple[str, ...] = ()  # formulas as text that compete in the front and are parents of the search
    search: SearchSettings = field(default_factory=SearchSettings)


@dataclass(frozen=True, eq=False)
class Discovery:
    """The front, the chosen row and how it came about."""

    front: tuple[Formula, ...]
    chosen: int
    poles: tuple[Pole, ...]
    outcome: Outcome
    seconds: float
    starts: int
    imaginary_residue: float = 0.0  # what was neglected when the weights were put on the real axis
    rows_searched: int = 0  # the search looks at a sample of a long table; constants are fitted to all of it

    @property
    def best(self) -> Formula:
        """The chosen formula."""
        return self.front[self.chosen]


@np.errstate(all="ignore")  # what has no value is left out where it occurs; a warning would help nobody
def discover(
    data: Dataset,
    settings: Settings = Settings(),
    progress: Callable[[Progress], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Discovery:
    """Finds formulas for `data`. Ctrl-C ends the search and keeps what was found.

    With a `checkpoint` the search goes on from what an earlier one with the same data and settings left there. The
    seconds of both count.
    """
    if checkpoint is not None:
        _require_rounds(settings)
    begin = time.perf_counter()
    report = progress or (lambda _: None)
    constraints = settings.constraints
    constraints.check_columns(data.names)
    loss = read_loss(settings.loss, data.y)
    reweighting = None if loss is None else Reweighting(data, loss)
    rows = data if reweighting is None else reweighting.weighted
    halfway = time.monotonic() + settings.time_limit / 2
    guessed = [f for f in starting_formulas(settings.guesses, rows, constraints, halfway) if _is_allowed(f, settings)]
    constant = constant_formula(data, constraints)
    if data.is_constant:
        found = _Found([], Outcome.CONSTANT)
    elif any(_fits_exactly(formula, data, loss) for formula in guessed):
        found = _Found([], Outcome.EXACT, starts=0)
    elif settings.recipe in SEARCHES:
        keeper = Keeper(checkpoint, lambda: fingerprint(data, settings))
        begin -= keeper.seconds(settings.time_limit)
        found = _found_earlier(keeper, settings)
        if found is None:
            with Workers(settings.n_jobs, settings.threads, settings.time_limit, settings.device) as workers:
                found = _searched(rows, settings, report, begin, workers, reweighting, guessed, keeper)
            keeper.end(_ending(found, time.perf_counter() - begin))
    else:
        found = _trained(data, settings, report, begin)
    formulas = [*(f for f in (*found.formulas, *guessed) if _is_allowed(f, settings)), constant]
    if loss is not None and found.outcome is not Outcome.CONSTANT:
        formulas = judged(formulas, data, loss, constraints)
    front = pareto_front(formulas, len(data.y))
    chosen = _chosen(front, settings, data)
    best = front[chosen]
    outcome = found.outcome
    if constraints and len(front) == 1 and outcome is not Outcome.CONSTANT:
        outcome = Outcome.NOT_ALLOWED
    if outcome is Outcome.EXACT and not _fits_exactly(best, data, loss):
        outcome = Outcome.TOO_COMPLEX
    return Discovery(
        tuple(front),
        chosen,
        poles_of(best, data),
        outcome,
        time.perf_counter() - begin,
        found.starts,
        found.imaginary_residue,
        found.rows_searched or len(data.y),
    )


def not_searched(data: Dataset) -> Discovery:
    """What stands in for a search that Ctrl-C kept from beginning."""
    return Discovery((constant_formula(data),), 0, (), Outcome.INTERRUPTED, 0.0, 0)


def _is_allowed(formula: Formula, settings: Settings) -> bool:
    return settings.max_complexity is None or formula.complexity <= settings.max_complexity


def _fits_exactly(formula: Formula, data: Dataset, loss: Loss | None) -> bool:
    if loss is not None:
        return is_exact(formula, data)
    return formula.loss <= EXACT * mean_square(data.y, data.weight)


def _chosen(front: list[Formula], settings: Settings, data: Dataset) -> int:
    """The row to report. The constant that opens the front lacks the columns that are required, if any are."""
    first = 1 if settings.constraints.required and len(front) > 1 else 0
    size = mean_square(data.y, data.weight)
    return first + choose(front[first:], settings.model_selection, len(data.y), size)


def poles_of(formula: Formula, data: Dataset) -> tuple[Pole, ...]:
    """Where the formula blows up within the range of the data."""
    return tuple(find_poles(formula.expression, formula.symbols, data.x.min(axis=0), data.x.max(axis=0)))


@dataclass(frozen=True, eq=False)
class _Found:
    formulas: list[Formula]
    outcome: Outcome
    starts: int = 1
    imaginary_residue: float = 0.0
    rows_searched: int = 0
    stands_until: float = np.inf  # the time limit up to which it would be the same


# ---- one network, one schedule ------------------------------------------------------------------------------------


SEARCHES = ("search", "real")


def resolve_recipe(recipe: str | Recipe) -> Recipe:
    if isinstance(recipe, Recipe):
        return recipe
    if not isinstance(recipe, str) or recipe not in RECIPES:
        raise unknown_name("recipe", recipe, [*SEARCHES, *RECIPES])
    return RECIPES[recipe]()


def _trained(data: Dataset, settings: Settings, report: Callable[[Progress], None], begin: float) -> _Found:
    recipe = resolve_recipe(settings.recipe)
    stop = fit.StopFlag()

    def follow(epochs: int, edges: int, misfit: float) -> None:
        seconds = time.perf_counter() - begin
        report(Progress(seconds, 0.0, 1, misfit, f"{edges} edges", epochs / recipe.epochs))

    trained = train(data.x, data.y, recipe, settings.seed, sample_weight=data.weight, stop=stop, progress=follow)
    params = upright(trained.network, trained.edges, trained.on_real_axis().params, data.x)
    symbols = make_symbols(data.names)
    raw = extract(trained.network, trained.edges, params, symbols)
    formula = polish(raw, data, symbols, settings.constraints)
    formulas = [] if formula is None else [formula]
    outcome = Outcome.INTERRUPTED if trained.stopped else Outcome.SCHEDULE_DONE
    return _Found(formulas, outcome, 1, trained.imaginary_residue)


# ---- many sub-networks --------------------------------------------------------------------------------------------


def _require_rounds(settings: Settings) -> None:
    """Only a search by rounds, with the same weights in all of them, can go on from a file."""
    if settings.recipe not in SEARCHES:
        raise InputError("A checkpoint needs recipe='search': the other recipes train one network in one go.")
    if settings.loss != SQUARED:
        raise InputError(
            f"A checkpoint needs loss='squared', not {settings.loss!r}: other losses weigh the rows anew after each "
            "round, and these weights are not kept. Leave out one of the two."
        )


def _found_earlier(keeper: Keeper, settings: Settings) -> _Found | None:
    """What an earlier search came to, where it would come to the same again."""
    ending = keeper.ending(settings.time_limit)
    if ending is None:
        return None
    if ending.outcome not in Outcome.__members__:
        raise CheckpointError(f"The checkpoint ends with {ending.outcome!r}, which no search does: delete it.")
    outcome = Outcome[ending.outcome]
    return _Found(list(ending.formulas), outcome, ending.starts, 0.0, ending.rows_searched, ending.stands_until)


def _ending(found: _Found, seconds: float) -> Ending:
    formulas = tuple(found.formulas)
    return Ending(found.outcome.name, formulas, found.starts, found.rows_searched, seconds, found.stands_until)


def _searched(
    data: Dataset,
    settings: Settings,
    report: Callable[[Progress], None],
    begin: float,
    workers: Workers,
    reweighting: Reweighting | None,
    guessed: Sequence[Formula],
    keeper: Keeper,
) -> _Found:
    """Rounds of the search until a formula is exact, the fit has settled, the time is up or Ctrl-C comes."""
    started_before = keeper.started_before
    few_will_do = settings.template is None and reweighting is None and not started_before
    turns = _turns(data, settings, begin, workers, guessed, _FIRST_ROWS if few_will_do else None)
    kept = keeper.restore(turns)
    outcome = Outcome.OUT_OF_TIME
    rounds_beyond_limit, rounds_with_spare = kept.rounds_beyond_limit, kept.rounds_with_spare
    time_for_rounds = settings.time_limit - _reserve(settings, data)

    def starts() -> int:
        return started_before + turns.starts

    def state() -> SearchState:
        spent = time.perf_counter() - begin
        return SearchState(turns.state, started_before, rounds_beyond_limit, rounds_with_spare, spent)

    try:
        while not starts() or time.perf_counter() - begin <= time_for_rounds:
            exact = turns.next_hunt().next_round() or ([] if started_before else _shortcut(turns))
            if reweighting is not None and not exact and any(reweighting.follow(main) for main in turns.mains):
                turns.reweigh(reweighting.weighted, reweighting.weighted.thinned(_SEARCHED_ROWS).weight)
            seconds = time.perf_counter() - begin
            main = turns.mains[0]
            if starts():
                rows = _share_of_rows(main, data)
                report(Progress(seconds, settings.time_limit, starts(), main.best_loss, rows, formula=main.glance))
            if exact:
                return _Found(exact + _quick_outline(main), Outcome.EXACT, starts(), rows_searched=len(main.samples.y))
            if seconds > time_for_rounds:
                break
            if settings.max_starts is not None and starts() >= settings.max_starts:
                outcome = Outcome.OUT_OF_STARTS
                break
            if turns.rows is not None and turns.sees_noise and not _fresh_aims(turns):
                # Noise is averaged out over rows, so now they count.
                anew = _turns(data, settings, begin, workers, guessed, None)
                started_before, turns = starts(), anew
                keeper.note(state)
                continue
            rounds_beyond_limit += any(hunt.exceeds_limit for hunt in turns.hunts)
            rounds_with_spare += bool(turns.spares)
            if turns.have_settled() or rounds_beyond_limit > _ROUNDS_BEYOND_LIMIT:
                outcome = Outcome.SETTLED
                break
            if rounds_with_spare > _ROUNDS_WITH_SPARE:
                outcome = Outcome.EXACT
                break
            keeper.note(state)
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    except WorkersLostError:
        if not starts():
            raise
        outcome = Outcome.WORKERS_LOST
    stands_until = _stands_until(outcome, settings)
    if stands_until < np.inf:
        keeper.write()  # a second Ctrl-C may come while the front is drawn
    main = turns.mains[0]
    searched = len(main.samples.y)
    if turns.spares:
        outcome = Outcome.INTERRUPTED if outcome is Outcome.INTERRUPTED else Outcome.EXACT
        return _Found(turns.spares + _quick_outline(main), outcome, starts(), 0.0, searched, stands_until)
    if rounds_beyond_limit and outcome in (Outcome.SETTLED, Outcome.OUT_OF_TIME, Outcome.OUT_OF_STARTS):
        outcome = Outcome.TOO_COMPLEX
    left = settings.time_limit - (time.perf_counter() - begin)
    deadline = time.monotonic() + left
    proposed, are_all = _proposed(turns, deadline)
    front, is_whole = _drawn(turns.mains, deadline)
    if not (are_all and is_whole):
        outcome, stands_until = Outcome.INTERRUPTED, 0.0
    return _Found(front + proposed, outcome, starts(), 0.0, searched, stands_until)


def _stands_until(ended_by: Outcome, settings: Settings) -> float:
    """The time limit up to which the search would end so again."""
    if ended_by is Outcome.OUT_OF_TIME:
        return settings.time_limit
    return 0.0 if ended_by in (Outcome.INTERRUPTED, Outcome.WORKERS_LOST) else np.inf


def _share_of_rows(hunt: Hunt, data: Dataset) -> str:
    seen, there = len(hunt.samples.y), len(data.y)
    return f"{seen:,} of {there:,} rows" if seen < there else ""


def _drawn(hunts: list[Hunt], deadline: float) -> tuple[list[Formula], bool]:
    """The formulas of the hunts, and whether these are all: Ctrl-C ends the drawing and keeps those it has, or a quick
    outline where there are none; once more, and not even that."""
    fronts: list[list[Formula]] = [[] for _ in hunts]
    is_whole = False
    try:
        for k, hunt in enumerate(hunts):
            for so_far in hunt.front(deadline):
                fronts[k] = so_far
        is_whole = True
    except KeyboardInterrupt:
        if not any(fronts):
            fronts = [_quick_outline(hunts[0])]
    return [formula for front in fronts for formula in front], is_whole


def _quick_outline(hunt: Hunt) -> list[Formula]:
    try:
        return hunt.outline()
    except KeyboardInterrupt:
        return []


def _shortcut(turns: Turns) -> list[Formula]:
    """Other aims that may need no search, those with the fewest columns first: a few after every round."""
    fresh = _fresh_aims(turns)[:_SHORTCUTS_A_ROUND]
    return next((found for hunt in fresh if (found := hunt.closed_form())), [])


def _fresh_aims(turns: Turns) -> list[Hunt]:
    if turns.rounds < len(turns.mains):
        return []
    # After a few rounds a hard formula may still look like noise.
    most = _SHORTCUTS_IN_NOISE if turns.sees_noise else _SHORTCUTS
    hunts = sorted(turns.asides(), key=lambda hunt: hunt.aim.x.shape[1])[:most]
    return [hunt for hunt in hunts if not hunt.tried_closed_form]


def _proposed(turns: Turns, deadline: float) -> tuple[list[Formula], bool]:
    """Formulas for noisy data that need no search: for y itself, and for other aims as long as there is time; and
    whether Ctrl-C has left out none of them."""
    formulas: list[Formula] = []
    try:
        formulas += turns.mains[0].proposals()
        for hunt in sorted(turns.asides(), key=lambda hunt: hunt.aim.x.shape[1])[:_SHORTCUTS]:
            if time.monotonic() > deadline:
                break
            formulas += hunt.proposals()
    except KeyboardInterrupt:
        return formulas, False
    return formulas, True


def edges_within(max_complexity: int) -> int:
    """The most edges a sub-network needs for a formula of so many nodes, with some room to find it in."""
    return max(6, int(0.75 * max_complexity) + 2)


def _reserve(settings: Settings, data: Dataset) -> float:
    """Seconds kept for drawing the front. Formulas are fitted to and judged on all rows, which takes long for many."""
    long = max(len(data.y) - _SEARCHED_ROWS, 0) * _FINISHING_A_ROW
    return min(_FINISHING * settings.time_limit, _LONGEST_FINISHING) + min(_FINISHING_LONG * settings.time_limit, long)


def _turns(
    data: Dataset,
    settings: Settings,
    begin: float,
    workers: Workers,
    guessed: Sequence[Formula] = (),
    rows: int | None = None,
) -> Turns:
    schedule = settings.search.schedule
    if settings.recipe == "real":
        schedule = replace(schedule, complex_weights=False)
    size = max(settings.search.round_size, workers.least_round)
    search_settings = replace(settings.search, schedule=schedule, round_size=size)
    if settings.max_complexity is not None:
        edges = min(search_settings.prior.maximum_edges, edges_within(settings.max_complexity))
        search_settings = replace(search_settings, prior=replace(search_settings.prior, maximum_edges=edges))
    prior = replace(search_settings.prior, nesting=settings.constraints.nesting)
    search_settings = replace(search_settings, prior=prior)
    deadline = time.monotonic() + settings.time_limit - _reserve(settings, data) - (time.perf_counter() - begin)

    def hunt_for(aim: Aim) -> Hunt:
        network = _searchable(data, aim, settings)
        seed, limit = settings.seed, settings.max_complexity
        needed = _needed_inputs(aim, settings.constraints.required)
        own = replace(search_settings, prior=replace(prior, needed=needed))
        return Hunt(data, aim, network, own, seed, workers, deadline, limit, settings.constraints)

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


def _needed_inputs(aim: Aim, required: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Per required column the inputs that bring it in; none where the way back from the aim does."""
    names = [{symbol.name for symbol in expression.free_symbols} for expression in aim.symbols]
    groups = (tuple(k for k, found in enumerate(names) if column in found) for column in required)
    return tuple(group for group in groups if group)


def _searchable(data: Dataset, aim: Aim, settings: Settings) -> Searchable:
    if settings.template is None:
        return search_network(aim.x.shape[1], settings.operators, settings.constraints.without)
    return Assembly(settings.template, data.names, Scaling.of(aim.x, aim.y))
