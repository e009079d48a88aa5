"""A long sum of simple terms for a noisy table with many columns; held-out rows decide how long it is.

The terms are chosen again in every fold, without the held-out rows. So these test the whole way from the table to a
sum, not only its constants, and a sum found by chance among thousands scores badly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, takewhile
from typing import Any

import numpy as np

from ceql.catalogue.offers import with_powers
from ceql.choice.shrunk_formula import shrunk_sum
from ceql.choice.shrunk_line import shrunk_line
from ceql.choice.validation import VALIDATION, Folds, HeldOut, held_out_by, rows_in_turn, within_one_error
from ceql.closed_form import growing_sums
from ceql.closed_form.policy import LongSumPolicy
from ceql.closed_form.sums import Written
from ceql.constraints import NONE, Constraints
from ceql.data.dataset import Dataset
from ceql.engine.one_thread import one_thread
from ceql.expression import node_count
from ceql.expression.operations import contained
from ceql.formula import Formula, make_symbols, values_of

Terms = tuple[Written, ...]

POLICY = LongSumPolicy()
_FUNCTIONS = ("log", "exp")  # of the columns; waves would follow the noise of any smooth curve
_WEIGHT = 0.1234567  # any number that is no simple one


@dataclass(frozen=True)
class JudgedSum:
    """A formula with what the way to it leaves in rows held out."""

    formula: Formula
    held: HeldOut


@one_thread
def long_sum(
    data: Dataset,
    constraints: Constraints = NONE,
    operators: Collection[str] | None = None,
    most_nodes: float = np.inf,
    folds: Folds | None = None,
    policy: LongSumPolicy = POLICY,
) -> JudgedSum | None:
    """The shortest sum that held-out rows cannot distinguish from the best, with at most `most_nodes` nodes.

    None if no sum of these operators (None: of any) meets the constraints and is defined in every held-out row, or if
    there are too many folds.
    """
    rows, parts, times = rows_in_turn(data, folds, times=VALIDATION.contest)
    if len(parts) > policy.most_folds * times:
        return None
    few = Dataset(data.x[rows], data.y[rows], data.weight[rows], data.names)
    symbols = make_symbols(data.names)
    known = None if operators is None else with_powers(operators)
    functions = tuple(name for name in _FUNCTIONS if known is None or name in known)
    may_be_term = None if known is None else partial(_is_made_of, known)
    growing = partial(growing_sums, few.x, few.y, symbols, functions, policy, may_be_term)
    sums = list(growing(few.weight))
    if most_nodes < np.inf:
        sums = list(takewhile(lambda terms: _size_of(terms, constraints) <= most_nodes, sums))
    if not sums:
        return None
    by_fold = [_errors(growing, len(sums), few, *fold) for fold in parts]
    held = held_out_by(np.stack(by_fold, axis=1), few, parts, times)
    as_good = np.flatnonzero(within_one_error(held, policy.errors) & np.isfinite(held.errors).all(axis=1))
    if not len(as_good):
        return None
    best = int(as_good[0])
    formula = _fitted([write() for _, write in sums[best]], data)
    if formula is None or not constraints.allows(formula.expression):
        return None
    return JudgedSum(replace(formula, costs=constraints.costs), replace(held, errors=held.errors[best : best + 1]))


def seconds_for_long_sum(data: Dataset, time_limit: float, policy: LongSumPolicy = POLICY) -> float:
    """About how long that takes, by the price list; zero if the time limit is too short for it."""
    seconds = policy.seconds + policy.seconds_a_column * data.x.shape[1]
    return seconds if seconds <= policy.most_of_limit * time_limit else 0.0


def _errors(
    growing: Callable[[np.ndarray], Iterator[Terms]], sizes: int, few: Dataset, train: np.ndarray, test: np.ndarray
) -> np.ndarray:
    """The error of the sum of each size in held-out rows that were not used for it; infinite if there is none."""
    weight = np.zeros(len(few.y))
    weight[train] = few.weight[train]
    errors = np.full(sizes, np.inf)
    for k, terms in enumerate(islice(growing(weight), sizes)):
        values = np.stack([values for values, _ in terms], axis=1)
        off = shrunk_line(values[train], few.y[train], few.weight[train])(values[test]) - few.y[test]
        error = float(np.average(off**2, weights=few.weight[test]))
        errors[k] = error if np.isfinite(error) else np.inf
    return errors


def _fitted(terms: Sequence[Any], data: Dataset) -> Formula | None:
    """The sum on all rows; None where it has no value in one of them."""
    values = [values_of(term, make_symbols(data.names), data.x) for term in terms]
    known = [each for each in values if each is not None]
    if len(known) < len(terms):
        return None
    formula = shrunk_sum(terms, shrunk_line(np.stack(known, axis=1), data.y, data.weight), data)
    return formula if formula.expression.free_symbols and np.isfinite(formula.loss) else None


def _size_of(terms: Terms, constraints: Constraints) -> float:
    """Nodes of a sum of these terms, with a weight that is like no other for each."""
    weighted = ((k + 2) * _WEIGHT * write() for k, (_, write) in enumerate(terms))
    return node_count(_WEIGHT + sum(weighted), constraints.costs)


def _is_made_of(known: Collection[str], term: Any) -> bool:
    return bool(getattr(term, "free_symbols", None)) and contained(term) <= set(known)  # a constant stands in every sum
