"""The search for one target: what never changes (`TargetProblem`), what does (`TargetState`), and a round between.

A round proposes starts, fits them and merges them into the archive. Exact fits are eliminated and become formulas;
where the data look noisy, the most promising fits are reduced instead. Every function takes a state and gives the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np

from ceql.choice.criterion import interpolates
from ceql.choice.exactness import is_exact, is_hit, size_of
from ceql.choice.residuals import look_like_noise, neighbours
from ceql.closed_form import fraction, images, noisy_forms, product, shape, sparse_sum, squares, wave
from ceql.constraints import NONE, Constraints
from ceql.data.dataset import Dataset, Scaling
from ceql.engine import fit
from ceql.engine.ahead import Ahead
from ceql.engine.deadline import NEVER, Deadline
from ceql.engine.dispatch import Work, Workers
from ceql.engine.stages import Chunk
from ceql.expression import THOROUGH, Effort
from ceql.expression.algebra.half_angles import with_half_angles
from ceql.expression.text.write import short_text
from ceql.formula import Formula, held, make_symbols, mean_square, polish, shortened, sketch, values_of
from ceql.network import Structure
from ceql.search.archive import Archive, empty_archive, judged_anew, merge, with_fits
from ceql.search.periodogram import peaks
from ceql.search.policy import ReductionPolicy, SearchPolicy
from ceql.search.proposals import Proposals
from ceql.search.reduction import Contenders, Reduced, WhileExact, challenged, eliminate
from ceql.sums import View
from ceql.transforms import TransformedTarget

_FRACTIONS_NEED = {"mul", "div"}
_WAVES_NEED = {"mul", "sin", "cos"}
_IN_FRACTIONS = ("cos", "sin", "exp")
_ROOTS = ("sqrt", "abs")
_IN_CLOSED_FORM = ("sqrt", "log", "sin", "cos", "exp")


@dataclass(frozen=True, eq=False)
class TargetProblem:
    """One target of the search and all that its rounds depend on."""

    data: Dataset  # all rows, in the user's columns
    target: TransformedTarget  # the rows that the search looks at
    whole: TransformedTarget  # all rows of it
    structure: Structure
    policy: SearchPolicy = field(default_factory=SearchPolicy)
    seed: int = 0
    constraints: Constraints = NONE
    most_nodes: float = np.inf  # of a formula that is allowed
    functions: frozenset[str] | None = None  # that sums may be made of; None: all

    @cached_property
    def scaling(self) -> Scaling:
        return Scaling.of(self.target.x, self.target.y)

    @cached_property
    def symbols(self) -> tuple[Any, ...]:
        return make_symbols(self.data.names)

    @cached_property
    def plain(self) -> fit.Samples:
        x, y = self.scaling.apply(self.target.x, self.target.y)
        return fit.Samples.of(x, y, self.target.weight)

    @cached_property
    def samples(self) -> fit.Samples:
        """Samples with less weight for large values, which would outweigh all others near a pole."""
        return fit.Samples.of(self.plain.x, self.plain.y, self.target.weight / (1.0 + self.plain.y**2))

    @cached_property
    def tolerance(self) -> float:
        """Misfit of an exact fit."""
        return self.policy.exact.hit * mean_square(self.plain.y, self.target.weight)

    @cached_property
    def rhythms(self) -> list[np.ndarray]:
        return (
            peaks(self.samples.x, self.samples.y, self.policy.periodogram) if self.structure.is_frequency.any() else []
        )

    @cached_property
    def sum_views(self) -> dict[bool, View]:
        """What sums are made of, as it is worked out, without noise and with it."""
        return {}

    @cached_property
    def neighbours(self) -> np.ndarray:
        return neighbours(self.plain.x)

    def reweighed(self, data: Dataset, weight: np.ndarray) -> TargetProblem:
        """The same with other weights: `data` has those of all rows, `weight` those of the rows searched."""
        return replace(self, data=data, target=replace(self.target, weight=weight))

    def expression(self, fitted: Reduced) -> Any:
        """The raw formula of a fit, in the user's units."""
        params = self.structure.upright(fitted.edges, fitted.params, self.samples.x)
        raw = self.structure.in_units(fitted.edges, params, self.target.symbols, self.scaling)
        return self.target.back(raw)

    def finished(self, fitted: Reduced, effort: Effort = THOROUGH) -> Formula | None:
        """The formula of a fit: with the full effort, or sketched; of a template only its free parts are rewritten."""
        params = self.structure.upright(fitted.edges, fitted.params, self.samples.x)
        named = self.structure.named(fitted.edges, params, partial(shortened, data=self.data, effort=effort))
        given = self.data, self.symbols, self.constraints, self.policy.polish
        if named is not None:
            return held(named, *given)
        raw = self.expression(fitted)
        return self.polished(raw) if effort is THOROUGH else sketch(raw, *given)

    def polished(self, raw: Any) -> Formula | None:
        """The finished formula of an expression in the user's units, with the full effort."""
        return polish(raw, self.data, self.symbols, self.constraints, self.policy.polish)


