"""Terms are removed, added and exchanged in all equations of a system at once, guided by its trajectories.

Candidates of one equation are ranked along a path, as if the other equations and the path were right. Around a system
that was fitted to the trajectories, more is known: how samples and gaps respond to its initial states and to a small
amount of any term in any equation. So samples and gaps are nearly linear in the weights of all possible terms. The
systems with the best criterion in this approximation are fitted, whichever terms they share with the known one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from ceql.dynamics.candidates import Candidate
from ceql.dynamics.choosing import Contender, Contest, Record, rows_of
from ceql.dynamics.contests import is_clean
from ceql.dynamics.elimination import monomials
from ceql.dynamics.policy import RecombiningPolicy
from ceql.dynamics.shapes import Shape, shape_of
from ceql.dynamics.simulation import Extra, Function
from ceql.dynamics.system import System
from ceql.engine.one_thread import one_thread
from ceql.expression.constants.parametrise import parametrise
from ceql.expression.prices import PRICES, structure_price
from ceql.operators.program import value_and_jacobian

Array = np.ndarray
Subset = frozenset[int]
_Key = tuple[int, Shape]
_RIDGE = 1e-10  # of a direction: what keeps those apart that are the same on these samples
_INDEPENDENT = 1e-6  # square of what is left of a direction beside others, below which it says nothing of its own
_LEAST = 1e-12  # squares that are left, in units of the noise, below which they count as nothing


@dataclass(frozen=True, eq=False)
class _Term:
    """A term that may stand in one equation, without its weight, and the weight that it has now."""

    place: int  # of the equation
    expression: Any
    weight: float
    price: float

    @property
    def key(self) -> _Key:
        return self.place, shape_of(self.expression)


def recombined(
    record: Record,
    candidates: Sequence[Sequence[Candidate]],
    policy: RecombiningPolicy,
    plain: Sequence[Any] = (),
    with_whole: bool = True,
) -> None:
    """Tries systems around the best one, at first with small weights of the gaps between segments: errors in one
    segment then do not affect the next, and fits are quick. With `with_whole`, full weights follow. `plain` are further
    terms that may be added to any equation. Nothing is done if the path is as accurate as the samples, or for a single
    state."""
    few_states = len(record.contest.series.states) < policy.fewest_states
    if record.best is None or few_states or is_clean(record.contest):
        return
    few = [record.best.system]
    for joined in policy.joined:
        shooting = replace(record.contest.policy.shooting, joined=joined)
        loose = Record(replace(record.contest, policy=replace(record.contest.policy, shooting=shooting)))
        _tried(loose, few)
        _turns(loose, candidates, plain, policy, policy.turns)
        few = [one.system for one in sorted(loose.contenders, key=lambda one: one.criterion)[: policy.taken_along]]
    _tried(record, few)
    _turns(record, candidates, plain, policy, policy.whole_turns if with_whole else 0)


def _tried(record: Record, systems: Iterable[System]) -> None:
    for system in systems:
        record.try_out(system)


def _turns(
    record: Record,
    candidates: Sequence[Sequence[Candidate]],
    plain: Sequence[Any],
    policy: RecombiningPolicy,
    turns: int,
) -> None:
    """Systems around the best system, repeated around a better one if there is any."""
    for _ in range(turns):
        best = record.best
        if best is None:
            return
        _tried(record, _promising(best, candidates, plain, record.contest, policy))
        if record.best is best:
            return


def _promising(
    best: Contender,
    candidates: Sequence[Sequence[Candidate]],
    plain: Sequence[Any],
    contest: Contest,
    policy: RecombiningPolicy,
) -> Iterator[System]:
    terms = _terms_around(best, candidates, plain, policy)
    answers = _answers(best, terms, contest)
    if answers is None:
        return
    present = frozenset(number for number, term in enumerate(terms) if term.weight)
    for chosen in best_subsets(answers, present, policy):
        weights = answers.weights(chosen)
        if np.isfinite(list(weights.values())).all():
            yield _written(best.system, terms, weights)


def _written(system: System, terms: Sequence[_Term], weights: dict[int, float]) -> System:
    formulas = list(system.formulas)
    for place in system.searched:
        own = [sympy.Float(weight) * terms[k].expression for k, weight in weights.items() if terms[k].place == place]
        formulas[place] = formulas[place].with_expression(sympy.Add(*own))
    return replace(system, formulas=tuple(formulas))


def _terms_around(
    best: Contender, candidates: Sequence[Sequence[Candidate]], plain: Sequence[Any], policy: RecombiningPolicy
) -> list[_Term]:
    """The terms of the system, the terms of candidates of its equations, products of powers, and plain terms."""
    system, rows = best.system, int(np.sum(best.shot.samples))
    degree = policy.degrees[min(len(system.symbols), len(policy.degrees)) - 1]
    powers = monomials(system.symbols, degree)
    plain = plain if len(system.symbols) <= policy.most_columns else ()
    found: dict[_Key, _Term] = {}
    for place, few in zip(system.searched, candidates, strict=True):
        own = [(factor, rest) for factor, rest in _parts(system.formulas[place].expression, system.symbols)]
        others = [rest for one in few for _, rest in _parts(one.formula.expression, system.symbols)]
        distinct = list({shape_of(rest): rest for rest in reversed(others)}.values())[::-1][: policy.most_terms]
        for weight, rest in (*own, *((0.0, rest) for rest in (*powers, *distinct, *plain))):
            numbers = 1 + len(parametrise(rest).values)
            price = structure_price(rest) + PRICES.add + PRICES.mul + numbers * PRICES.constant * np.log(rows)
            term = _Term(place, rest, weight, float(price))
            found.setdefault(term.key, term)
    return list(found.values())


def _parts(expression: Any, symbols: Sequence[sympy.Symbol]) -> Iterator[tuple[float, Any]]:
    """The terms of a sum, with their weights apart."""
    for term in sympy.Add.make_args(sympy.expand(expression)):
        factor, rest = term.as_independent(*symbols, as_Add=False)
        if factor.is_number and factor.is_real and float(factor):
            yield float(factor), rest


@dataclass(frozen=True, eq=False)
class Answers:
    """How samples and gaps respond to a small amount of each term, as directions, and what all terms must add up to."""

    columns: Array  # (samples and gaps, directions), of length 1
    sizes: Array  # (directions,): the lengths that they had
    values: Array  # (samples and gaps,)
    owners: Array  # (directions,): the term that each belongs to; its first direction is that of its weight
    prices: Array  # (terms,)
    rows: int  # samples

    @cached_property
    def gram(self) -> Array:
        return self.columns.T @ self.columns + _RIDGE * np.eye(self.columns.shape[1])

    @cached_property
    def toward(self) -> Array:
        return self.columns.T @ self.values

    @cached_property
    def firsts(self) -> Array:
        """The direction of the weight of each term; -1 for one without any."""
        found = np.full(len(self.prices), -1)
        found[self.owners[::-1]] = np.arange(len(self.owners))[::-1]
        return found

    def directions(self, chosen: Subset) -> Array:
        return np.flatnonzero(np.isin(self.owners, list(chosen)))

    def weights(self, chosen: Subset) -> dict[int, float]:
        """Of the terms, if no others are there."""
        where = self.directions(chosen)
        found = dict(zip(where, np.linalg.solve(self.gram[np.ix_(where, where)], self.toward[where]), strict=True))
        return {k: float(found[self.firsts[k]] / self.sizes[self.firsts[k]]) for k in sorted(chosen)}

    def score(self, left: Array | float, price: Array | float) -> Array | float:
        return self.rows * np.log(np.maximum(left, _LEAST) / self.rows) + 2.0 * price

    def grown(self, chosen: Subset) -> tuple[float, Array]:
        """The score of these terms, and those with each further one."""
        where = self.directions(chosen)
        inverse = np.linalg.inv(self.gram[np.ix_(where, where)])
        across = self.gram[where][:, self.firsts]
        weights = inverse @ self.toward[where]
        left = float(self.values @ self.values - self.toward[where] @ weights)
        price = float(self.prices[list(chosen)].sum())
        room = self.gram.diagonal()[self.firsts] - np.einsum("sk,st,tk->k", across, inverse, across)
        pull = self.toward[self.firsts] - weights @ across
        fine = (room > _INDEPENDENT) & (self.firsts >= 0)
        fine[list(chosen)] = False
        gains = np.where(fine, pull**2 / np.where(fine, room, 1.0), 0.0)
        scores = np.where(fine, self.score(left - gains, price + self.prices), np.inf)
        return float(self.score(left, price)), np.asarray(scores)


def best_subsets(answers: Answers, present: Subset, policy: RecombiningPolicy) -> list[Subset]:
    """The best sets of terms that are reached from the present ones by removing, adding and exchanging terms."""
    start = frozenset(k for k in present if answers.firsts[k] >= 0)
    scores: dict[Subset, float] = {start: np.inf}
    expanded: set[Subset] = set()
    for _ in range(policy.expansions):
        fresh = [one for one in scores if one not in expanded]
        if not fresh:
            break
        chosen = min(fresh, key=lambda one: (scores[one], sorted(one)))
        expanded.add(chosen)
        for base in (chosen, *(chosen - {k} for k in sorted(chosen))):
            own, further = answers.grown(base)
            scores[base] = own
            for k in np.argsort(further, kind="stable")[: policy.branches]:
                if np.isfinite(further[k]):
                    scores.setdefault(base | {int(k)}, float(further[k]))
    return sorted(scores, key=lambda one: (scores[one], sorted(one)))[: policy.kept]


def _columns_of(term: _Term, symbols: tuple[sympy.Symbol, ...]) -> list[Function]:
    """The term; and if the system has it, also the effect of a change of each number inside it, times its weight."""
    form = parametrise(term.expression)
    program, numbers = value_and_jacobian(form.expr, symbols, form.symbols), np.array(form.values)
    columns: list[Function] = [lambda rows: program.value(rows, numbers)]
    if term.weight:
        columns += [lambda rows, k=k: term.weight * program(rows, numbers)[1][:, k] for k in range(len(numbers))]
    return columns


@one_thread
@np.errstate(all="ignore")
def _answers(best: Contender, terms: Sequence[_Term], contest: Contest) -> Answers | None:
    """The response of samples and gaps to a small amount of each term, less what initial states can compensate."""
    shot, rows = best.shot, rows_of(best, contest)
    extras, owners = [], []
    for number, term in enumerate(terms):
        functions = _columns_of(term, shot.system.symbols)
        sizes = [float(np.sqrt(np.mean(function(rows) ** 2))) for function in functions]
        if 0.0 < sizes[0] < np.inf:
            some = [(function, size) for function, size in zip(functions, sizes, strict=True) if 0.0 < size < np.inf]
            extras += [Extra(term.place, function, size) for function, size in some]
            owners += [number] * len(some)
    answers, begins, left = shot.answers(extras)
    if not (np.isfinite(begins).all() and np.isfinite(left).all()):
        return None
    q = np.linalg.qr(begins)[0]
    answers, values = answers - q @ (q.T @ answers), left - q @ (q.T @ left)
    sizes = np.linalg.norm(answers, axis=0)
    usable = np.isfinite(sizes) & (sizes > 0.0)
    is_weight = np.diff(owners, prepend=-1) != 0
    usable &= usable[np.flatnonzero(is_weight)][np.cumsum(is_weight) - 1]  # a term with its weight, or not at all
    weights = np.array([terms[owner].weight for owner in owners]) * is_weight
    values = values + answers[:, usable] @ weights[usable]
    prices = np.array([term.price for term in terms])
    columns = answers[:, usable] / sizes[usable]
    return Answers(columns, sizes[usable], values, np.array(owners)[usable], prices, int(np.sum(shot.samples)))
