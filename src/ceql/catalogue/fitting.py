"""Fits laws of the catalogue to a table: a single law, or all of them with the better ones fitted further."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations

import numpy as np

from ceql.catalogue.foreign_poles import has_foreign_pole
from ceql.catalogue.law import Law, catalogue
from ceql.catalogue.plain import of_all_columns
from ceql.catalogue.policy import POLICY, CataloguePolicy
from ceql.catalogue.separable import Ends, Rows, allowed, descend, first_look
from ceql.catalogue.starts import Facts, start_grid
from ceql.choice.criterion import criterion, price_of_constants
from ceql.choice.exactness import EXACT, size_of
from ceql.data.dataset import Dataset
from ceql.engine.deadline import NEVER, Deadline
from ceql.engine.one_thread import one_thread
from ceql.expression import parametrise
from ceql.expression.constants.refit import covariance_of, minimise
from ceql.expression.constants.rounding import rounded_values, to_digits_of_error
from ceql.expression.constants.rounding_policy import ROUNDING
from ceql.expression.evaluate.residual_problem import Problem
from ceql.expression.prices import PRICES
from ceql.expression.symbolic import Expr
from ceql.formula import Formula, LawConstant, NamedLaw, make_symbols, mean_square, values_of

Array = np.ndarray
_MANY = 3  # laws with at least this many nonlinear constants are ranked together
_NATS_A_NODE = 1.5  # approximate price of a node, before there is a formula to be priced
_NUDGE = 1e-6  # relative change of a constant for numerical derivatives
_DEGREE = 3  # degree of the polynomial by which columns of a wide table are compared


@dataclass(frozen=True, eq=False)
class LawFit:
    """A law in given columns of the table, with its fitted constants and its loss on all rows."""

    law: Law
    columns: tuple[str, ...]
    constants: tuple[LawConstant, ...]
    loss: float
    formula: Formula

    @property
    def values(self) -> dict[str, float]:
        return {constant.name: constant.value for constant in self.constants}

    @property
    def is_determined(self) -> bool:
        """Whether every constant has a finite standard error."""
        return all(np.isfinite(constant.error) for constant in self.constants)


@dataclass(frozen=True, eq=False)
class Tried:
    """A law in given columns, the current state of its fit, and its score (smaller is better).

    `hope` is what the score would be if the next round gained as much as the last. Ranking by it protects laws that
    converge slowly.
    """

    law: Law
    places: tuple[int, ...]
    ends: Ends
    score: float
    hope: float


def fitted(law: Law, data: Dataset, policy: CataloguePolicy = POLICY) -> LawFit | None:
    """The law in the columns where it fits best; None if it is undefined on some row or breaks its bounds."""
    alone = replace(
        policy, rounds=((policy.most_assignments, policy.last_steps // 4),), per_law=policy.most_assignments
    )
    fits = _fits([law], data, alone)
    return fits[0] if fits else None


def fit_all(
    data: Dataset, policy: CataloguePolicy = POLICY, laws: Sequence[Law] | None = None, until: Deadline = NEVER
) -> tuple[LawFit, ...]:
    """The laws that describe the table best, and the plain models, ordered by the criterion.

    A law whose constants the rows do not determine is left out, since a smaller one says the same. Without `laws`, the
    whole catalogue is tried. When the time is up, only the best so far are finished.
    """
    known = catalogue() if laws is None else laws
    fits = _fits((*known, *of_all_columns(data, policy.most_terms)), data, policy, until)
    return tuple(fit for fit in fits if fit.is_determined or fit.law.is_plain)


@one_thread
def _fits(laws: Iterable[Law], data: Dataset, policy: CataloguePolicy, until: Deadline = NEVER) -> list[LawFit]:
    """Looks at every law, fits the better ones further in each round, and finishes the best; ordered by the
    criterion."""
    few, facts = data.thinned(policy.screened_rows), Facts(data.thinned(policy.started_rows))
    places = telling_columns(few, data, policy.most_columns)
    choices = ((law, chosen) for law in laws for chosen in _assignments(law, places, data, policy))
    tried: list[Tried] = []
    for law, chosen in choices:
        if tried and until.over:
            break
        tried.append(look(law, chosen, few, facts, policy))
    for most, steps in policy.rounds:
        ahead = _ahead_of_their_kind(tried, most, policy.per_law)
        tried = [one if until.over else improve(one, few, steps) for one in ahead]
    last = sorted(_to_finish(tried, policy), key=lambda one: one.score)
    fits = [fit for k, one in enumerate(last) if not (k and until.over) and (fit := finish(one, data, policy))]
    ordered = sorted(fits, key=lambda fit: (_rank(fit, data), fit.law.size, fit.law.name))
    first = {fit.law.name: fit for fit in reversed(ordered)}
    return [fit for fit in ordered if first[fit.law.name] is fit]


def _assignments(law: Law, places: Sequence[int], data: Dataset, policy: CataloguePolicy) -> Iterator[tuple[int, ...]]:
    """The ways to assign columns of the table to x1, x2, ... of the law."""
    room = len(data.y) - (0 if law.is_plain else 1)
    if len(law.constants) > room:
        return iter(())
    if len(law.columns) > policy.most_columns:  # a law of all columns
        return iter([tuple(range(data.x.shape[1]))])
    return islice(permutations(places, len(law.columns)), policy.most_assignments)


def telling_columns(few: Dataset, data: Dataset, most: int) -> tuple[int, ...]:
    """The `most` columns that each say most about y, the best first, leaving out constant columns."""
    changing = [k for k in range(data.x.shape[1]) if np.ptp(few.x[:, k]) > 0]
    return tuple(sorted(changing, key=lambda k: _left_by(few.x[:, k], few.y))[:most])


def _left_by(column: Array, y: Array) -> float:
    """The sum of squares that a cubic polynomial of the column leaves of y."""
    unit = 2.0 * (column - column.min()) / np.ptp(column) - 1.0
    powers = np.vander(unit, _DEGREE + 1)
    weights, *_ = np.linalg.lstsq(powers, y, rcond=None)
    return float(np.sum((y - powers @ weights) ** 2))


def look(law: Law, places: tuple[int, ...], data: Dataset, facts: Facts, policy: CataloguePolicy) -> Tried:
    """The law at its starting values."""
    ends = first_look(law, Rows.of(data, places), start_grid(law, places, facts, policy.most_starts))
    return _scored(law, places, ends.best(policy.kept_starts), data)


def improve(tried: Tried, data: Dataset, steps: int) -> Tried:
    """The law after some more steps from each of its fits; a linear law is returned as it is."""
    if not tried.law.nonlinear:
        return tried
    ends = descend(tried.law, Rows.of(data, tried.places), tried.ends.constants, steps)
    after = _scored(tried.law, tried.places, allowed(tried.law, ends).best(len(ends.misfit)), data)
    return replace(after, hope=2.0 * after.score - tried.score)


def _scored(law: Law, places: tuple[int, ...], ends: Ends, data: Dataset) -> Tried:
    """Scores a law close to the criterion that its formula will have, without making the formula."""
    rows, constants = len(data.y), len(law.constants)
    least = EXACT.loss * size_of(data)
    structure = _NATS_A_NODE * law.structure
    structure = min(structure, PRICES.of_law(law.known)) if law.known else structure
    misfit = rows * np.log(max(ends.misfit[0] / rows, least))
    score = float(misfit + 2.0 * (structure + price_of_constants(min(constants, rows - 1), rows)))
    return Tried(law, places, ends, score, score)


def _ahead(tried: Sequence[Tried], most: int, per_law: int) -> list[Tried]:
    """The best `most` laws with a finite score, at most `per_law` fits of each, and the best fit of each plain
    model."""
    counts: dict[str, int] = {}
    kept = []
    for one in sorted((one for one in tried if np.isfinite(one.score)), key=lambda one: one.hope):
        count = counts[one.law.name] = counts.get(one.law.name, 0) + 1
        if count <= per_law and (len(kept) < most or (one.law.is_plain and count == 1)):
            kept.append(one)
    return kept


def _ahead_of_their_kind(tried: Sequence[Tried], most: int, per_law: int) -> list[Tried]:
    """All linear laws, and like `_ahead` an equal share of the laws with one, two, and more nonlinear constants.

    Laws with many such constants fit well before any step, those with few only later. Linear laws need no steps.
    """
    alike = [[one for one in tried if min(len(one.law.nonlinear), _MANY) == count] for count in range(_MANY + 1)]
    ahead = [_ahead(kind, most // _MANY, per_law) for kind in alike[1:]]
    return [one for kind in (alike[0], *ahead) for one in kind]


def _to_finish(tried: Sequence[Tried], policy: CataloguePolicy) -> list[Tried]:
    """The best laws overall and for each number of constants, since what a formula may cost is decided elsewhere."""
    counts = sorted({len(one.law.constants) for one in tried})
    alike = [[one for one in tried if len(one.law.constants) == count] for count in counts]
    best = [one for kind in alike for one in _ahead(kind, policy.finished_per_size, policy.per_law)]
    return list(dict.fromkeys([*_ahead(tried, policy.most_finished, policy.per_law), *best]))


def finish(tried: Tried, data: Dataset, policy: CataloguePolicy) -> LawFit | None:
    """The law fitted until it converges and judged on all rows; None if it is undefined or breaks its bounds."""
    law, places = tried.law, tried.places
    few = data.thinned(policy.fitted_rows)
    starts = tried.ends.best(policy.refining_starts).constants
    ends = allowed(law, descend(law, Rows.of(few, places), starts, policy.last_steps)).best(1)
    if not np.isfinite(ends.misfit[0]):
        return None
    values = ends.constants[0]
    if few is not data:
        values, _ = minimise(problem_of(law, places, data), values, policy.long_table_steps)
    if not (np.isfinite(values).all() and law.allows(values)):
        return None
    return judged(law, places, values, data)


def problem_of(law: Law, places: Sequence[int], data: Dataset) -> Problem:
    return Problem(law.program, data.x[:, list(places)], data.y, np.sqrt(data.weight))


@np.errstate(all="ignore")
def with_errors(law: Law, places: Sequence[int], values: Array, data: Dataset) -> tuple[LawConstant, ...]:
    """The law's constants with their standard errors on these rows."""
    problem = problem_of(law, places, data)
    return _with_errors(law, values, covariance_of(problem, values, problem.misfit(values), data.noise), data.names)


