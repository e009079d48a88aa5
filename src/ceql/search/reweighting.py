"""Fits that resist a few gross outliers: row weights follow the best formula so far, and the loss judges formulas.

Design. Before the first round, rows that disagree with their neighbours get less weight. After every round, the most
promising fits are refitted to the three quarters of the rows that they are nearest to, repeatedly, until these rows
stay the same. The best of them, by a criterion on these rows alone, is the pilot. Its residuals give the scale of the
noise and, with the loss, the weights of the rows (`losses`) for the following rounds. If the pilot meets most rows to
machine precision, the others are certainly outliers and get no weight; the search for an exact formula then ends as it
does without outliers. So up to a quarter of the rows may be wrong.

All of this uses some rows of a long table. `judgement` judges the finished formulas.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ceql.choice.criterion import EDGE, of_fits, of_rows
from ceql.data.dataset import Dataset, typical_size
from ceql.engine import fit
from ceql.formula import values_of
from ceql.search.archive import with_fits
from ceql.search.losses import NORMAL, Loss, robust_scale
from ceql.search.policy import ReweightingPolicy, SearchPolicy
from ceql.search.reduction import Reduced
from ceql.search.state import RowWeights, Signed
from ceql.search.target_search import TargetProblem, TargetState

_SORTING = 3  # columns that it takes as long to compare as to find the nearest rows
_BLOCK = 2**17  # distances that are held at a time


def first_weights(data: Dataset, policy: ReweightingPolicy = ReweightingPolicy()) -> RowWeights:
    """The weights before the first round: rows that disagree with their neighbours get less."""
    return RowWeights(with_weight(data, data.weight * agreement_with_neighbours(data, policy)).weight)


def followed(
    problem: TargetProblem, state: TargetState, weights: RowWeights, data: Dataset, loss: Loss
) -> tuple[RowWeights, TargetState]:
    """The weights from a better pilot among the fits of a target, if any; it then joins the archive."""
    policy, chunk = problem.policy, state.archive.chunk
    order = np.argsort(of_fits(chunk.misfit, chunk.edges.sum(axis=1), len(problem.plain.y)), kind="stable")
    fresh = [int(k) for k in order if chunk.in_domain[k] and chunk.edges[k].tobytes() not in weights.tried]
    fresh = fresh[: policy.reweighting.pilots]
    weights = replace(weights, tried=weights.tried.union(chunk.edges[k].tobytes() for k in fresh))
    pilots = [pilot for k in fresh if (pilot := concentrated(problem, state.fit(k))) is not None]
    if not pilots:
        return weights, state
    best = min(pilots, key=lambda pilot: _criterion(pilot, problem))
    score = _criterion(best, problem)
    prediction = values_of(problem.expression(best), problem.symbols, data.x)
    if prediction is None or score > weights.criterion - policy.reweighting.progress:
        return weights, state
    weight = with_weight(data, data.weight * _weights(data.y, prediction, loss, policy)).weight
    admitted = replace(state, archive=with_fits(state.archive, [(best.edges, best.params)]))
    return replace(weights, weight=weight, criterion=Signed(score)), admitted


def with_weight(data: Dataset, weight: np.ndarray) -> Dataset:
    """The data with these weights, without a noise estimate; unchanged if all weights are zero."""
    mean = float(weight.mean())
    return replace(data, weight=weight / mean, noise=None) if 0.0 < mean < np.inf else data


def _weights(y: np.ndarray, prediction: np.ndarray, loss: Loss, policy: SearchPolicy) -> np.ndarray:
    residual = y - prediction
    size, share = typical_size(y), policy.exact.share
    scale = robust_scale(residual)
    if scale <= share * size:
        return (np.abs(residual) <= np.maximum(1e3 * scale, share * np.maximum(np.abs(y), size))).astype(float)
    # Both together, since the largest of them is 1.
    reach = policy.reweighting.steep * scale
    both = loss.weight(
        np.concatenate([y, y]), np.concatenate([prediction, y - np.clip(residual, -reach, reach)]), scale
    )
    return np.minimum(*np.split(both, 2))


def concentrated(problem: TargetProblem, start: Reduced) -> Reduced | None:
    """A fit of the archive, fitted to the rows it is nearest to; its misfit is their trimmed mean square."""
    samples, params, share = problem.plain, start.params, problem.policy.exact.most_rows
    mask = problem.structure.parameter_mask(start.edges[None], imaginary=False)
    tape = problem.structure.tape()
    before, best = np.inf, params
    refit, penalties = (
        fit.Levenberg(problem.policy.reweighting.refit),
        fit.Penalties(aux=problem.policy.schedule.argument),
    )
    for _ in range(problem.policy.reweighting.concentrations + 1):
        residual = np.abs(samples.y - fit.values(tape, samples, params, mask)[0])
        near = residual <= np.quantile(residual, share) if np.isfinite(residual).all() else np.zeros(0, bool)
        if not near.any():
            return None
        misfit = float(np.mean(residual[near] ** 2))
        if not misfit < 0.99 * before:
            break
        before, best = misfit, params
        part = fit.Samples.of(samples.x[near], samples.y[near])
        fits = fit.levenberg(tape, part, params, mask, refit, penalties)
        params = np.where(mask[0], fits.params[0], 0.0)
    return Reduced(start.edges, best, before)


def _criterion(pilot: Reduced, problem: TargetProblem) -> float:
    y, policy = problem.plain.y, problem.policy
    rows = policy.exact.most_rows * len(y)
    floor = (policy.reweighting.rounding * typical_size(y)) ** 2
    return float(of_rows(max(pilot.misfit, floor), pilot.size, rows, EDGE * pilot.size, len(y)))


def agreement_with_neighbours(data: Dataset, policy: ReweightingPolicy = ReweightingPolicy()) -> np.ndarray:
    """A weight per row between 0 and 1: how well it agrees with the rows around it, given their spread."""
    few = data.thinned(_rows_compared(len(data.y), data.x.shape[1], policy))
    if len(few.y) < 4 * policy.neighbours:
        return np.ones(len(data.y))
    spread = np.maximum(few.x.std(axis=0), 1e-300)
    block = max(1, _BLOCK // len(few.y))
    blocks = (data.x[k : k + block] for k in range(0, len(data.y), block))
    parts = [_around(few, rows, spread, policy.neighbours) for rows in blocks]
    middle, variation = (np.concatenate(part) for part in zip(*parts, strict=True))
    middle = np.where(np.isfinite(middle), middle, data.y)
    off = data.y - middle
    scale = np.maximum(variation, robust_scale(off))
    return 1.0 / (1.0 + (off / np.maximum(policy.loose * scale, 1e-300)) ** 2)


def _rows_compared(rows: int, columns: int, policy: ReweightingPolicy) -> int:
    """Rows among which neighbours are looked for: limited for a long or wide table, but enough for neighbours."""
    most = policy.comparisons / (rows * (columns + _SORTING))
    return int(np.clip(most, 8 * policy.neighbours, policy.compared))


def _around(few: Dataset, rows: np.ndarray, spread: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The median of y among the nearest other points, and its scale there; infinite where there are none."""
    distance = np.zeros((len(rows), len(few.y)))
    for one, other, size in zip(few.x.T, rows.T, spread, strict=True):
        distance += ((one - other[:, None]) / size) ** 2
    nearest = np.argpartition(distance, count, axis=1)[:, : count + 1]
    others = np.take_along_axis(distance, nearest, axis=1) > 0.0
    y = few.y[nearest]
    middle = _medians(np.where(others, y, np.inf), others)
    return middle, NORMAL * _medians(np.where(others, np.abs(y - middle[:, None]), np.inf), others)


def _medians(values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Of the finite values in each row, infinite where there are none: the others are infinite and come last."""
    ordered, count = np.sort(values, axis=1), counted.sum(axis=1)
    low, high = np.maximum(count - 1, 0) // 2, count // 2
    rows = np.arange(len(values))
    return 0.5 * (ordered[rows, low] + ordered[rows, np.minimum(high, values.shape[1] - 1)])
