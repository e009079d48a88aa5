"""Finished formulas under a loss other than squares: fitted and judged by it, together with the constant.

Design. All formulas are fitted by reweighted least squares with one scale, that of the best of them, and `Formula.loss`
is the mean loss. Standard errors are those of the weighted fit, with outliers clipped at two scales. In the choice
between formulas, a row costs at most as much as one that is three standard deviations off, so that no part of a formula
pays for a single outlier.

Of a long table, some rows are used. The formulas on the resulting front are then judged on all rows, and the most
likely ones are refitted to them, as many as the time limit allows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ceql.choice.criterion import criterion, description, of_rows
from ceql.choice.front import pareto_front
from ceql.constraints import Constraints
from ceql.data.dataset import Dataset, typical_size
from ceql.engine.deadline import NEVER, Deadline
from ceql.engine.one_thread import one_thread
from ceql.errors import CeqlWarning
from ceql.formula import Formula, constant_formula, plain_constant, reweighted, rounded_by, with_errors
from ceql.search.finishing import sketches_within
from ceql.search.losses import DEAREST, Loss, robust_scale
from ceql.search.policy import FinishingPolicy, JudgementPolicy
from ceql.search.reweighting import with_weight

_ROUNDING = 1e-12  # share of the size of y below which residuals are not told apart
_SMALLEST_SCALE = 1e-150  # its square is a number
_NO_EFFORT = (0, 0)
_MEDIAN_COST = {"absolute": 2.0 * np.log(2.0)}  # of a row, as minus twice a log-likelihood
_MEDIAN_SQUARE = 0.4549  # the same for squares of normal noise
_SUSPECT = 1e200  # a mean loss above this has rows in it for which there is none

Effort = tuple[int, int]  # rounds of reweighting, and steps in each


def seconds_for_judging(data: Dataset, time_limit: float, policy: JudgementPolicy = JudgementPolicy()) -> float:
    """The part of the time limit that the search leaves for the remaining rows of a long table."""
    return min(policy.kept_share * time_limit, policy.kept_a_row * max(len(data.y) - policy.rows, 0))


def constant_for(
    data: Dataset, loss: Loss, constraints: Constraints, policy: JudgementPolicy = JudgementPolicy()
) -> Formula:
    """The constant that opens the front: usually the same as for squares.

    If most rows have the same y, it is that value. If the loss is undefined for the mean, it is the best quantile of y
    by the loss.
    """
    mean, few = constant_formula(data, constraints), data.thinned(policy.rows)
    scale, middle = _scale(few), float(np.median(data.y))
    if np.mean(data.y == middle) > 0.5:
        tried = [middle]
    elif (loss.cost(few.y, mean(few.x), scale) >= DEAREST).any():
        low, high = float(np.min(few.y)), float(np.max(few.y))
        levels = np.quantile(few.y, np.linspace(0.0, 1.0, policy.levels))
        tried = [float(mean.expression), *levels, 0.5 * low + 0.5 * high, 2.0 * low, 2.0 * high]
    else:
        return mean
    if constraints.constants_within is not None:
        tried = [float(np.clip(value, *constraints.constants_within)) for value in tried]
    costs = [float(np.mean(few.weight * loss.cost(few.y, np.full(len(few.y), v), scale))) for v in tried]
    return plain_constant(tried[int(np.argmin(costs))], data)


def warn_of_rows_without_loss(formula: Formula, data: Dataset, loss: Loss) -> None:
    """Warns if the loss has no finite value in some rows for the reported formula."""
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
    formulas: Sequence[Formula],
    data: Dataset,
    loss: Loss,
    constraints: Constraints,
    time_limit: float = np.inf,
    policy: JudgementPolicy = JudgementPolicy(),
    finishing: FinishingPolicy = FinishingPolicy(),
    until: Deadline = NEVER,
) -> list[Formula]:
    """The formulas, fitted and judged by the loss with the scale of the best of them.

    For a long table, only those on the front. How many are fitted, and to how many rows, is planned from the time limit
    by the price list of `finishing`; the most promising one always is. When the time is up, the remaining ones are
    judged without a fit.
    """
    few = data.thinned(policy.rows)
    judge = _Judge(few, loss, constraints, policy, np.nan).with_scale_of(formulas)
    most = max(policy.fitted_anyway, sketches_within(policy.fitting * time_limit, len(few.y), finishing))
    ranked = sorted(formulas, key=judge.trimmed)
    has_time = (k < most and not (k and until.over) for k in range(len(ranked)))
    fitted = [
        judge.fitted(f, judge.effort(f) if fits else _NO_EFFORT) for f, fits in zip(ranked, has_time, strict=True)
    ]
    unit = judge.unit(min(fitted, key=judge.trimmed))
    found = [replace(formula, surprise=judge.surprise(judge.cost(formula), unit)) for formula in fitted]
    if few is data:
        return found
    front = sorted(pareto_front(found, len(few.y)), key=partial(criterion, rows=len(few.y)))
    seconds = seconds_for_judging(data, time_limit, policy)
    most = int(min(seconds / (policy.last_a_row * len(data.y)), len(front)))
    on_all = (
        replace(judge, data=data).on_all_rows(f, unit, k < most and not (k and until.over)) for k, f in enumerate(front)
    )
    return [formula for formula in on_all if formula is not None]


@dataclass(frozen=True, eq=False)
class _Judge:
    """Fits and judges formulas on these data, by this loss with one scale."""

    data: Dataset
    loss: Loss
    constraints: Constraints
    policy: JudgementPolicy
    scale: float

    def cost(self, formula: Formula) -> np.ndarray:
        """What each row costs under this formula."""
        return self.loss.cost(self.data.y, formula(self.data.x), self.scale)

    def mean_loss(self, formula: Formula) -> float:
        return float(np.mean(self.data.weight * self.cost(formula)))

    def surprise(self, cost: np.ndarray, unit: float) -> float:
        bounded = np.where(cost < DEAREST, np.minimum(cost / unit, self.policy.dearest), self.policy.undefined)
        return float(np.sum(self.data.weight * bounded))

    def with_scale_of(self, formulas: Sequence[Formula]) -> _Judge:
        """The same with the scale of the best formula, re-estimated as outliers lose their influence on it."""
        y, least = self.data.y, _least_scale(self.data)
        best = min(formulas, key=self.trimmed)
        scale = max(robust_scale(y - best(self.data.x)), least)
        effort = self.effort(best)
        for _ in range(min(self.policy.shrinkings, effort[0])):
            best = replace(self, scale=scale).fitted(best, effort)
            before, scale = scale, max(robust_scale(y - best(self.data.x)), least)
            if not scale < self.policy.shrinks * before:
                scale = min(scale, before)
                break
        return replace(self, scale=scale)

    def trimmed(self, formula: Formula) -> float:
        """A criterion on the rows that the formula is nearest to."""
        data = self.data
        square = np.sort((data.y - formula(data.x)) ** 2)[: max(1, int(self.policy.nearest * len(data.y)))]
        constants = len(formula.form.symbols)
        least = max((_ROUNDING * typical_size(data.y)) ** 2, 1e-300)
        misfit = max(float(square.mean()), least)
        return float(of_rows(misfit, constants, len(square), 2.0 * description(formula), len(data.y)))

    def effort(self, formula: Formula) -> Effort:
        """Rounds and steps of a fit; fewer for a formula with many constants, for which a step takes long."""
        policy, rows = self.policy, len(self.data.y)
        constants = max(len(formula.form.symbols), 1)
        steps = max(int(policy.work / (rows * constants * min(rows, constants))), 1)
        return min(max(steps // policy.steps, 1), policy.reweightings), min(steps, policy.steps)

    def unit(self, best: Formula) -> float:
        """What replaces the variance of the noise: a multiple of the cost of a typical row under the best formula."""
        y = self.data.y
        least = float(np.median(self.loss.cost(y, y - _ROUNDING * typical_size(y), self.scale)))
        typical = float(np.median(self.cost(best)))
        return max(typical, least, 1e-300) / _MEDIAN_COST.get(self.loss.name, _MEDIAN_SQUARE)

    def fitted(self, formula: Formula, effort: Effort) -> Formula:
        """Refits the constants, then rounds them; each change is kept if loss and constraints allow it."""
        data = self.data

        def weigh(prediction: np.ndarray) -> np.ndarray:
            weight = data.weight * self.loss.weight(data.y, prediction, self.scale)
            return weight if weight.sum() > 0.0 else data.weight

        best, value = formula, self.mean_loss(formula)
        fitted = reweighted(best, data, weigh, *effort)
        lower = self.mean_loss(fitted)
        if lower < value and self.constraints.allows(fitted.expression):
            best, value = fitted, lower
        weighted = self._for_errors(best)
        rounded = rounded_by(best, weighted)
        shorter = self.mean_loss(rounded)
        if shorter <= value * (1.0 + 1.0 / len(data.y)) and self.constraints.allows(rounded.expression):
            best, value = rounded, shorter
        return replace(with_errors(best, weighted), loss=value)

    def on_all_rows(self, formula: Formula, unit: float, fits: bool) -> Formula | None:
        """Judged on the whole of a long table, and fitted to it if it `fits`; None where it is undefined."""
        if fits and np.isfinite(formula(self.data.x)).all():
            formula = self.fitted(formula, self.policy.last)
        prediction = formula(self.data.x)
        if not np.isfinite(prediction).all():
            return None
        cost = self.loss.cost(self.data.y, prediction, self.scale)
        return replace(formula, loss=float(np.mean(self.data.weight * cost)), surprise=self.surprise(cost, unit))

    def _for_errors(self, formula: Formula) -> Dataset:
        """Data whose weighted squares give the errors of the constants, with outliers clipped to the size of noise.

        For "absolute", Huber's weights are used, since its own only serve to find the minimum.
        """
        data, prediction = self.data, formula(self.data.x)
        smooth = replace(self.loss, name="huber") if self.loss.name == "absolute" else self.loss
        weight = data.weight * smooth.weight(data.y, prediction, self.scale)
        if weight.sum() == 0.0:
            return data
        residual = data.y - prediction
        noise = max(robust_scale(np.sqrt(weight) * residual), 1e-300)
        reach = self.policy.drawn_in * noise / np.sqrt(np.maximum(weight, 1e-300))
        return with_weight(replace(data, y=prediction + np.clip(residual, -reach, reach)), weight)