def _with_errors(law: Law, values: Array, covariance: Array, table: Sequence[str]) -> tuple[LawConstant, ...]:
    """The law's constants with their standard errors, named so as not to clash with columns of the table."""
    errors = np.sqrt(np.abs(np.diag(covariance)))
    return tuple(
        LawConstant(name, constant.meaning, float(value), float(error))
        for name, constant, value, error in zip(law.names_beside(table), law.constants, values, errors, strict=True)
    )


@np.errstate(all="ignore")
def on_all_rows(short: LawFit, data: Dataset, policy: CataloguePolicy) -> LawFit | None:
    """A law fitted to some rows of a long table, refitted to all of them; None if that fails."""
    places = [data.names.index(name) for name in short.columns]
    start = np.array([constant.value for constant in short.constants])
    values, _ = minimise(problem_of(short.law, places, data), start, policy.long_table_steps)
    if not (np.isfinite(values).all() and short.law.allows(values)):
        return None
    return judged(short.law, places, values, data)


@np.errstate(all="ignore")
def judged(law: Law, places: Sequence[int], fitted: Array, data: Dataset) -> LawFit | None:
    """The law with rounded constants and its loss on all rows, as a fit.

    None if it is undefined there, or has a pole that a law of this name cannot have.
    """
    if law.is_named and has_foreign_pole(law, fitted, data.x[:, list(places)]):
        return None
    columns, symbols = tuple(data.names[k] for k in places), make_symbols(data.names)
    rounded = rounded_values(problem_of(law, places, data), np.asarray(fitted, float))
    values = rounded if law.allows(rounded) else fitted
    expression = law.with_numbers(values, columns)
    fitted_values = values_of(expression, symbols, data.x)
    if fitted_values is None:
        return None
    loss = mean_square(fitted_values - data.y, data.weight)
    if not np.isfinite(loss):
        return None
    problem = problem_of(law, places, data)
    covariance = covariance_of(problem, values, problem.misfit(values), data.noise)
    constants = _with_errors(law, values, covariance, data.names)
    decimals = _decimals_with_errors(law, columns, values, expression, covariance)
    if values is rounded and rounded is not fitted:
        short = _with_short_numbers(Formula(expression, symbols, loss, decimals), values, data)
        expression, loss, decimals = short.expression, short.loss, short.constants
    others = tuple(other.name for other in law.others)
    name = NamedLaw(law.name, law.field, law.text(columns, data.names), constants, law.known, others)
    formula = Formula(expression, symbols, loss, decimals, law=name if law.is_named else None)
    return LawFit(law, columns, constants, loss, formula)


