"""Fits that a few gross outliers cannot rule: weights that follow the best formula so far, and judgement by the loss.

Design. Before the first round rows that do not agree with their neighbours count less. After every round the most
promising fits are fitted once more to the three quarters of the rows they are nearest to, again and again, until these
rows stay the same; the best of them by a criterion on those rows alone is the pilot. Its residuals give the scale of
the noise and with the loss the weights of the rows (`losses`), with which the search goes on. Where the pilot meets
most rows to machine precision the others are outliers without doubt and count nothing: then the search for an exact
formula ends as it does without outliers. So up to a quarter of the rows may be wrong.

The finished formulas are fitted to all rows by reweighted least squares with one scale, that of the best of them, and
`Formula.loss` is the mean loss. Their standard errors are those of the weighted fit, with outliers drawn in to two
scales. For the choice among them a row costs at most as much as one three standard deviations off, so that no part of a
formula is bought by a single outlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ceql.constraints import Constraints
from ceql.contenders import criterion_of, price
from ceql.data import Dataset
from ceql.engine import fit
from ceql.engine.record import network_tape
from ceql.expression import parametrise
from ceql.formula import Formula, reweighted, rounded_by, with_errors
from ceql.hunt import Hunt
from ceql.losses import Loss, robust_scale
from ceql.pruning import Reduced

_SHARE = 0.75  # of the rows that a pilot must explain
_PILOTS = 12  # fits tried as pilots after a round
_CONCENTRATIONS = 4  # times that the nearest rows are chosen anew
_NEIGHBOURS = 8
_LOOSE = 4.0  # scales at which a row that disagrees with its neighbours counts half
_EXACT = 1e-9  # share of the size of y that most residuals are below where a formula is exact for them
_ROUNDING = 1e-12  # share of the size of y below which residuals are not told apart
_PROGRESS = 1.0  # of the criterion, for which the weights change
_REWEIGHTINGS = 20
_SHRINKINGS = 20  # of the scale; few are needed, unless a formula begins far off
_DRAWN_IN = 2.0  # scales, beyond which a residual says nothing about the size of the noise
_AT_MOST = 9.0  # what a row may cost in the choice, in units of the variance
_MEDIAN_COST = {"absolute": 2.0 * np.log(2.0)}  # of a row, as minus twice a log-likelihood
_MEDIAN_SQUARE = 0.4549  # the same for squares of normal noise


class Reweighting:
    """The weights of the rows while a search goes on."""

    def __init__(self, data: Dataset, loss: Loss) -> None:
        self._data, self._loss = data, loss
        self._criterion, self._tried = np.inf, set[bytes]()
        self.weighted = _with_weight(data, data.weight * agreement_with_neighbours(data))

    def follow(self, hunt: Hunt) -> bool:
        """Looks for a better pilot among the fits of a hunt; says whether the weights have changed."""
        pilots = [pilot for k in self._most_promising(hunt) if (pilot := concentrated(hunt, k)) is not None]
        if not pilots:
            return False
        best = min(pilots, key=lambda pilot: _criterion(pilot, hunt))
        score = _criterion(best, hunt)
        prediction = Formula(hunt.expression(best), hunt.symbols, np.inf)(self._data.x)
        if score > self._criterion - _PROGRESS or not np.isfinite(prediction).all():
            return False
        self._criterion = score
        self.weighted = _with_weight(self._data, self._data.weight * _weights(self._data.y, prediction, self._loss))
        hunt.admit(best)
        return True

    def _most_promising(self, hunt: Hunt) -> list[int]:
        chunk = hunt.archive.chunk
        order = np.argsort(criterion_of(chunk.misfit, chunk.edges, len(hunt.plain.y)), kind="stable")
        fresh = [int(k) for k in order if chunk.in_domain[k] and chunk.edges[k].tobytes() not in self._tried]
        self._tried.update(chunk.edges[k].tobytes() for k in fresh[:_PILOTS])
        return fresh[:_PILOTS]


def _with_weight(data: Dataset, weight: np.ndarray) -> Dataset:
    return replace(data, weight=weight / weight.mean())


def _weights(y: np.ndarray, prediction: np.ndarray, loss: Loss) -> np.ndarray:
    residual = y - prediction
    size = max(float(np.median(np.abs(y))), 1e-300)
    scale = robust_scale(residual)
    if scale <= _EXACT * size:
        return (np.abs(residual) <= np.maximum(1e3 * scale, _EXACT * np.maximum(np.abs(y), size))).astype(float)
    return loss.weight(y, prediction, scale)


def concentrated(hunt: Hunt, index: int) -> Reduced | None:
    """A fit of the archive, fitted to the rows it is nearest to; its misfit is their trimmed mean square."""
    chunk, samples = hunt.archive.chunk, hunt.plain
    edges, params = chunk.edges[index], chunk.params[index]
    mask = hunt.network.parameter_mask(edges[None], imaginary=False)
    tape = network_tape(hunt.network)
    before, best = np.inf, params
    for _ in range(_CONCENTRATIONS + 1):
        residual = np.abs(samples.y - fit.values(tape, samples, params, mask)[0])
        near = residual <= np.quantile(residual, _SHARE) if np.isfinite(residual).all() else np.zeros(0, bool)
        if not near.any():
            return None
        misfit = float(np.mean(residual[near] ** 2))
        if not misfit < 0.99 * before:
            break
        before, best = misfit, params
        part = fit.Samples.of(samples.x[near], samples.y[near])
        fits = fit.levenberg(tape, part, params, mask, fit.Levenberg(30), fit.Penalties(aux=1e-2))
        params = np.where(mask[0], fits.params[0], 0.0)
    return Reduced(edges, best, before)


def _criterion(pilot: Reduced, hunt: Hunt) -> float:
    rows = _SHARE * len(hunt.plain.y)
    floor = (_ROUNDING * float(np.median(np.abs(hunt.plain.y)))) ** 2
    return rows * np.log(max(pilot.misfit, floor, 1e-300)) + price(len(hunt.plain.y)) * float(pilot.edges.sum())


def agreement_with_neighbours(data: Dataset) -> np.ndarray:
    """Per row a weight between 0 and 1: how well it agrees with the rows around it, by how much these differ."""
    few = data.thinned(2000)
    if len(few.y) < 4 * _NEIGHBOURS:
        return np.ones(len(data.y))
    spread = np.maximum(few.x.std(axis=0), 1e-300)
    middle, variation = np.empty((2, len(data.y)))
    for k, row in enumerate(data.x):
        distance = np.sum(((few.x - row) / spread) ** 2, axis=1)
        nearest = np.argpartition(distance, _NEIGHBOURS)[: _NEIGHBOURS + 1]
        around = few.y[nearest[distance[nearest] > 0.0]]
        middle[k] = np.median(around) if len(around) else data.y[k]
        variation[k] = robust_scale(around - middle[k]) if len(around) else np.inf
    off = data.y - middle
    scale = np.maximum(variation, robust_scale(off))
    return 1.0 / (1.0 + (off / np.maximum(_LOOSE * scale, 1e-300)) ** 2)


# ---- finished formulas --------------------------------------------------------------------------------------------


def judged(formulas: Sequence[Formula], data: Dataset, loss: Loss, constraints: Constraints) -> list[Formula]:
    """The formulas fitted and judged by the loss, all with the scale of the best of them."""
    size = max(float(np.median(np.abs(data.y))), 1e-300)
    scale = _common_scale(formulas, data, loss, constraints, _ROUNDING * size)
    fitted = [_fitted(formula, data, loss, scale, constraints) for formula in formulas]
    best = min(fitted, key=lambda formula: _trimmed(formula, data, size))
    typical = np.median(loss.cost(data.y, best(data.x), scale))
    least = float(np.median(loss.cost(data.y, data.y - _ROUNDING * size, scale)))
    unit = max(float(typical), least, 1e-300) / _MEDIAN_COST.get(loss.name, _MEDIAN_SQUARE)
    return [_with_surprise(formula, data, loss, scale, unit) for formula in fitted]


def _common_scale(
    formulas: Sequence[Formula], data: Dataset, loss: Loss, constraints: Constraints, least: float
) -> float:
    """That of the residuals of the best formula, which shrinks as outliers lose their hold on it."""
    size = least / _ROUNDING
    best = min(formulas, key=lambda formula: _trimmed(formula, data, size))
    scale = max(robust_scale(data.y - best(data.x)), least)
    for _ in range(_SHRINKINGS):
        best = _fitted(best, data, loss, scale, constraints)
        before, scale = scale, max(robust_scale(data.y - best(data.x)), least)
        if not scale < 0.99 * before:
            return min(scale, before)
    return scale


def _trimmed(formula: Formula, data: Dataset, size: float) -> float:
    """A criterion on the rows that the formula is nearest to."""
    square = np.sort((data.y - formula(data.x)) ** 2)[: max(1, int(_SHARE * len(data.y)))]
    constants = len(parametrise(formula.expression).symbols)
    fit_ = len(square) * np.log(max(float(square.mean()), (_ROUNDING * size) ** 2))
    return float(fit_ + np.log(len(data.y)) * constants + 2.0 * formula.complexity)


def _fitted(formula: Formula, data: Dataset, loss: Loss, scale: float, constraints: Constraints) -> Formula:
    """Reweighted least squares from the constants it has, then rounding: each if loss and constraints allow it."""

    def mean_loss(candidate: Formula) -> float:
        return float(np.mean(data.weight * loss.cost(data.y, candidate(data.x), scale)))

    def weigh(prediction: np.ndarray) -> np.ndarray:
        weight = data.weight * loss.weight(data.y, prediction, scale)
        return weight if weight.sum() > 0.0 else data.weight

    best, value = formula, mean_loss(formula)
    fitted = reweighted(best, data, weigh, _REWEIGHTINGS)
    if mean_loss(fitted) < value and constraints.allows(fitted.expression):
        best, value = fitted, mean_loss(fitted)
    weighted = _for_errors(best, data, loss, scale)
    rounded = rounded_by(best, weighted)
    if mean_loss(rounded) <= value * (1.0 + 1.0 / len(data.y)) and constraints.allows(rounded.expression):
        best, value = rounded, mean_loss(rounded)
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
    return _with_weight(replace(data, y=prediction + np.clip(residual, -reach, reach)), weight)


def _with_surprise(formula: Formula, data: Dataset, loss: Loss, scale: float, unit: float) -> Formula:
    cost = loss.cost(data.y, formula(data.x), scale) / unit
    return replace(formula, surprise=float(np.sum(data.weight * np.minimum(np.nan_to_num(cost, nan=np.inf), _AT_MOST))))


def is_exact(formula: Formula, data: Dataset) -> bool:
    """Whether it meets most rows to machine precision."""
    residual = np.abs(data.y - formula(data.x))
    return bool(np.quantile(residual, _SHARE) <= _EXACT * np.median(np.abs(data.y)))
