"""Our own method, its real-valued version and the paper's recipe as users call them, and with parts left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ceql.bench.definitions import Problem
from ceql.bench.errors import MethodError
from ceql.bench.methods import Adapter, Found
from ceql.bench.selections import unknown

TARGET = "target"  # the name of the target in suites
_NO_PENALTY = 1e-30  # on imaginary parts: negligible even beside the smallest misfit
_NEAR = 1e-9  # misfit below which an exact formula may be hidden under superfluous edges


@dataclass(frozen=True)
class Own(Adapter):
    """`CEQLRegressor` with its defaults, except for the settings here."""

    imports: ClassVar = ("ceql.estimator.regressor",)
    recipe: str = "search"
    operators: tuple[str, ...] | None = None
    catalogue: bool = True

    def arguments(self, seed: int, time_limit: float) -> dict[str, Any]:
        """The arguments of `CEQLRegressor`; those at their default are not passed."""
        chosen: dict[str, Any] = {"random_state": seed, "time_limit": time_limit}
        if self.recipe != "search":
            chosen["recipe"] = self.recipe
        if self.operators is not None:
            chosen["operators"] = list(self.operators)
        if not self.catalogue:
            chosen |= without_catalogue()
        return chosen

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        return fitted(X, y, names, self.arguments(seed, time_limit))


@dataclass(frozen=True)
class WithUnits(Own):
    """Our method, which is also given the units of the columns and of the target.

    Numbers have no unit, except for constants of nature that the suite names for all its problems.
    """

    requires: ClassVar = (("pint", "pint"),)
    imports: ClassVar = ("ceql.estimator.regressor", "pint")
    units: tuple[tuple[str, str], ...] = ()
    unit_constants: tuple[tuple[str, str], ...] = ()

    def told(self, problem: Problem) -> WithUnits:
        if not problem.units:
            raise MethodError(f"The suite has no units for {problem.name!r}: {self.name} needs them.")
        return replace(self, units=problem.units, unit_constants=problem.unit_constants)

    def arguments(self, seed: int, time_limit: float) -> dict[str, Any]:
        constants = dict(self.unit_constants) or "dimensionless"
        return {**super().arguments(seed, time_limit), "units": dict(self.units), "constants": constants}

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        return fitted(X, pd.Series(y, name=TARGET), names, self.arguments(seed, time_limit))


@dataclass(frozen=True)
class Paper(Adapter):
    """`CEQLRegressor(recipe="paper")`, or a recipe changed in one of the ways an ablation asks about.

    `schedule` is the recipe to start from: "paper", "authors" or "authors-ablation". `starts` is the number of
    initialisations, by default that of the recipe; `logs` is the number of logs in every layer, in addition to its
    library. Without `refit`, the network is read off as the schedule leaves it, without imaginary parts and negligible
    weights: our pipeline would refit and round the constants, and so repair what a variant has missed. The schedule has
    a fixed length, so the time limit does not apply.
    """

    imports: ClassVar = ("ceql.estimator.regressor",)
    timed: ClassVar = False
    schedule: str = "paper"
    complex_weights: bool = True
    imaginary_penalty: bool = True
    skips: bool = True
    logs: int = 0
    starts: int = 0
    passes_complex: bool = False
    refit: bool = True

    def recipe(self) -> Any:
        from ceql.training import recipes

        schedules = {**recipes.RECIPES, "authors-ablation": recipes.authors_ablation}
        if self.schedule not in schedules:
            raise MethodError(unknown("schedule", self.schedule, schedules))
        base = schedules[self.schedule]()
        phases = base.phases
        if not self.imaginary_penalty:
            phases = tuple(replace(phase, imaginary=0.0) for phase in phases)
        more = {"log": self.logs} if self.logs else {}
        return replace(
            base,
            layers=tuple({**layer, **more} for layer in base.layers),
            phases=phases,
            skip=base.skip if self.skips else "none",
            starts=self.starts or base.starts,
            passes_complex=self.passes_complex,
            complex_weights=self.complex_weights,
        )

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        if not self.refit:
            return as_trained(X, y, names, self.recipe(), seed)
        return fitted(X, y, names, {"recipe": self.recipe(), "random_state": seed})


def as_trained(X: np.ndarray, y: np.ndarray, names: tuple[str, ...], recipe: Any, seed: int) -> Found:
    """The formula of the best start as the schedule leaves it, without imaginary parts."""
    from ceql.bench.points import columns
    from ceql.training import read_off, training_error, trainings

    symbols = columns(names)
    runs = []
    for trained in trainings(X, y, recipe, seed):
        expression = read_off(trained, recipe.negligible, X, symbols)
        error = training_error(expression, symbols, X, y, np.ones(len(y)))
        runs.append((error, expression, trained.imaginary_residue))
    _, expression, residue = min(runs, key=lambda run: run[0])
    return Found(expression, extra={"imaginary_residue": residue})


def fitted(X: np.ndarray, y: Any, names: tuple[str, ...], arguments: dict[str, Any]) -> Found:
    """The result of `CEQLRegressor` with these arguments."""
    from ceql import CEQLRegressor

    # A frame, so that the formula has the column names of the problem.
    model = CEQLRegressor(**arguments).fit(pd.DataFrame(X, columns=list(names)), y)
    found = model.discovery_
    front = tuple(formula.expression for formula in found.formulas)
    return Found(model.sympy(), front=front, outcome=found.outcome.name.lower())


def without_catalogue() -> dict[str, Any]:
    """The arguments that keep `CEQLRegressor` from fitting named laws."""
    return {"catalogue": False}


@dataclass(frozen=True)
class Without(Adapter):
    """`ceql` with one part of its search turned off through its policy, for an ablation.

    "penalty": weights stay complex until all imaginary parts are dropped at once. "elimination": no weights are solved
    for while other numbers are searched, neither in fits of networks nor of sums; nothing is projected out of sums,
    since that solves for weights. "sums": no search for sums. "exchange": networks do not search what remains beside
    terms that the search for sums is sure of.
    """

    imports: ClassVar = ("ceql.estimator",)
    part: str = "penalty"

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        from ceql.search.policy import SearchPolicy

        chosen = {"random_state": seed, "time_limit": time_limit, "policy": self.changed(SearchPolicy())}
        return fitted(X, y, names, chosen)

    def changed(self, policy: Any) -> Any:
        changes = {
            "penalty": _without_penalty,
            "elimination": _without_elimination,
            "sums": _without_sums,
            "exchange": _without_exchange,
        }
        if self.part not in changes:
            raise MethodError(unknown("part", self.part, changes))
        return changes[self.part](policy)


def _without_penalty(policy: Any) -> Any:
    free = (_NO_PENALTY,) * len(policy.schedule.imaginary)
    return replace(policy, schedule=replace(policy.schedule, imaginary=free, adam_imaginary=0.0))


def _without_elimination(policy: Any) -> Any:
    fits = {name: replace(getattr(policy.reduction, name), separable=False) for name in ("refit", "first_fit")}
    return replace(
        policy,
        schedule=replace(policy.schedule, separable=False),
        hits=replace(policy.hits, separable=False),
        reduction=replace(policy.reduction, **fits),
        sums=replace(policy.sums, separable=False),
    )


def _without_sums(policy: Any) -> Any:
    return replace(policy, sums=replace(policy.sums, used=False))


def _without_exchange(policy: Any) -> Any:
    return replace(policy, rests=replace(policy.rests, used=False))


@dataclass(frozen=True)
class DenseStarts(Adapter):
    """The search's own fit and elimination, started from all edges of the paper's network instead of small parts of it.

    Dense starts are fitted `chunk` at a time until one is exact or the time is up. As in the search, edges of the best
    one are eliminated if it is nearly exact; if none becomes exact, the best dense fit is the answer.
    """

    imports: ClassVar = ("ceql.estimator",)
    chunk: int = 16
    start_scale: float = 0.7

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        from ceql.formula import make_symbols, polish

        data = _dataset(X, y, names)
        symbols = make_symbols(data.names)
        fits = list(self._fits(data, symbols, seed, time_limit))
        starts = fits[-1][0]
        _, _, raw = min(fits, key=lambda one: one[1])
        formula = polish(raw, data, symbols)
        if formula is None:
            raise MethodError(f"The best of {starts} dense starts is undefined at a training point.")
        return Found(formula.expression, extra={"starts": starts})

    def _fits(self, data: Any, symbols: Any, seed: int, time_limit: float) -> Iterator[tuple[int, float, Any]]:
        """Yields the number of starts so far, and misfit and formula of the best one in each chunk; ends at an exact
        one.
        """
        from ceql.choice.exactness import EXACT
        from ceql.engine import fit
        from ceql.engine.deadline import Deadline
        from ceql.engine.stages import Schedule, Work, fit_chunks, on_processor
        from ceql.network import clean_up
        from ceql.network.extract import extract, upright
        from ceql.search.reduction import Reduced, WhileExact, eliminate
        from ceql.training import recipes

        deadline = Deadline.after(time_limit)
        x_size = np.abs(data.x).max(axis=0)
        # Near a pole the standard deviation says little about the size of y.
        y_size = float(min(data.y.std(), 1.5 * np.median(np.abs(data.y))) or 1.0)
        x, y = data.x / x_size, data.y / y_size
        weighted, plain = fit.Samples.of(x, y, 1.0 / (1.0 + y**2)), fit.Samples.of(x, y)
        network = recipes.paper().network(x.shape[1])
        dense = clean_up(network, np.ones((self.chunk, network.n_edges), bool))
        tolerance = EXACT.hit * float(np.mean(y**2))
        scaled = [s / float(k) for s, k in zip(symbols, x_size, strict=True)]
        rng = np.random.default_rng(seed)
        starts = 0
        while True:
            params = rng.normal(0.0, self.start_scale, (self.chunk, network.n_params))
            work = Work(network, weighted, Schedule(survivors=1.0, finalists=1.0), dense, params)
            (fits,) = fit_chunks([work], on_processor(), deadline)
            starts += self.chunk
            k = int(np.argmin(np.where(fits.in_domain, fits.misfit, np.inf)))
            state = Reduced(fits.edges[k], fits.params[k], float(fits.misfit[k]))
            exact = False
            if state.misfit < _NEAR and fits.in_domain[k]:
                (path,) = eliminate(network, plain, [state], WhileExact(tolerance, margin=10.0))
                survivors = [step for step in path if step.misfit <= tolerance]
                exact = bool(survivors)
                state = survivors[-1] if survivors else state
            weights = upright(network, state.edges, state.params, x)
            yield starts, state.misfit, y_size * extract(network, state.edges, weights, scaled)
            if exact or deadline.over:
                return


def _dataset(X: np.ndarray, y: np.ndarray, names: tuple[str, ...]) -> Any:
    from ceql.data.dataset import Dataset

    return Dataset.of(pd.DataFrame(X, columns=list(names)), y)
