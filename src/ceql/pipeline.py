"""From a table to a formula: scale, search or train, eliminate, extract, simplify, choose."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from ceql.aims import Aim, plain
from ceql.constraints import NONE, Constraints
from ceql.data import Dataset, Scaling
from ceql.dispatch import Workers
from ceql.engine import fit
from ceql.errors import WorkersLostError, unknown_name
from ceql.expression.extract import extract, upright
from ceql.expression.poles import Pole, find_poles
from ceql.formula import Formula, constant_formula, make_symbols, mean_square, polish
from ceql.guesses import starting_formulas
from ceql.hunt import Hunt
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
_ROUNDS_WITH_SPARE = 40  # an exact formula is there: so many rounds more for a shorter one
_FIRST_ROWS, _SEARCHED_ROWS = 400, 2000  # of a long table; without noise few rows say as much as many
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


def discover(
    data: Dataset, settings: Settings = Settings(), progress: Callable[[Progress], None] | None = None
) -> Discovery:
    """Finds formulas for `data`. Ctrl-C ends the search and keeps what was found."""
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
        with Workers(settings.n_jobs, settings.threads, settings.time_limit, settings.device) as workers:
            found = _searched(rows, settings, report, begin, workers, reweighting, guessed)
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


def _searched(
    data: Dataset,
    settings: Settings,
    report: Callable[[Progress], None],
    begin: float,
    workers: Workers,
    reweighting: Reweighting | None,
    guessed: Sequence[Formula],
) -> _Found:
    """Rounds of the search until a formula is exact, the fit has settled, the time is up or Ctrl-C comes."""
    few_will_do = settings.template is None and reweighting is None
    turns = _turns(data, settings, begin, workers, guessed, _FIRST_ROWS if few_will_do else None)
    started_before = 0
    outcome = Outcome.OUT_OF_TIME
    rounds_beyond_limit = rounds_with_spare = 0
    reserve = _reserve(settings)

    def starts() -> int:
        return started_before + turns.starts

    try:
        while True:
            exact = turns.next_hunt().next_round() or _shortcut(turns)
            if reweighting is not None and not exact and any(reweighting.follow(main) for main in turns.mains):
                turns.reweigh(reweighting.weighted, reweighting.weighted.thinned(_SEARCHED_ROWS).weight)
            seconds = time.perf_counter() - begin
            main = turns.mains[0]
            if starts():
                rows = _share_of_rows(main, data)
                report(Progress(seconds, settings.time_limit, starts(), main.best_loss, rows, formula=main.glance))
            if exact:
                return _Found(exact + _quick_outline(main), Outcome.EXACT, starts(), rows_searched=len(main.samples.y))
            if seconds > settings.time_limit - reserve:
                break
            if turns.rows is not None and turns.sees_noise:
                # Noise is averaged out over rows, so now they count.
                started_before = starts()
                turns = _turns(data, settings, begin, workers, guessed, None)
                continue
            rounds_beyond_limit += any(hunt.exceeds_limit for hunt in turns.hunts)
            rounds_with_spare += bool(turns.spares)
            if turns.have_settled() or rounds_beyond_limit > _ROUNDS_BEYOND_LIMIT:
                outcome = Outcome.SETTLED
                break
            if rounds_with_spare > _ROUNDS_WITH_SPARE:
                break
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    except WorkersLostError:
        if not starts():
            raise
        outcome = Outcome.WORKERS_LOST
    main = turns.mains[0]
    if turns.spares:
        outcome = Outcome.INTERRUPTED if outcome is Outcome.INTERRUPTED else Outcome.EXACT
        return _Found(turns.spares + _quick_outline(main), outcome, starts(), rows_searched=len(main.samples.y))
    if rounds_beyond_limit and outcome in (Outcome.SETTLED, Outcome.OUT_OF_TIME):
        outcome = Outcome.TOO_COMPLEX
    left = settings.time_limit - (time.perf_counter() - begin)
    front, is_whole = _drawn(turns.mains, deadline=time.monotonic() + left)
    return _Found(front, outcome if is_whole else Outcome.INTERRUPTED, starts(), rows_searched=len(main.samples.y))


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
    """Other aims that need no search, all of them after the first round."""
    if turns.rounds != len(turns.mains) or turns.sees_noise:
        return []
    return next((found for hunt in turns.asides() if (found := hunt.closed_form())), [])


def edges_within(max_complexity: int) -> int:
    """The most edges a sub-network needs for a formula of so many nodes, with some room to find it in."""
    return max(6, int(0.75 * max_complexity) + 2)


def _reserve(settings: Settings) -> float:
    return min(_FINISHING * settings.time_limit, _LONGEST_FINISHING)


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
    deadline = time.monotonic() + settings.time_limit - _reserve(settings) - (time.perf_counter() - begin)

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