@dataclass(frozen=True, eq=False)
class TargetState:
    """What is known of one target between two rounds."""

    archive: Archive
    tried: frozenset[bytes] = frozenset()  # structures whose fits were eliminated
    tried_closed_form: bool = False
    contenders: Contenders = field(default_factory=Contenders)
    spare: Formula | None = None  # exact, but perhaps not the shortest way to say it
    edges_too_many: float = np.inf  # from this number on, exact fits are formulas beyond the limit

    @property
    def exceeds_limit(self) -> bool:
        """Whether a formula was exact, but larger than allowed."""
        return bool(self.edges_too_many < np.inf)

    def fit(self, index: int) -> Reduced:
        chunk = self.archive.chunk
        return Reduced(chunk.edges[index], chunk.params[index], float(chunk.misfit[index]))


Step = tuple[TargetState, list[Formula]]  # the next state, and the exact formulas that were found on the way


def begin(problem: TargetProblem, guesses: Sequence[Any] = ()) -> TargetState:
    """The state before the first round. Guesses in the user's columns become parents if they fit into the network."""
    archive = empty_archive(problem.structure)
    if guesses and problem.target.is_plain:
        symbols, scaling = problem.target.symbols, problem.scaling
        founders = tuple(s for g in guesses for s in problem.structure.embedded(g, symbols, scaling))
        if founders:
            archive = judged_anew(with_fits(archive, founders), problem.structure, problem.samples, problem.policy)
            archive = replace(archive, founders=founders)
    return TargetState(archive)


def reweighed(problem: TargetProblem, state: TargetState) -> TargetState:
    """The state after a change of the weights to those of `problem`: fits are judged again, the rest is forgotten."""
    archive = judged_anew(state.archive, problem.structure, problem.samples, problem.policy)
    return TargetState(archive, spare=state.spare, edges_too_many=state.edges_too_many)


def next_round(
    problem: TargetProblem,
    state: TargetState,
    count: int,
    workers: Workers,
    deadline: Deadline,
    anyhow: bool = False,
    ahead: Ahead[Archive] | None = None,
) -> Step:
    """The state after another round of `count` starts, and the exact formulas found, first those that need no search.

    A round that the deadline cuts short counts as not begun, except with `anyhow`, when there are no other results.
    `ahead` may have the round already.
    """
    if state.archive.rounds == 0:
        state, closed = closed_form(problem, state, deadline)
        if closed:
            return state, closed
    archive = None if ahead is None else ahead.result(problem, (problem, state.archive, count))
    if archive is None:
        archive = fitted_round(problem, state.archive, count, workers, deadline)
    if deadline.over and not anyhow:
        return state, []
    state, exact = _exact_formulas(problem, replace(state, archive=archive), workers.threads_here)
    policy = problem.policy.reduction
    may_reduce = problem.target.is_direct and archive.rounds >= policy.first_round
    if not exact and may_reduce and sees_noise(archive.chunk, policy):
        state = replace(state, contenders=reduced(problem, state, workers.threads_here))
    return state, exact


