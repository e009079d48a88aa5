"""From a table to a formula: scale, search or train, eliminate, extract, simplify, choose."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from ceql.data import Dataset
from ceql.engine import fit
from ceql.errors import InputError, unknown_name
from ceql.expression.extract import extract, upright
from ceql.expression.poles import Pole, find_poles
from ceql.formula import Formula, constant_formula, make_symbols, mean_square, polish
from ceql.hunt import Hunt
from ceql.network import Network
from ceql.search import EXACT, SearchSettings
from ceql.selection import choose, pareto_front
from ceql.targets import usable_targets
from ceql.training import Recipe, train
from ceql.training.recipes import RECIPES

_QUIET_ROUNDS = 16  # rounds without progress after which a noisy search ends


class Outcome(Enum):
    """How a discovery ended, and what to do next."""

    EXACT = "An exact formula was found: it fits to machine precision and no part of it can be left out."
    SETTLED = (
        "No formula fits exactly, and further rounds stopped improving the fit. If the data are noise-free, allow "
        "more operators or a higher max_complexity; otherwise look at the whole front in equations_."
    )
    OUT_OF_TIME = "The time limit was reached. Raise time_limit if the fit is not good enough."
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


@dataclass(frozen=True)
class Settings:
    """What to try and when to stop."""

    recipe: str | Recipe = "search"
    operators: tuple[str, ...] | None = None
    time_limit: float = 60.0
    max_complexity: int | None = None
    model_selection: str = "best"
    seed: int = 0
    threads: int | None = None
    complex_weights: bool = True
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
    data: Dataset, settings: Settings = Settings(), progress: Callable[[Progress], None] | None = None
) -> Discovery:
    """Finds formulas for `data`. Ctrl-C ends the search and keeps what was found."""
    begin = time.perf_counter()
    report = progress or (lambda _: None)
    if np.ptp(data.y) == 0:
        found = _Found([constant_formula(data)], Outcome.CONSTANT)
    elif settings.recipe == "search":
        found = _searched(data, settings, report, begin)
    else:
        found = _trained(data, settings, report, begin)
    formulas = [f for f in found.formulas if settings.max_complexity is None or f.complexity <= settings.max_complexity]
    front = pareto_front([*formulas, constant_formula(data)])
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

DEFAULT_OPERATORS = ("square", "mul", "div", "log", "sqrt", "exp", "sin", "cos")
_TWICE = {"square", "mul", "div", "pow"}  # units that a formula often needs more than one of in a layer


def search_network(n_inputs: int, operators: tuple[str, ...] | None) -> Network:
    """The library the search draws on: three equal layers in which every sum has a bias and sees all before it."""
    names = DEFAULT_OPERATORS if operators is None else tuple(operators)
    names = tuple(name for name in names if name not in ("id", "const"))
    if not names:
        raise InputError("operators is empty: name at least one, for example ['mul', 'div'].")
    layer = {name: 2 if name in _TWICE else 1 for name in names}
    return Network(n_inputs, (layer, layer, layer), skip="all", bias=True)


def _searched(data: Dataset, settings: Settings, report: Callable[[Progress], None], begin: float) -> _Found:
    """Rounds of the search until a formula is exact, the fit has settled, the time is up or Ctrl-C comes."""
    network = search_network(data.x.shape[1], settings.operators)
    hunts = _hunts(data, settings, network, begin)
    main, others = hunts[0], hunts[1:]
    outcome = Outcome.OUT_OF_TIME
    best_score, quiet = np.inf, 0

    def starts() -> int:
        return sum(hunt.archive.starts for hunt in hunts)

    try:
        for round_number in itertools.count():
            aside = others and round_number % 2 == 1 and not main.sees_noise()
            hunt = others[round_number // 2 % len(others)] if aside else main
            exact = hunt.next_round()
            seconds = time.perf_counter() - begin
            report(Progress(seconds, settings.time_limit, starts(), main.best_loss))
            if exact:
                return _Found(exact + main.outline(), Outcome.EXACT, starts(), rows_searched=len(main.samples.y))
            if seconds > settings.time_limit:
                break
            quiet = 0 if main.score < best_score - 1e-2 else quiet + 1
            best_score = min(main.score, best_score)
            if quiet >= _QUIET_ROUNDS and main.sees_noise():
                outcome = Outcome.SETTLED
                break
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    return _Found(main.front(), outcome, starts(), rows_searched=len(main.samples.y))


def _hunts(data: Dataset, settings: Settings, network: Network, begin: float) -> list[Hunt]:
    schedule = replace(settings.search.schedule, complex_weights=settings.complex_weights)
    search_settings = replace(settings.search, schedule=schedule)
    deadline = time.monotonic() + settings.time_limit - (time.perf_counter() - begin)
    threads = settings.threads or fit.default_threads()
    names = tuple({operator.name for operator in network.units})
    return [
        Hunt(data, target, network, search_settings, settings.seed, threads, deadline)
        for target in usable_targets(data.y, names)
    ]
