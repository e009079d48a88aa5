"""What a search is given, and the targets it works on: on few rows at first, then on all that it looks at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ceql.data.content import ContentError
from ceql.data.dataset import Dataset, Scaling
from ceql.engine.deadline import Deadline, Stopwatch
from ceql.engine.dispatch import Workers
from ceql.formula import make_symbols
from ceql.network import Structure
from ceql.network.libraries import search_network
from ceql.operators.functions import TABLE
from ceql.search.finishing import reserve
from ceql.search.losses import Loss
from ceql.search.noisy_candidates import NoisyCandidates
from ceql.search.outcome import Progress
from ceql.search.policy import SearchPolicy
from ceql.search.reweighting import with_weight
from ceql.search.scheduler import SearchTargets
from ceql.search.settings import Settings
from ceql.search.state import RowWeights, SearchState
from ceql.search.target_search import TargetProblem, begin
from ceql.templates.assembly import Assembly
from ceql.transforms import TransformedTarget, plain


@dataclass(frozen=True, eq=False)
class Search:
    """What a search is given."""

    rows: Dataset  # with the user's weights
    settings: Settings
    workers: Workers
    watch: Stopwatch
    loss: Loss | None = None  # None: squares
    weights: RowWeights | None = None  # to begin with, under another loss
    guesses: tuple[Any, ...] = ()  # expressions in the user's columns
    report: Callable[[Progress], None] = lambda _: None
    keep: Callable[[SearchState], None] = lambda _: None  # told the state after every round
    secure: Callable[[], None] = lambda: None  # called before the front is drawn of a search that could go on

    @cached_property
    def data(self) -> Dataset:
        """The rows with the weights that they have to begin with."""
        return self.rows if self.weights is None else with_weight(self.rows, self.weights.weight)

    @property
    def policy(self) -> SearchPolicy:
        return self.settings.search

    @property
    def deadline(self) -> Deadline:
        return self.watch.until(self.settings.time_limit)

    @property
    def deadline_of_rounds(self) -> Deadline:
        rows, columns = self.data.x.shape
        return self.deadline.earlier(reserve(self.settings.time_limit, rows, self.policy.finishing, columns))


@dataclass(frozen=True, eq=False)
class Stage:
    """The targets of a search on some rows or on all, with the weights that the rows have now."""

    targets: SearchTargets
    candidates: NoisyCandidates
    # All rows with the weights that they have by now, and the weights of those looked at; none have changed without.
    weighted: tuple[Dataset, np.ndarray] | None = None

    @cached_property
    def mains(self) -> tuple[TargetProblem, ...]:
        return self._weighed(self.targets.mains)

    @property
    def main(self) -> TargetProblem:
        return self.mains[0]

    def problems(self, state: SearchState) -> tuple[TargetProblem, ...]:
        """In the order of the states; the others only once they are there."""
        return self.mains + self._others if self.targets.has_made_others(state) else self.mains

    @cached_property
    def _others(self) -> tuple[TargetProblem, ...]:
        return self._weighed(self.targets.others.all)

    def _weighed(self, problems: tuple[TargetProblem, ...]) -> tuple[TargetProblem, ...]:
        return problems if self.weighted is None else tuple(p.reweighed(*self.weighted) for p in problems)


def proposers(stage: Stage, state: SearchState) -> list[TargetProblem]:
    """The targets that were asked for formulas that need no search."""
    problems = stage.problems(state)
    return [problems[k] for k in sorted(state.asked)]


def weighted(search: Search, stage: Stage, weights: RowWeights) -> Stage:
    """The stage with other weights of the rows."""
    data = with_weight(search.rows, weights.weight)
    return replace(stage, weighted=(data, data.thinned(search.policy.turns.rows).weight))


def require_own(targets: SearchTargets, state: SearchState) -> None:
    """A ContentError where the state is of other targets than these, or of no search at all."""
    problems = targets.problems(state)
    if len(problems) != len(state.targets) or not state.asked <= set(range(len(problems))):
        raise ContentError("it has other targets")
    if sum(known.archive.rounds for known in state.targets) != state.rounds:
        raise ContentError("the numbers of rounds do not agree")
    if not max(state.main_turns, state.other_turns) <= state.rounds:
        raise ContentError("the numbers of turns do not agree")
    for problem, known in zip(problems, state.targets, strict=True):
        edges, params = problem.structure.n_edges, problem.structure.n_params
        chunk, fits = known.archive.chunk, known.contenders.known
        count = len(chunk.edges)
        arrays = [(chunk.edges, bool, (count, edges)), (chunk.params, float, (count, params))]
        arrays += [(chunk.misfit, float, (count,)), (chunk.in_domain, bool, (count,))]
        for one, other in (*known.archive.founders, *((fit.edges, fit.params) for fit in fits)):
            arrays += [(one, bool, (edges,)), (other, float, (params,))]
        if any((array.dtype, array.shape) != (np.dtype(kind), shape) for array, kind, shape in arrays):
            raise ContentError("it is of another network")
        if any(len(key) != edges for key in (*known.tried, *known.contenders.tried)):
            raise ContentError("it has tried fits of another network")
        if not (chunk.misfit >= 0.0).all():
            raise ContentError("it has a misfit that is not a number of at least 0")


def first_state(search: Search, stage: Stage) -> SearchState:
    return SearchState(tuple(begin(problem, search.guesses) for problem in stage.targets.mains), weights=search.weights)


def make_stage(search: Search, kept: SearchState | None = None, on_all_rows: bool = False) -> Stage:
    """The targets on few rows, which will do where there is no noise, or on all that the search looks at."""
    settings, policy = search.settings, search.policy.turns
    data = search.data
    on_all_rows = on_all_rows or bool(kept is not None and kept.started_before)
    few_will_do = settings.template is None and search.loss is None and not on_all_rows
    # The structure shows in some rows; the finished formula is fitted to and judged on all of them.
    target = plain(data.thinned(policy.rows), make_symbols(data.names))
    operators = search_network(1, settings.operators, settings.constraints.without).operator_names
    operators |= _functions(settings) or {function.name for function in TABLE}
    targets = SearchTargets(
        data,
        target,
        tuple(operators),
        partial(_problem, settings, _limited(search)),
        search.policy,
        has_others=settings.template is None,
        required=tuple(data.names.index(name) for name in settings.constraints.required),
        rows=policy.first_rows if few_will_do else None,
        units=settings.units,
    )
    stage = Stage(targets, NoisyCandidates(data, settings.constraints, search.policy))
    return stage if kept is None or kept.weights is None else weighted(search, stage, kept.weights)


def _problem(
    settings: Settings, policy: SearchPolicy, data: Dataset, whole: TransformedTarget, target: TransformedTarget
) -> TargetProblem:
    needed = _needed_inputs(target, settings.constraints.required)
    own = replace(policy, prior=replace(policy.prior, needed=needed))
    most_nodes = np.inf if settings.max_complexity is None else settings.max_complexity
    structure = _structure(data, target, settings)
    given = data, target, whole, structure, own, settings.seed, settings.constraints, most_nodes
    return TargetProblem(*given, functions=_functions(settings))


def _functions(settings: Settings) -> frozenset[str] | None:
    """What sums may be made of: everything, unless the user has chosen."""
    if settings.operators is None and not settings.constraints.without:
        return None
    if settings.operators is None:
        return frozenset({"mul", "div", "pow", *(f.name for f in TABLE)} - set(settings.constraints.without))
    return search_network(1, settings.operators, settings.constraints.without).operator_names


def _limited(search: Search) -> SearchPolicy:
    """The policy with the sizes that the rows and the user's limits allow."""
    settings, policy = search.settings, search.policy
    if settings.recipe == "real":
        schedule, sums = replace(policy.schedule, complex_weights=False), replace(policy.sums, complex_poles=False)
        policy = replace(policy, schedule=schedule, sums=sums)
    edges = min(policy.prior.maximum_edges, edges_for(len(search.data.y), policy))
    if settings.max_complexity is not None:
        edges = min(edges, edges_within(settings.max_complexity, policy))
    prior = replace(policy.prior, nesting=settings.constraints.nesting, maximum_edges=edges)
    return replace(policy, prior=prior)


def edges_within(max_complexity: int, policy: SearchPolicy) -> int:
    """The most edges a sub-network needs for a formula of that many nodes, with some room to find it in."""
    return max(policy.end.fewest_edges, int(policy.end.edges_a_node * max_complexity) + 2)


def edges_for(rows: int, policy: SearchPolicy) -> int:
    """The most edges where rows are few: a sub-network with as many edges as rows meets them all and proves nothing.

    Draws have more edges than the formula that is in them, so this must bite only where rows are very few.
    """
    return max(policy.end.fewest_edges, int(policy.end.edges_a_row * rows) - policy.end.edges_spare)


def _needed_inputs(target: TransformedTarget, required: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Per required column the inputs that bring it in; none where the way back from the target does."""
    names = [{symbol.name for symbol in expression.free_symbols} for expression in target.symbols]
    groups = (tuple(k for k, found in enumerate(names) if column in found) for column in required)
    return tuple(group for group in groups if group)


def _structure(data: Dataset, target: TransformedTarget, settings: Settings) -> Structure:
    if settings.template is None:
        return search_network(target.x.shape[1], settings.operators, settings.constraints.without)
    return Assembly(settings.template, data.names, Scaling.of(target.x, target.y))