def fitted_round(
    problem: TargetProblem,
    archive: Archive,
    count: int,
    workers: Workers,
    deadline: Deadline,
    stop: fit.StopFlag | None = None,
) -> Archive:
    """The archive after a round of `count` starts."""
    policy, structure = problem.policy, problem.structure
    proposals = Proposals(structure, policy, archive, problem.seed, count, problem.rhythms)
    at_a_time = max(1, policy.bytes_at_a_time // (8 * structure.n_params * policy.chunk_size)) * policy.chunk_size

    def fitted(first: int) -> list[Chunk]:
        last = min(first + at_a_time, count)
        threads = min(workers.threads_here, -(-(last - first) // policy.chunk_size))  # to begin one takes time
        edges, params, masks = proposals.starts(first, last, threads)
        work = Work(structure, problem.samples, policy.schedule, edges, params, policy.chunk_size, masks)
        return workers.fit([work], deadline, stop)

    pieces = range(0, count, at_a_time)
    at_once = min(workers.at_once, len(pieces))
    if at_once > 1:
        with ThreadPoolExecutor(at_once) as threads:
            contexts = [copy_context() for _ in pieces]
            chunks = list(threads.map(lambda context, first: context.run(fitted, first), contexts, pieces))
    else:
        chunks = list(map(fitted, pieces))
    return merge(archive, Chunk.concatenate(list(chain(*chunks))), count, len(problem.samples.y), policy)


def reduced(problem: TargetProblem, state: TargetState, threads: int, most: int | None = None) -> Contenders:
    """The contenders after a challenge by at most `most` fits of the archive."""
    policy, needed = problem.policy.reduction, problem.policy.prior.needed
    policy = policy if most is None else replace(policy, fits=min(policy.fits, most))
    chunk = state.archive.chunk
    return challenged(state.contenders, chunk, problem.structure, problem.plain, policy, threads, needed)


# ---- what needs no search -----------------------------------------------------------------------------------------


def closed_form(problem: TargetProblem, state: TargetState, deadline: Deadline = NEVER) -> Step:
    """Formulas that need no search, looked for only once. When the time is up, no further kind is tried."""
    if state.tried_closed_form:
        return state, []
    state = replace(state, tried_closed_form=True)
    if not problem.structure.operator_names >= _FRACTIONS_NEED:
        return state, []
    for find in (_shape, _fraction, _product_or_sum, _wave):
        state, found = find(problem, state, deadline)
        if found:
            return state, found
    return state, []


def _shape(problem: TargetProblem, state: TargetState, deadline: Deadline) -> Step:
    """A known shape, if the target is a curve. It comes before fractions, which imitate any shape with few rows per
    number."""
    target, counted = problem.target, problem.target.weight > 0.0
    if deadline.over or target.x.shape[1] > 1 or len(target.symbols[0].free_symbols) < 2:
        return state, []
    x, y, symbol = target.x[counted, 0], target.y[counted], target.symbols[0]
    found = shape(x, y, symbol, problem.functions, problem.policy.closed_forms.shapes)
    state, formula = (state, None) if found is None else examined(problem, state, found)
    return state, [] if formula is None else [formula]


def _fraction(problem: TargetProblem, state: TargetState, deadline: Deadline) -> Step:
    """A fraction of polynomials: in the columns or their squares, in powers of single columns, or with a column
    replaced by its sine, cosine or exponential."""
    target, operators = problem.target, problem.structure.operator_names
    symbols = [s / float(k) for s, k in zip(target.symbols, problem.scaling.x, strict=True)]
    counted = target.weight > 0.0
    x, y = problem.plain.x[counted], problem.plain.y[counted]
    names = [name for name in _IN_FRACTIONS if name in operators]
    policy = problem.policy.closed_forms.fractions
    replaced = chain(squares(x, symbols), images(x, symbols, target.x[counted], target.symbols, names, policy))
    single = [(x, symbols, False)] if x.shape[1] > 1 else []
    ways = chain([(x, symbols, True)], single, ((*one, True) for one in replaced))
    for place, (columns, written, mixed) in enumerate(ways):
        if deadline.over and place:
            break
        found = fraction(columns, y, written, policy, mixed)
        if found is None:
            continue
        state, formula = examined(problem, state, problem.scaling.y * found.expression)
        if formula is not None:
            if found.is_linear or found.terms <= problem.policy.shortcuts.short_fraction:
                return state, [formula]
            # Several separate poles make one long fraction. The search may find them apart, which is shorter.
            return replace(state, spare=formula), []
    return state, []


def _product_or_sum(problem: TargetProblem, state: TargetState, deadline: Deadline) -> Step:
    target, counted = problem.target, problem.target.weight > 0.0
    functions = _functions(problem)
    if problem.functions is None or "abs" in problem.functions:
        functions = (*functions, "abs")
    policy = problem.policy.closed_forms
    given = target.x[counted], target.y[counted], target.symbols
    # Sums with functions take longest, and there are many other targets: of several columns only y itself has them.
    plain = target.is_direct or target.x.shape[1] <= policy.sums.few_columns
    in_sums = functions if plain else tuple(name for name in functions if name in _ROOTS)
    finders = partial(product, *given, functions, policy.products), partial(sparse_sum, *given, in_sums, policy.sums)
    for find in finders:
        found = None if deadline.over else find()
        if found is not None:
            state, formula = examined(problem, state, found)
            if formula is not None:
                return state, [formula]
    return state, []


def _wave(problem: TargetProblem, state: TargetState, deadline: Deadline) -> Step:
    """A wave over two columns; only for y itself, since there are many other targets."""
    target, counted = problem.target, problem.target.weight > 0.0
    if deadline.over or not target.is_direct or not problem.structure.operator_names >= _WAVES_NEED:
        return state, []
    found = wave(target.x[counted], target.y[counted], target.symbols, problem.policy.closed_forms.waves)
    state, formula = (state, None) if found is None else examined(problem, state, found)
    return state, [] if formula is None else [formula]


def noisy_expressions(problem: TargetProblem) -> list[Any]:
    """Expressions for noisy y that need no search, in the user's columns; none of them is fitted to y yet."""
    if not problem.structure.operator_names >= _FRACTIONS_NEED:
        return []
    target = problem.whole  # noise is averaged out over rows
    given = target.x, target.y, target.symbols, _functions(problem), target.slope
    in_shapes = problem.functions if target.is_direct else ()
    found = noisy_forms(*given, problem.policy.closed_forms.noisy_forms, in_shapes)
    return [target.back(expression) for expression in found]


def _functions(problem: TargetProblem) -> tuple[str, ...]:
    return tuple(name for name in _IN_CLOSED_FORM if name in problem.structure.operator_names)


# ---- exact formulas -----------------------------------------------------------------------------------------------


def examined(problem: TargetProblem, state: TargetState, found: Any) -> tuple[TargetState, Formula | None]:
    """The formula for y that this expression for the target leads to, if it is exact and not too large."""
    raw = problem.target.back(found)
    if not problem.constraints.is_possible(raw):
        return state, None
    few = problem.data.thinned(problem.policy.exact.rows)
    values = values_of(raw, problem.symbols, few.x)
    if values is not None:
        counted = few.weight > 0.0
        least = 1e-6 * np.sqrt(size_of(few))  # where y is zero, rounding is not
        apart = np.abs(np.abs(values) - np.abs(few.y)) / np.maximum(np.abs(few.y), least)
        if np.median(apart[counted]) > problem.policy.hits.far_off:
            return state, None  # to finish it would take long and change nothing
        if float(values @ few.y) < 0.0:
            raw = -raw  # a square does not tell the sign
    for form in dict.fromkeys((raw, with_half_angles(raw))):
        state, formula = _proven(problem, state, problem.polished(form))
        if formula is not None:
            return state, formula
    return state, None


def _proven(problem: TargetProblem, state: TargetState, formula: Formula | None) -> tuple[TargetState, Formula | None]:
    """The formula if it is exact; a nearly exact one is kept in case nothing better is found."""
    if (
        formula is None
        or not is_hit(formula, problem.data, problem.policy.exact)
        or formula.complexity > problem.most_nodes
    ):
        return state, None
    if is_exact(formula, problem.data, problem.policy.exact) and _needs_no_better(problem, formula):
        return state, formula
    if interpolates(formula, len(problem.data.y)):  # which proves nothing
        return state, None
    if state.spare is None or formula.loss < state.spare.loss:
        state = replace(state, spare=formula)
    return state, None


def _needs_no_better(problem: TargetProblem, formula: Formula) -> bool:
    """Whether an exact formula is proved. Where numbers have no units, it must leave only rounding and have simple
    numbers or named constants; a good approximation has other numbers."""
    if not problem.constraints.is_strict:
        return True
    is_rounding = formula.loss <= problem.policy.exact.rounding * size_of(problem.data)
    return is_rounding and problem.constraints.explains(formula.expression)


def _exact_formulas(problem: TargetProblem, state: TargetState, threads: int) -> Step:
    """Formulas from exact fits that stay exact when reduced; each fit is tried only once."""
    policy, chunk, exact = problem.policy.hits, state.archive.chunk, problem.policy.exact
    near = np.flatnonzero((chunk.misfit < exact.near) & (chunk.misfit >= exact.hit) & chunk.in_domain)
    chosen = _untried(state, state.archive.hits(exact.hit), policy.tried) or _untried(state, near, policy.near_tried)
    if not chosen:
        return state, []
    state = replace(state, tried=state.tried.union(chunk.edges[k].tobytes() for k in chosen))
    rule = WhileExact(problem.tolerance, policy.margin, policy.refit, policy.separable)
    needed = problem.policy.prior.needed
    starts = [state.fit(k) for k in chosen]
    survivors: dict[bytes, Reduced] = {}
    for path in eliminate(problem.structure, problem.plain, starts, rule, threads, needed):
        steps = [step for step in path if step.misfit <= problem.tolerance]
        survivors.update({steps[-1].edges.tobytes(): steps[-1]} if steps else {})
    formulas: list[Formula] = []
    for step in sorted(survivors.values(), key=lambda step: step.size)[: policy.polished]:
        state, formula = _polished(problem, state, step)
        formulas += [] if formula is None else [formula]
    return state, formulas


def _untried(state: TargetState, rows: np.ndarray, most: int) -> list[int]:
    """The smallest of these fits that have not been reduced before."""
    edges = state.archive.chunk.edges
    smallest_first = rows[np.argsort(edges[rows].sum(axis=1), kind="stable")]
    return [int(k) for k in smallest_first if edges[k].tobytes() not in state.tried][:most]


def _polished(problem: TargetProblem, state: TargetState, step: Reduced) -> tuple[TargetState, Formula | None]:
    if step.size >= state.edges_too_many:
        return state, None
    formula = problem.finished(step)
    if formula is None or not is_hit(formula, problem.data, problem.policy.exact):
        return state, None
    if formula.complexity > problem.most_nodes:
        return replace(state, edges_too_many=step.size), None
    return _proven(problem, state, formula)


# ---- noise --------------------------------------------------------------------------------------------------------


def sees_noise(chunk: Chunk, policy: ReductionPolicy) -> bool:
    """Whether larger fits have stopped improving; without noise they would go on."""
    if not len(chunk.misfit):
        return False
    sizes = chunk.edges.sum(axis=1)
    there = np.unique(sizes)
    best = np.array([chunk.misfit[sizes == size].min() for size in there])
    reached = int(np.flatnonzero(best <= policy.as_good * best.min())[0])
    larger = chunk.edges.shape[1] - int(there[reached])  # a template may have few edges, and no more to try
    return len(best) - 1 - reached >= min(policy.sizes_for_nothing, larger)


def few_show_noise(chunk: Chunk, rows: int, policy: ReductionPolicy) -> bool:
    """The same for so few rows that large fits meet them all: whether the noise estimated from larger fits, with at
    most half as many edges as rows, has stopped falling."""
    sizes = chunk.edges.sum(axis=1)
    there = np.unique(sizes[sizes <= rows // 2])
    if not len(there):
        return False
    noise = np.array([chunk.misfit[sizes == size].min() * rows / (rows - size) for size in there])
    reached = there[int(np.flatnonzero(noise <= policy.as_good_in_few * noise.min())[0])]
    return int(there[-1] - reached) >= policy.sizes_for_nothing_in_few


def has_settled(problem: TargetProblem, state: TargetState) -> bool:
    """Whether more rounds would hardly change the formula: larger fits only follow the noise, and the best small one
    has not changed for a while, or for longer if its residuals do not look like noise."""
    policy, quiet = problem.policy.reduction, state.contenders.quiet
    if quiet < policy.quiet or not sees_noise(state.archive.chunk, policy):
        return False
    return quiet >= policy.quiet_in_doubt or _leaves_only_noise(problem, state.contenders.known[0])


def _leaves_only_noise(problem: TargetProblem, fitted: Reduced) -> bool:
    mask = problem.structure.parameter_mask(fitted.edges[None], imaginary=False)
    values = fit.values(problem.structure.tape(), problem.plain, fitted.params, mask)[0]
    return look_like_noise(problem.plain.y - values, values, problem.neighbours, problem.policy.residuals)


# ---- for a live display -------------------------------------------------------------------------------------------


def best_loss(problem: TargetProblem, state: TargetState) -> float:
    """The misfit of the best fit so far, in the units of the target."""
    return float(state.archive.chunk.misfit[0]) * problem.scaling.y**2


def glance(problem: TargetProblem, state: TargetState) -> str:
    """The best fit so far as a short text: raw and unsimplified, but in the user's units."""
    return short_text(problem.expression(state.fit(0)))
