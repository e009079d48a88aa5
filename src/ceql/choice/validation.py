"""Cross-validation of finished formulas: the structure stays, and the constants are refitted without held-out rows.

This is an honest score of the constants, and of structures with too many constants. It is not a score of the search,
which used all rows; for that, cross-validate the whole regressor with scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ceql.choice.shrunk_formula import term_values
from ceql.choice.shrunk_line import shrunk_line
from ceql.data.dataset import Dataset
from ceql.engine.one_thread import one_thread
from ceql.expression.constants.refit import minimise
from ceql.expression.evaluate.residual_problem import Problem
from ceql.formula import Formula, mean_square

Folds = Sequence[tuple[np.ndarray, np.ndarray]]  # pairs of rows to fit to and rows held out


@dataclass(frozen=True)
class ValidationPolicy:
    """How much is done to validate a formula."""

    folds: int = 5  # number of folds, as in scikit-learn
    alone: int = 10  # in shorter tables, each row is held out by itself: a fifth of them would be too many to miss
    rows: int = 2000  # rows of a long table that are used; the error of the score is small by then
    # How often new folds are drawn where formulas are compared together with their structure: most of the chance in the
    # difference of two errors is which rows share a fold.
    contest: int = 3
    steps: int = 8  # steps of a fit without the held-out rows; it starts from the constants fitted to all rows


VALIDATION = ValidationPolicy()


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The errors of some formulas in rows that they were not fitted to."""

    errors: np.ndarray  # a row for each formula, a column for each fold: weighted mean squares, infinite if undefined
    sizes: np.ndarray  # weight of the rows held out in each fold
    spread: float  # what the weighted mean of these rows would leave, as a mean square
    times: int = 1  # each row is held out: more folds than one time has know no more of rows to come

    @property
    def r2(self) -> tuple[float, ...]:
        """One minus the squared error in all held-out rows, divided by their variance; NaN if they do not vary."""
        if not self.spread > 0.0:
            return (np.nan,) * len(self.errors)
        return tuple((1.0 - self.errors @ self.sizes / self.sizes.sum() / self.spread).tolist())


def own_folds(rows: int, count: int | None = None, policy: ValidationPolicy = VALIDATION, turn: int = 0) -> Folds:
    """Folds by a permutation that is always the same for a turn, since tables are often sorted."""
    count = count or (rows if rows < policy.alone else policy.folds)
    parts = np.array_split(np.random.default_rng(turn).permutation(rows), min(count, rows))
    everything = np.arange(rows)
    return [(np.setdiff1d(everything, part), np.sort(part)) for part in parts]


@one_thread
@np.errstate(all="ignore")  # a formula that is undefined or overflows in a row held out gets an infinite error
def held_out(
    formulas: Sequence[Formula],
    data: Dataset,
    folds: Folds | None = None,
    fit_weight: np.ndarray | None = None,
    policy: ValidationPolicy = VALIDATION,
    times: int = 1,
) -> HeldOut:
    """The errors of each formula in the held-out rows. Of a long table, some rows are used, always the same ones.

    Unless the user gives folds, each row is held out `times` times.

    `fit_weight` are the weights of the rows in the fits, where a loss other than squares gives them others.
    """
    weight = data.weight if fit_weight is None else fit_weight
    rows, parts, times = rows_in_turn(data, folds, policy, times)
    few = Dataset(data.x[rows], data.y[rows], data.weight[rows], data.names)
    errors = [_errors(formula, few, weight[rows], parts, policy.steps) for formula in formulas]
    return held_out_by(errors, few, parts, times)


def rows_in_turn(
    data: Dataset, folds: Folds | None = None, policy: ValidationPolicy = VALIDATION, times: int = 1
) -> tuple[np.ndarray, Folds, int]:
    """The rows that are used, pairs of rows to fit to and held-out rows among them, and how often each is held out."""
    rows = _some_rows(len(data.y), policy.rows)
    given = _among(rows, folds or (), len(data.y))
    if given:
        return rows, given, 1
    # Of folds that were made for all rows none may be left; then ours have to do.
    times = times if len(rows) >= policy.alone else 1  # each row by itself is held out the same way every time
    return rows, [fold for turn in range(times) for fold in own_folds(len(rows), None, policy, turn)], times


