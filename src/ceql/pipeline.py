"""From a table to a formula: scale, search or train, eliminate, extract, simplify, choose."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from ceql.aims import Aim, plain
from ceql.checkpoint import Checkpoint, CheckpointError, Ending, SearchState
from ceql.data import Dataset, Scaling
from ceql.dispatch import Workers
from ceql.engine import fit
from ceql.errors import InputError, WorkersLostError, unknown_name
from ceql.expression.extract import extract, upright
from ceql.expression.poles import Pole, find_poles
from ceql.fingerprint import fingerprint
from ceql.formula import Formula, constant_formula, make_symbols, mean_square, polish
from ceql.hunt import Hunt
from ceql.keeper import Keeper
from ceql.libraries import search_network
from ceql.network import Searchable
from ceql.search import EXACT, SearchSettings
from ceql.selection import choose, pareto_front
from ceql.templates import Template
from ceql.templates.assembly import Assembly
from ceql.training import Recipe, train
from ceql.training.recipes import RECIPES
from ceql.turns import Turns

_ROUNDS_BEYOND_LIMIT = 12  # the truth is known to be larger than allowed: so many rounds more for an approximation
_ROUNDS_WITH_SPARE = 40  # an exact formula is there: so many rounds more for a shorter one
_SEARCHED_ROWS = 2000
_FINISHING, _LONGEST_FINISHING = 0.15, 2.0  # share of the time limit kept for drawing the front, and at most seconds


class Outcome(Enum):
    """How a discovery ended, and what to do next."""

    EXACT = "An exact formula was found: it fits to machine precision and no part of it can be left out."
    SETTLED = (
        "No formula fits exactly, and further rounds stopped improving the fit. If the data are noise-free, allow "
        "more operators or a higher max_complexity; otherwise look at the whole front in equations_."
    )
    OUT_OF_TIME = "The time limit was reached. Raise time_limit if the fit is not good enough."
    WORKERS_LOST = "The workers died one after the other and the search ended early; look into their logs."
    INTERRUPTED = "The search was interrupted; this is the best it had found."
    TOO_COMPLEX = (
        "An exact formula was found, but it has more nodes than max_complexity allows; this is the best within it."
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
    formula: Callable[[], str] | None = None  # the best so far; to write it takes milliseconds, so only on demand


@dataclass(frozen=True)
class Settings:
    """What to try and when to stop."""

    recipe: str | Recipe = "search"
    operators: str | tuple[str, ...] | None = None  # a library by name, or operators; None: the default library
    time_limit: float = 60.0
    max_complexity: int | None = None
    model_selection: str = "best"
    seed: int = 0
    n_jobs: int | None = None  # joblib workers; None and 1: this process, unless a joblib.parallel_config says more
    threads: int | None = None  # of the core in each of them; None: all cores
    device: str = "cpu"  # or "gpu", or "auto": the GPU if there is one
    complex_weights: bool = True
    template: Template | None = None  # what is known of the formula; then nothing but its unknown parts is searched
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
        return self.front[self.chosen]


def discover(
    data: Dataset,
    settings: Settings = Settings(),
    progress: Callable[[Progress], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Discovery:
    """Finds formulas for `data`. Ctrl-C ends the search and keeps what was found.

    With a `checkpoint` the search goes on from what an earlier one with the same data and settings left there. The
    seconds of both count together.
    """
    begin = time.perf_counter()
    report = progress or (lambda _: None)
    if np.ptp(data.y) == 0:
        found = _Found([constant_formula(data)], Outcome.CONSTANT)
    elif settings.recipe == "search":
        keeper = Keeper(checkpoint, lambda: fingerprint(data, settings))
        begin -= keeper.seconds(settings.time_limit)
        found = _found_earlier(keeper, settings) or _kept(keeper, data, settings, report, begin)
    elif checkpoint is not None:
        raise InputError("A checkpoint needs recipe='search': the other recipes train one network in one go.")
    else:
        found = _trained(data, settings, report, begin)
    formulas = [f for f in found.formulas if settings.max_complexity is None or f.complexity <= settings.max_complexity]
    front = pareto_front([*formulas, constant_formula(data)], len(data.y))
    chosen = choose(front, settings.model_selection, len(data.y), mean_square(data.y, data.weight))
    best = front[chosen]
    y_size = mean_square(data.y, data.weight)
    outcome = found.outcome
    if outcome is Outcome.EXACT and best.loss > EXACT * y_size:
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


def resolve_recipe(recipe: str | Recipe) -> Recipe:
    if isinstance(recipe, Recipe):
        return recipe
    if recipe not in RECIPES:
        raise unknown_name("recipe", recipe, ["search", *RECIPES])
    return RECIPES[recipe]()


def _trained(data: Dataset, settings: Settings, report: Callable[[Progress], None], begin: float) -> _Found:
    recipe = replace(resolve_recipe(settings.recipe), complex_weights=settings.complex_weights)
    stop = fit.StopFlag()

    def follow(epochs: int, edges: int, misfit: float) -> None:
        seconds = time.perf_counter() - begin
        report(Progress(seconds, 0.0, 1, misfit, f"{edges} edges", epochs / recipe.epochs))

    trained = train(data.x, data.y, recipe, settings.seed, sample_weight=data.weight, stop=stop, progress=follow)
    params = upright(trained.network, trained.edges, trained.on_real_axis().params, data.x)
    symbols = make_symbols(data.names)
    raw = extract(trained.network, trained.edges, params, symbols)
    formula = polish(raw, data, symbols)
    formulas = [] if formula is None else [formula]
    outcome = Outcome.INTERRUPTED if trained.stopped else Outcome.SCHEDULE_DONE
    return _Found(formulas, outcome, 1, trained.imaginary_residue)


# ---- many sub-networks --------------------------------------------------------------------------------------------


def _found_earlier(keeper: Keeper, settings: Settings) -> _Found | None:
    """What an earlier search came to, where it would come to the same again."""
    ending = keeper.ending(settings.time_limit)
    if ending is None:
        return None
    if ending.outcome not in Outcome.__members__:
        raise CheckpointError(f"The checkpoint ends with {ending.outcome!r}, which no search does: delete it.")
    return _Found(
        list(ending.formulas), Outcome[ending.outcome], ending.starts, 0.0, ending.rows_searched, ending.stands_until
    )


def _kept(
    keeper: Keeper, data: Dataset, settings: Settings, report: Callable[[Progress], None], begin: float
) -> _Found:
    """Searches, and keeps what is found where the search itself is kept."""
    with Workers(settings.n_jobs, settings.threads, settings.time_limit, settings.device) as workers:
        found = _searched(data, settings, report, begin, workers, keeper)
    seconds = time.perf_counter() - begin
    formulas = tuple(found.formulas)
    keeper.end(Ending(found.outcome.name, formulas, found.starts, found.rows_searched, seconds, found.stands_until))
    return found


def _searched(
    data: Dataset,
    settings: Settings,
    report: Callable[[Progress], None],
    begin: float,
    workers: Workers,
    keeper: Keeper,
) -> _Found:
    """Rounds of the search until a formula is exact, the fit has settled, the time is up or Ctrl-C comes."""
    turns = _turns(data, settings, begin, workers)
    main = turns.mains[0]
    kept = keeper.restore(turns)
    outcome = Outcome.OUT_OF_TIME
    rounds_beyond_limit, rounds_with_spare = kept.rounds_beyond_limit, kept.rounds_with_spare
    time_for_rounds = settings.time_limit - _reserve(settings)

    def starts() -> int:
        return sum(hunt.archive.starts for hunt in turns.hunts)

    def state() -> SearchState:
        return SearchState(turns.state, rounds_beyond_limit, rounds_with_spare, time.perf_counter() - begin)

    try:
        while not starts() or time.perf_counter() - begin <= time_for_rounds:
            exact = turns.next_hunt().next_round()
            seconds = time.perf_counter() - begin
            if starts():
                report(Progress(seconds, settings.time_limit, starts(), main.best_loss, formula=main.glance))
            if exact:
                return _Found(exact + main.outline(), Outcome.EXACT, starts(), rows_searched=len(main.samples.y))
            if seconds > time_for_rounds:
                break
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
    if turns.spares:
        outcome = Outcome.INTERRUPTED if outcome is Outcome.INTERRUPTED else Outcome.EXACT
        formulas = turns.spares + main.outline()
        return _Found(formulas, outcome, starts(), rows_searched=len(main.samples.y), stands_until=stands_until)
    if rounds_beyond_limit and outcome in (Outcome.SETTLED, Outcome.OUT_OF_TIME):
        outcome = Outcome.TOO_COMPLEX
    left = settings.time_limit - (time.perf_counter() - begin)
    front = [formula for hunt in turns.mains for formula in hunt.front(deadline=time.monotonic() + left)]
    return _Found(front, outcome, starts(), rows_searched=len(main.samples.y), stands_until=stands_until)


def _stands_until(ended_by: Outcome, settings: Settings) -> float:
    """The time limit up to which the search would end so again."""
    if ended_by is Outcome.OUT_OF_TIME:
        return settings.time_limit
    return 0.0 if ended_by in (Outcome.INTERRUPTED, Outcome.WORKERS_LOST) else np.inf


def edges_within(max_complexity: int) -> int:
    """The most edges a sub-network needs for a formula of so many nodes, with some room to find it in."""
    return max(6, int(0.75 * max_complexity) + 2)


def _reserve(settings: Settings) -> float:
    return min(_FINISHING * settings.time_limit, _LONGEST_FINISHING)


def _turns(data: Dataset, settings: Settings, begin: float, workers: Workers) -> Turns:
    schedule = replace(settings.search.schedule, complex_weights=settings.complex_weights)
    size = max(settings.search.round_size, workers.least_round)
    search_settings = replace(settings.search, schedule=schedule, round_size=size)
    if settings.max_complexity is not None:
        edges = min(search_settings.prior.maximum_edges, edges_within(settings.max_complexity))
        search_settings = replace(search_settings, prior=replace(search_settings.prior, maximum_edges=edges))
    deadline = time.monotonic() + settings.time_limit - _reserve(settings) - (time.perf_counter() - begin)

    def hunt_for(aim: Aim) -> Hunt:
        network = _searchable(data, aim, settings)
        seed, limit = settings.seed, settings.max_complexity
        return Hunt(data, aim, network, search_settings, seed, workers, deadline, limit)

    # The structure shows in a few rows; the finished formula is fitted to and judged on all of them.
    few = data.thinned(_SEARCHED_ROWS)
    operators = tuple({operator.name for operator in search_network(1, settings.operators).units})
    return Turns(plain(few, make_symbols(data.names)), operators, hunt_for, aside=settings.template is None)


def _searchable(data: Dataset, aim: Aim, settings: Settings) -> Searchable:
    if settings.template is None:
        return search_network(aim.x.shape[1], settings.operators)
    return Assembly(settings.template, data.names, Scaling.of(aim.x, aim.y))
