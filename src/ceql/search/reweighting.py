"""Fits that a few gross outliers cannot rule: weights that follow the best formula so far, and judgement by the loss.

Design. Before the first round rows that do not agree with their neighbours count less. After every round the most
promising fits are fitted once more to the three quarters of the rows they are nearest to, again and again, until these
rows stay the same; the best of them by a criterion on those rows alone is the pilot. Its residuals give the scale of
the noise and with the loss the weights of the rows (`losses`), with which the search goes on. Where the pilot meets
most rows to machine precision the others are outliers without doubt and count nothing: then the search for an exact
formula ends as it does without outliers. So up to a quarter of the rows may be wrong.

All of this looks at some rows of a long table. The finished formulas are judged in `judgement`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ceql.choice.criterion import EDGE, of_fits, of_rows
from ceql.choice.exactness import EXACT
from ceql.data.dataset import Dataset, typical_size
from ceql.engine import fit
from ceql.formula import values_of
from ceql.search.losses import NORMAL, Loss, robust_scale
from ceql.search.reduction import Reduced
from ceql.search.target_search import Hunt

_ROWS = 20_000  # of a long table that are looked at
_PILOTS = 12  # fits tried as pilots after a round
_CONCENTRATIONS = 4  # times that the nearest rows are chosen anew
_NEIGHBOURS = 8
_COMPARED, _COMPARISONS = 2000, 1e8  # rows among which neighbours are looked for, and numbers compared for that
_SORTING = 3  # columns that it takes as long to compare as to find the nearest rows
_BLOCK = 2**17  # distances that are held at a time
_LOOSE = 4.0  # scales at which a row that disagrees with its neighbours counts half
_ROUNDING = 1e-12  # share of the size of y below which residuals are not told apart
_PROGRESS = 1.0  # of the criterion, for which the weights change
_STEEP = 3.0  # scales, beyond which the weight of a row grows no more where a loss is steeper than squares


class Reweighting:
    """The weights of the rows while a search goes on."""

    def __init__(self, data: Dataset, loss: Loss) -> None:
        self._data, self._loss = data.thinned(_ROWS), loss
        self._criterion, self._tried = np.inf, set[bytes]()
        self.weighted = with_weight(self._data, self._data.weight * agreement_with_neighbours(self._data))

    def follow(self, hunt: Hunt) -> bool:
        """Looks for a better pilot among the fits of a hunt; says whether the weights have changed."""
        pilots = [pilot for k in self._most_promising(hunt) if (pilot := concentrated(hunt, k)) is not None]
        if not pilots:
            return False
        best = min(pilots, key=lambda pilot: _criterion(pilot, hunt))
        score = _criterion(best, hunt)
        prediction = values_of(hunt.expression(best), hunt.symbols, self._data.x)
        if prediction is None or score > self._criterion - _PROGRESS:
            return False
        self._criterion = score
        self.weighted = with_weight(self._data, self._data.weight * _weights(self._data.y, prediction, self._loss))
        hunt.admit(best)
        return True

    def _most_promising(self, hunt: Hunt) -> list[int]:
        chunk = hunt.archive.chunk
        order = np.argsort(of_fits(chunk.misfit, chunk.edges.sum(axis=1), len(hunt.plain.y)), kind="stable")
        fresh = [int(k) for k in order if chunk.in_domain[k] and chunk.edges[k].tobytes() not in self._tried]
        self._tried.update(chunk.edges[k].tobytes() for k in fresh[:_PILOTS])
        return fresh[:_PILOTS]


def with_weight(data: Dataset, weight: np.ndarray) -> Dataset:
    """With these weights; with its own where none of them counts."""
    mean = float(weight.mean())
    return replace(data, weight=weight / mean) if 0.0 < mean < np.inf else data


def _weights(y: np.ndarray, prediction: np.ndarray, loss: Loss) -> np.ndarray:
    residual = y - prediction
    size = typical_size(y)
    scale = robust_scale(residual)
    if scale <= EXACT.share * size:
        return (np.abs(residual) <= np.maximum(1e3 * scale, EXACT.share * np.maximum(np.abs(y), size))).astype(float)
    # Both together, since the largest of them is 1.
    drawn_in = y - np.clip(residual, -_STEEP * scale, _STEEP * scale)
    both = loss.weight(np.concatenate([y, y]), np.concatenate([prediction, drawn_in]), scale)
    return np.minimum(*np.split(both, 2))


def concentrated(hunt: Hunt, index: int) -> Reduced | None:
    """A fit of the archive, fitted to the rows it is nearest to; its misfit is their trimmed mean square."""
    chunk, samples = hunt.archive.chunk, hunt.plain
    edges, params = chunk.edges[index], chunk.params[index]
    mask = hunt.network.parameter_mask(edges[None], imaginary=False)
    tape = hunt.network.tape()
    before, best = np.inf, params
    for _ in range(_CONCENTRATIONS + 1):
        residual = np.abs(samples.y - fit.values(tape, samples, params, mask)[0])
        near = residual <= np.quantile(residual, EXACT.most_rows) if np.isfinite(residual).all() else np.zeros(0, bool)
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
    rows = EXACT.most_rows * len(hunt.plain.y)
    floor = (_ROUNDING * typical_size(hunt.plain.y)) ** 2
    return float(of_rows(max(pilot.misfit, floor), pilot.size, rows, EDGE * pilot.size, len(hunt.plain.y)))


def agreement_with_neighbours(data: Dataset) -> np.ndarray:
    """Per row a weight between 0 and 1: how well it agrees with the rows around it, by how much these differ."""
    few = data.thinned(_rows_compared(*data.x.shape))
    if len(few.y) < 4 * _NEIGHBOURS:
        return np.ones(len(data.y))
    spread = np.maximum(few.x.std(axis=0), 1e-300)
    block = max(1, _BLOCK // len(few.y))
    parts = [_around(few, data.x[k : k + block], spread) for k in range(0, len(data.y), block)]
    middle, variation = (np.concatenate(part) for part in zip(*parts, strict=True))
    middle = np.where(np.isfinite(middle), middle, data.y)
    off = data.y - middle
    scale = np.maximum(variation, robust_scale(off))
    return 1.0 / (1.0 + (off / np.maximum(_LOOSE * scale, 1e-300)) ** 2)


def _rows_compared(rows: int, columns: int) -> int:
    """So that the work stays within bounds for a long or wide table; enough for neighbours in any case."""
    return int(np.clip(_COMPARISONS / (rows * (columns + _SORTING)), 8 * _NEIGHBOURS, _COMPARED))


def _around(few: Dataset, rows: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The median of y among the nearest other points, and its scale there; infinite where there are none."""
    distance = np.zeros((len(rows), len(few.y)))
    for one, other, size in zip(few.x.T, rows.T, spread, strict=True):
        distance += ((one - other[:, None]) / size) ** 2
    nearest = np.argpartition(distance, _NEIGHBOURS, axis=1)[:, : _NEIGHBOURS + 1]
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