def held_out_by(errors: Iterable[Iterable[float]], few: Dataset, parts: Folds, times: int = 1) -> HeldOut:
    """The result for given errors: for each formula, the weighted mean square in the held-out rows of every fold."""
    tested = np.concatenate([test for _, test in parts])
    mean = np.average(few.y[tested], weights=few.weight[tested])
    spread = float(np.average((few.y[tested] - mean) ** 2, weights=few.weight[tested]))
    sizes = np.array([few.weight[test].sum() for _, test in parts])
    table = np.array([list(of_one) for of_one in errors], float)
    return HeldOut(table.reshape(-1, len(parts)), sizes, spread, times)


def cross_validated(
    formulas: Sequence[Formula],
    data: Dataset,
    folds: Folds | None = None,
    fit_weight: np.ndarray | None = None,
    policy: ValidationPolicy = VALIDATION,
) -> tuple[float, ...]:
    """R2 of each formula over all held-out rows; minus infinity if it is undefined in one of them."""
    return held_out(formulas, data, folds, fit_weight, policy).r2


def r2_of(formulas: Sequence[Formula], data: Dataset) -> tuple[float, ...]:
    """R2 of each formula on the rows it is fitted to; NaN where the target does not vary."""
    spread = mean_square(data.y - np.average(data.y, weights=data.weight), data.weight)
    if not spread > 0.0:
        return (np.nan,) * len(formulas)
    squares = (f.loss if f.surprise is None else mean_square(f(data.x) - data.y, data.weight) for f in formulas)
    return tuple(1.0 - square / spread for square in squares)


def within_one_error(held: HeldOut, errors: float = 1.0) -> np.ndarray:
    """Which formulas the held-out rows cannot distinguish from the best, within this many standard errors.

    The difference from the best is taken fold by fold, and its mean is compared with the standard error of that mean.
    The noise of a row is in the errors of both formulas, so the difference is known much better than either error.
    Folds are used since a fold may be a group or a stretch of time, whose rows are not independent of each other.
    """
    mean = held.errors @ held.sizes / held.sizes.sum()
    best = int(np.argmin(mean))
    finite = np.isfinite(mean)
    if not finite[best]:
        return finite
    apart = np.where(np.isfinite(held.errors), held.errors, 0.0) - held.errors[best]
    share = held.sizes / held.sizes.sum()
    excess = apart @ share
    variance = ((apart - excess[:, None]) ** 2) @ share / max(len(share) // held.times - 1, 1)
    return finite & (excess <= errors * np.sqrt(variance))


def is_beaten(own: HeldOut, rival: HeldOut, errors: float) -> bool:
    """Whether the rival, judged on the same rows, predicts them better by more than this many standard errors."""
    return not within_one_error(replace(own, errors=np.concatenate([own.errors, rival.errors])), errors)[0]


def _some_rows(rows: int, most: int) -> np.ndarray:
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(0).choice(rows, most, replace=False))


def _among(kept: np.ndarray, folds: Folds, rows: int) -> Folds:
    """The folds restricted to the kept rows, without those that have lost all rows of one kind."""
    place = np.full(rows, -1)
    place[kept] = np.arange(len(kept))
    parts = [tuple(place[part][place[part] >= 0] for part in fold) for fold in folds]
    return [(train, test) for train, test in parts if len(train) and len(test)]


def _errors(formula: Formula, data: Dataset, weight: np.ndarray, folds: Folds, steps: int) -> Iterator[float]:
    """The weighted mean square in the rows held out, fold by fold."""
    if formula.is_shrunk:
        yield from _errors_of_shrunk(formula, data, weight, folds)
        return
    form = formula.form
    program = formula.program
    whole = Problem(program, data.x, data.y, np.sqrt(weight), low=form.low, high=form.high)
    for train, test in folds:
        fold = replace(whole, x=data.x[train], y=data.y[train], root_weights=whole.root_weights[train])
        values, _ = minimise(fold, form.values, steps)
        off = program.value(data.x[test], values) - data.y[test]
        error = float(np.average(np.broadcast_to(off, (len(test),)) ** 2, weights=data.weight[test]))
        yield error if np.isfinite(error) else np.inf


def _errors_of_shrunk(formula: Formula, data: Dataset, weight: np.ndarray, folds: Folds) -> Iterator[float]:
    """The same for a shrunk line; each fold determines its own shrinkage."""
    with np.errstate(all="ignore"):
        terms = term_values(formula, data.x)
    for train, test in folds:
        line = shrunk_line(terms[train], data.y[train], weight[train])
        off = line(terms[test]) - data.y[test]
        yield float(np.average(off**2, weights=data.weight[test]))
