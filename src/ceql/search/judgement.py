"""Finished formulas under a loss that is not of squares: fitted by it, judged by it, and the constant among them.

Design. All formulas are fitted by reweighted least squares with one scale, that of the best of them, and `Formula.loss`
is the mean loss. Their standard errors are those of the weighted fit, with outliers drawn in to two scales. For the
choice among them a row costs at most as much as one three standard deviations off, so that no part of a formula is
bought by a single outlier.

Of a long table some rows serve for this. Those that stand on the front there are judged on all rows, and fitted to them
once more, the most likely first, as many as the time limit allows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ceql.choice.criterion import NODE, criterion, of_rows
from ceql.choice.front import pareto_front
from ceql.constraints import Constraints
from ceql.data.dataset import Dataset, typical_size
from ceql.engine.one_thread import one_thread
from ceql.errors import CeqlWarning
from ceql.expression import parametrise
from ceql.formula import Formula, constant_formula, plain_constant, reweighted, rounded_by, with_errors
from ceql.search.finishing import sketches_within
from ceql.search.losses import DEAREST, Loss, robust_scale
from ceql.search.reweighting import with_weight

_ROWS = 2000  # of a long table to which all formulas are fitted
_SHARE = 0.75  # of the rows, those that a formula is nearest to, by which the best is told
_ROUNDING = 1e-12  # share of the size of y below which residuals are not told apart
_SMALLEST_SCALE = 1e-150  # its square is a number
_REWEIGHTINGS, _STEPS = 20, 10  # rounds of a fit, and steps in each
_WORK = 1e8  # products in all steps of a fit, above which fewer are made
_FITTED_ANYWAY, _NO_EFFORT = 8, (0, 0)  # formulas fitted however short the time limit is
_JUDGING = 0.1  # share of the time limit that fits to some rows may take
_LAST = 2, 1  # the same for the fit to all rows of a long table, which has little left to do
_LAST_A_ROW = 3e-6  # seconds that this takes
_SHRINKINGS = 20  # of the scale; few are needed, unless a formula begins far off
_DRAWN_IN = 2.0  # scales, beyond which a residual says nothing about the size of the noise
_AT_MOST = 9.0  # what a row may cost in the choice, in units of the variance
_NEVER = 1e12  # the same for a row without a finite loss: a formula that has one there is preferred
_MEDIAN_COST = {"absolute": 2.0 * np.log(2.0)}  # of a row, as minus twice a log-likelihood
_MEDIAN_SQUARE = 0.4549  # the same for squares of normal noise
_LEVELS = np.linspace(0.0, 1.0, 41)  # quantiles of y that are tried as constants
_SUSPECT = 1e200  # a mean loss above this has rows in it for which there is none
_KEPT_SHARE, _KEPT_A_ROW = 0.35, 1e-5  # of the time limit, and at most seconds a row, for a long table

Effort = tuple[int, int]  # rounds of reweighting, and steps in each


def seconds_for_judging(data: Dataset, time_limit: float) -> float:
    """What the search leaves of its time for the rows it does not look at."""
    return min(_KEPT_SHARE * time_limit, _KEPT_A_ROW * max(len(data.y) - _ROWS, 0))


def constant_for(data: Dataset, loss: Loss, constraints: Constraints) -> Formula:
    """The constant that opens the front: as for squares, unless that means little here.

    It is the value of y where most rows have the same. Where the loss has no value for the mean, it is the best
    quantile of y by the loss.
    """
    mean, few = constant_formula(data, constraints), data.thinned(_ROWS)
    middle = float(np.median(data.y))
    if np.mean(data.y == middle) > 0.5:
        tried = [middle]
    elif (loss.cost(few.y, mean(few.x), _scale(few)) >= DEAREST).any():
        low, high = float(np.min(few.y)), float(np.max(few.y))
        tried = [float(mean.expression), *np.quantile(few.y, _LEVELS), 0.5 * low + 0.5 * high, 2.0 * low, 2.0 * high]
    else:
        return mean
    if constraints.constants_within is not None:
        tried = [float(np.clip(value, *constraints.constants_within)) for value in tried]
    costs = [float(np.mean(few.weight * loss.cost(few.y, np.full(len(few.y), v), _scale(few)))) for v in tried]
    return plain_constant(tried[int(np.argmin(costs))], data)


def warn_of_rows_without_loss(formula: Formula, data: Dataset, loss: Loss) -> None:
    """Says so where the loss has no finite value for some rows under the formula that is reported."""
    if formula.loss < _SUSPECT:
        return
    without = np.flatnonzero(loss.cost(data.y, formula(data.x), _scale(data)) >= DEAREST)
    if len(without):
        warnings.warn(
            f"The loss {loss.name!r} has no finite value for {len(without)} of {len(data.y)} rows under the best "
            f"formula that was found, the first of them row {without[0]} (y = {data.y[without[0]]:.6g}); each counts "
            f"as {DEAREST:g}. Choose a loss that grows less fast, or another unit for y, or raise time_limit.",
            CeqlWarning,
            stacklevel=6,
        )


def _scale(data: Dataset) -> float:
    return max(robust_scale(data.y - np.median(data.y)), _least_scale(data))


def _least_scale(data: Dataset) -> float:
    return max(_ROUNDING * typical_size(data.y), _SMALLEST_SCALE)


@one_thread
def judged(
    formulas: Sequence[Formula], data: Dataset, loss: Loss, constraints: Constraints, time_limit: float = np.inf
) -> list[Formula]:
    """The formulas fitted and judged by the loss, all with the scale of the best of them.

    Of a long table only those that stand on the front. How many are fitted, and to how many rows, is planned from the
    time limit: the most promising in any case.
    """
    few = data.thinned(_ROWS)
    scale = _common_scale(formulas, few, loss, constraints)
    fitted, most = [], max(_FITTED_ANYWAY, sketches_within(_JUDGING * time_limit, len(few.y)))
    for k, formula in enumerate(sorted(formulas, key=lambda formula: _trimmed(formula, few))):
        effort = _effort(formula, few) if k < most else _NO_EFFORT
        fitted.append(_fitted(formula, few, loss, scale, constraints, effort))
    best = min(fitted, key=lambda formula: _trimmed(formula, few))
    unit = _unit(best, few, loss, scale)
    found = [_with_surprise(formula, few, loss, scale, unit) for formula in fitted]
    if few is data:
        return found
    front = sorted(pareto_front(found, len(few.y)), key=lambda formula: criterion(formula, len(few.y)))
    most = int(min(seconds_for_judging(data, time_limit) / (_LAST_A_ROW * len(data.y)), len(front)))
    on_all = (_on_all_rows(f, data, loss, scale, constraints, unit, k < most) for k, f in enumerate(front))
    return [formula for formula in on_all if formula is not None]


def _on_all_rows(
    formula: Formula, data: Dataset, loss: Loss, scale: float, constraints: Constraints, unit: float, fits: bool
) -> Formula | None:
    """Judged on the whole of a long table, and fitted to it if it `fits`; None where it is undefined."""
    if fits and np.isfinite(formula(data.x)).all():
        formula = _fitted(formula, data, loss, scale, constraints, _LAST)
    prediction = formula(data.x)
    if not np.isfinite(prediction).all():
        return None
    cost = loss.cost(data.y, prediction, scale)
    return replace(formula, loss=float(np.mean(data.weight * cost)), surprise=_surprise(cost, data, unit))


def _effort(formula: Formula, data: Dataset) -> Effort:
    """Rounds and steps of a fit: fewer where a formula has so many constants that a step takes long."""
    rows, constants = len(data.y), max(len(parametrise(formula.expression).symbols), 1)
    steps = max(int(_WORK / (rows * constants * min(rows, constants))), 1)
    return min(max(steps // _STEPS, 1), _REWEIGHTINGS), min(steps, _STEPS)


def _unit(best: Formula, data: Dataset, loss: Loss, scale: float) -> float:
    """What stands for the variance of the noise: a multiple of what a typical row costs under the best formula."""
    typical = float(np.median(loss.cost(data.y, best(data.x), scale)))
    least = float(np.median(loss.cost(data.y, data.y - _ROUNDING * typical_size(data.y), scale)))
    return max(typical, least, 1e-300) / _MEDIAN_COST.get(loss.name, _MEDIAN_SQUARE)


def _common_scale(formulas: Sequence[Formula], data: Dataset, loss: Loss, constraints: Constraints) -> float:
    """That of the residuals of the best formula, which shrinks as outliers lose their hold on it."""
    least = _least_scale(data)
    best = min(formulas, key=lambda formula: _trimmed(formula, data))
    scale = max(robust_scale(data.y - best(data.x)), least)
    effort = _effort(best, data)
    for _ in range(min(_SHRINKINGS, effort[0])):
        best = _fitted(best, data, loss, scale, constraints, effort)
        before, scale = scale, max(robust_scale(data.y - best(data.x)), least)
        if not scale < 0.99 * before:
            return min(scale, before)
    return scale


def _trimmed(formula: Formula, data: Dataset) -> float:
    """A criterion on the rows that the formula is nearest to."""
    square = np.sort((data.y - formula(data.x)) ** 2)[: max(1, int(_SHARE * len(data.y)))]
    constants = len(parametrise(formula.expression).symbols)
    least = max((_ROUNDING * typical_size(data.y)) ** 2, 1e-300)
    misfit = max(float(square.mean()), least)
    return float(of_rows(misfit, constants, len(square), NODE * formula.complexity, len(data.y)))


def _mean_loss(formula: Formula, data: Dataset, loss: Loss, scale: float) -> float:
    return float(np.mean(data.weight * loss.cost(data.y, formula(data.x), scale)))


def _fitted(
    formula: Formula, data: Dataset, loss: Loss, scale: float, constraints: Constraints, effort: Effort
) -> Formula:
    """Reweighted least squares from the constants it has, then rounding: each if loss and constraints allow it."""

    def weigh(prediction: np.ndarray) -> np.ndarray:
        weight = data.weight * loss.weight(data.y, prediction, scale)
        return weight if weight.sum() > 0.0 else data.weight

    best, value = formula, _mean_loss(formula, data, loss, scale)
    fitted = reweighted(best, data, weigh, *effort)
    lower = _mean_loss(fitted, data, loss, scale)
    if lower < value and constraints.allows(fitted.expression):
        best, value = fitted, lower
    weighted = _for_errors(best, data, loss, scale)
    rounded = rounded_by(best, weighted)
    shorter = _mean_loss(rounded, data, loss, scale)
    if shorter <= value * (1.0 + 1.0 / len(data.y)) and constraints.allows(rounded.expression):
        best, value = rounded, shorter
    return replace(with_errors(best, weighted), loss=value)


def _for_errors(formula: Formula, data: Dataset, loss: Loss, scale: float) -> Dataset:
    """Data whose weighted squares give the errors of the constants: outliers are drawn in to where noise would be.

    The weights of "absolute" only serve to find its minimum, so Huber's stand for them.
    """
    prediction = formula(data.x)
    smooth = Loss("huber") if loss.name == "absolute" else loss
    weight = data.weight * smooth.weight(data.y, prediction, scale)
    if weight.sum() == 0.0:
        return data
    residual = data.y - prediction
    reach = _DRAWN_IN * max(robust_scale(np.sqrt(weight) * residual), 1e-300) / np.sqrt(np.maximum(weight, 1e-300))
    return with_weight(replace(data, y=prediction + np.clip(residual, -reach, reach)), weight)


def _with_surprise(formula: Formula, data: Dataset, loss: Loss, scale: float, unit: float) -> Formula:
    return replace(formula, surprise=_surprise(loss.cost(data.y, formula(data.x), scale), data, unit))


def _surprise(cost: np.ndarray, data: Dataset, unit: float) -> float:
    bounded = np.where(cost < DEAREST, np.minimum(cost / unit, _AT_MOST), _NEVER)
    return float(np.sum(data.weight * bounded))