def _decimals_with_errors(
    law: Law, columns: Sequence[str], values: Array, expression: Expr, covariance: Array
) -> tuple[tuple[float, float], ...]:
    """The numbers that the formula shows, with errors propagated from those of the law's constants."""
    shown = parametrise(expression).values
    errors = np.sqrt(np.abs(np.diag(covariance)))
    sizes = {abs(float(value)): float(error) for value, error in zip(values, errors, strict=True)}
    if all(abs(float(number)) in sizes for number in shown):  # each is a constant of the law, perhaps with a sign
        return tuple((float(number), sizes[abs(float(number))]) for number in shown)
    slopes = np.zeros((len(shown), len(values)))
    for k, value in enumerate(values):
        nudged = np.array(values, float)
        nudged[k] = value + (_NUDGE * abs(value) or _NUDGE)
        moved = parametrise(law.with_numbers(nudged, columns)).values
        if len(moved) != len(shown):  # a number became or ceased to be a whole one
            return tuple((float(number), np.inf) for number in shown)
        slopes[:, k] = (moved - shown) / (nudged[k] - value)
    loose = ~np.isfinite(np.diag(covariance))
    bounded = np.where(np.isfinite(covariance), covariance, 0.0)
    errors = np.sqrt(np.abs(np.einsum("ij,jk,ik->i", slopes, bounded, slopes)))
    errors[np.any(slopes[:, loose] != 0.0, axis=1)] = np.inf
    return tuple((float(number), float(error)) for number, error in zip(shown, errors, strict=True))


