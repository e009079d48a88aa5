"""From a table to a formula: scale, search or train, eliminate, extract, simplify, choose."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from ceql import search as searching
from ceql.data import Dataset, Scaling
from ceql.engine import fit
from ceql.errors import InputError, unknown_name
from ceql.expression.extract import extract, upright
from ceql.expression.poles import Pole, find_poles
from ceql.formula import Formula, constant_formula, make_symbols, mean_square, polish, sketch
from ceql.network import Network
from ceql.pruning import Reduced, eliminate
from ceql.search import Archive, SearchSettings
from ceql.selection import choose, criterion, pareto_front
from ceql.training import Recipe, train
from ceql.training.recipes import RECIPES

_HITS_TRIED = 6  # exact fits that are eliminated
_POLISHED = 2  # of these, the smallest become formulas
_BRED = 6  # inexact fits that are eliminated into a front
_QUIET_ROUNDS = 8  # rounds without progress after which a noisy search ends


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
        found = _Searching(data, settings, report, begin).run()
    else:
        found = _trained(data, settings, report, begin)
    formulas = [f for f in found.formulas if settings.max_complexity is None or f.complexity <= settings.max_complexity]
    front = pareto_front([*formulas, constant_formula(data)])
    chosen = choose(front, settings.model_selection, len(data.y), mean_square(data.y, data.weight))
    best = front[chosen]
    y_size = mean_square(data.y, data.weight)
    outcome = found.outcome
    if outcome is Outcome.EXACT and best.loss > searching.EXACT * y_size:
        outcome = Outcome.TOO_COMPLEX
    poles = find_poles(best.expression, best.symbols, data.x.min(axis=0), data.x.max(axis=0))
    return Discovery(
        tuple(front),
        chosen,
        tuple(poles),
        outcome,
        time.perf_counter() - begin,
        found.starts,
        found.imaginary_residue,
    )


@dataclass(frozen=True, eq=False)
class _Found:
    formulas: list[Formula]
    outcome: Outcome
    starts: int = 1
    imaginary_residue: float = 0.0


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


class _Searching:
    """The state of one search over rounds."""

    def __init__(self, data: Dataset, settings: Settings, report, begin: float) -> None:
        self.data, self.settings, self.report, self.begin = data, settings, report, begin
        self.scaling = Scaling.of(data)
        x, y = self.scaling.apply(data)
        self.network = search_network(x.shape[1], settings.operators)
        self.samples = fit.Samples.of(x, y, data.weight / (1.0 + y**2))
        self.plain = fit.Samples.of(x, y, data.weight)
        self.y_size = mean_square(y, data.weight)
        self.threads = settings.threads or fit.default_threads()
        self.symbols = make_symbols(data.names)
        self.tried: set[bytes] = set()

    def run(self) -> _Found:
        archive = searching.empty_archive(self.network)
        search_settings = replace(
            self.settings.search,
            schedule=replace(self.settings.search.schedule, complex_weights=self.settings.complex_weights),
        )
        best_score, quiet = np.inf, 0
        outcome = Outcome.OUT_OF_TIME
        try:
            rounds = searching.search(
                self.network,
                self.samples,
                search_settings,
                self.settings.seed,
                threads=self.threads,
                deadline=time.monotonic() + self.settings.time_limit,
            )
            for archive in rounds:
                self._tell(archive)
                exact = self._exact_formulas(archive)
                if exact:
                    return _Found(exact + self._front(archive, few=True), Outcome.EXACT, archive.starts)
                now = searching.score(archive.chunk, len(self.data.y))[0]
                quiet = 0 if now < best_score - 1e-2 else quiet + 1
                best_score = min(now, best_score)
                if quiet >= _QUIET_ROUNDS:
                    outcome = Outcome.SETTLED
                    break
                if time.perf_counter() - self.begin > self.settings.time_limit:
                    break
        except KeyboardInterrupt:
            outcome = Outcome.INTERRUPTED
        return _Found(self._front(archive), outcome, archive.starts)

    def _tell(self, archive: Archive) -> None:
        seconds = time.perf_counter() - self.begin
        loss = float(archive.chunk.misfit.min()) * self.scaling.y**2
        self.report(Progress(seconds, self.settings.time_limit, archive.starts, loss))

    def _reduced(self, archive: Archive, index: int) -> Reduced:
        chunk = archive.chunk
        return Reduced(chunk.edges[index], chunk.params[index], float(chunk.misfit[index]))

    def _exact_formulas(self, archive: Archive) -> list[Formula]:
        """Exact fits that survive elimination, as formulas; a fit is tried only once."""
        hits = archive.hits
        hits = hits[np.argsort(archive.chunk.edges[hits].sum(axis=1), kind="stable")]
        untried = [k for k in hits if archive.chunk.edges[k].tobytes() not in self.tried][:_HITS_TRIED]
        tolerance = searching.EXACT * self.y_size
        survivors: dict[bytes, Reduced] = {}
        for index in untried:
            self.tried.add(archive.chunk.edges[index].tobytes())
            path = eliminate(self.network, self.plain, self._reduced(archive, index), tolerance, self.threads)
            exact = [step for step in path if step.misfit <= tolerance]
            if exact:
                survivors[exact[-1].edges.tobytes()] = exact[-1]
        smallest_first = sorted(survivors.values(), key=lambda step: int(step.edges.sum()))
        formulas = [self._formula(step, polish) for step in smallest_first[:_POLISHED]]
        return [f for f in formulas if f is not None and f.loss <= tolerance * self.scaling.y**2]

    def _front(self, archive: Archive, few: bool = False) -> list[Formula]:
        """Approximate formulas of all sizes: the best fits of the archive and what elimination makes of them."""
        chunk = archive.chunk
        states: list[Reduced] = []
        if not few:
            for index in np.flatnonzero(chunk.in_domain)[:_BRED]:
                states.extend(eliminate(self.network, self.plain, self._reduced(archive, index), 0.0, self.threads))
        sizes = chunk.edges.sum(axis=1)
        for size in np.unique(sizes):
            rows = np.flatnonzero((sizes == size) & chunk.in_domain)
            if len(rows):
                states.append(self._reduced(archive, rows[np.argmin(chunk.misfit[rows])]))
        kept = self._best_per_size(states, 5 if few else 16)
        drawn = [(self._formula(state, sketch), state) for state in kept]
        formulas = [formula for formula, _ in drawn if formula is not None]
        if formulas and not few:
            # Only the rows that may be chosen are worth the full effort.
            ranked = sorted((f for f, _ in drawn if f is not None), key=lambda f: criterion(f, len(self.data.y)))
            chosen = [state for formula, state in drawn if formula is not None and formula in ranked[:2]]
            formulas += [f for state in chosen if (f := self._formula(state, polish)) is not None]
        return formulas

    def _best_per_size(self, states: list[Reduced], most: int) -> list[Reduced]:
        best: dict[int, Reduced] = {}
        for state in states:
            size = int(state.edges.sum())
            if size not in best or state.misfit < best[size].misfit:
                best[size] = state
        kept: list[Reduced] = []
        for size in sorted(best):
            if not kept or best[size].misfit < 0.999 * kept[-1].misfit:
                kept.append(best[size])
        return kept[:most]

    def _formula(self, state: Reduced, finish: Callable[..., Formula | None]) -> Formula | None:
        """In the user's units: powers of two are put back into the symbols, so no digit is lost."""
        params = upright(self.network, state.edges, state.params, self.samples.x)
        symbols = [s / float(k) for s, k in zip(self.symbols, self.scaling.x, strict=True)]
        raw = self.scaling.y * extract(self.network, state.edges, params, symbols)
        return finish(raw, self.data, self.symbols)