def _with_short_numbers(formula: Formula, constants: Array, data: Dataset) -> Formula:
    """Round the numbers that are not constants of the law but made of them, such as K**n, to digits of their errors.

    A power of two short numbers has fifteen digits. As many are kept as the fit needs.
    """
    sizes = {abs(float(value)) for value in constants}
    freedom = max(len(data.y) - len(constants), 1)
    limit = formula.loss * (1 + ROUNDING.harmless / freedom)
    for extra in range(1, ROUNDING.most_extra_digits + 1):
        digits = ROUNDING.error_digits + extra
        short = [
            # An error larger than the number would round it to zero.
            value if abs(value) in sizes else to_digits_of_error(value, min(error, abs(value)), digits)
            for value, error in formula.constants
        ]
        if short == [value for value, _ in formula.constants]:
            return formula
        expression = parametrise(formula.expression).substitute(np.array(short))
        decimals = tuple((value, error) for value, (_, error) in zip(short, formula.constants, strict=True))
        if parametrise(expression).values.tolist() != short:  # one has become a whole number
            continue
        values = values_of(expression, formula.symbols, data.x)
        if values is not None and (loss := mean_square(values - data.y, data.weight)) <= limit:
            return Formula(expression, formula.symbols, loss, decimals)
    return formula


def _rank(fit: LawFit, data: Dataset) -> float:
    """The criterion, with tiny losses raised to a floor so that rounding does not rank exact fits."""
    floor = EXACT.loss * size_of(data)
    return criterion(replace(fit.formula, loss=max(fit.loss, floor)), len(data.y))
