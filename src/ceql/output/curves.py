"""Numbers for pictures of a formula: how well it fits, its curve along each input, its poles and edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ceql.data.dataset import Dataset
from ceql.expression.evaluate.poles import Pole, find_borders, restricted
from ceql.formula import Formula, mean_square

WIDEN = 0.5  # how far beyond the data a picture reaches on either side, as a share of their range
DRAWN_ROWS = 1500  # more points than this hide each other
_GRID = 801
_CLOSER = 0.5 ** np.arange(1, 16)  # distances from a pole at which the curve is also drawn, in steps of the grid
_RANKED_ROWS = 500


@dataclass(frozen=True)
class Goodness:
    """How well a formula fits. R² is NaN if the target does not vary."""

    r2: float
    rmse: float
    largest: float  # residual


def goodness(formula: Formula, data: Dataset) -> Goodness:
    residual = data.y - formula(data.x)
    loss = mean_square(residual, data.weight)
    spread = mean_square(data.y - np.average(data.y, weights=data.weight), data.weight)
    r2 = 1.0 - loss / spread if spread > 0 else np.nan
    return Goodness(r2, float(np.sqrt(loss)), float(np.max(np.abs(residual))))


def used_columns(formula: Formula) -> list[int]:
    """The indices of the inputs that occur in the formula."""
    return [k for k, symbol in enumerate(formula.symbols) if symbol in formula.expression.free_symbols]


def by_relevance(formula: Formula, data: Dataset) -> list[int]:
    """The inputs of the formula, those whose variation changes its value the most first."""
    few = data.thinned(_RANKED_ROWS).x
    base, middle = formula(few), np.median(data.x, axis=0)

    def moved(k: int) -> float:
        held = few.copy()
        held[:, k] = middle[k]
        change = np.abs(formula(held) - base)
        return float(np.median(change[np.isfinite(change)])) if np.isfinite(change).any() else np.inf

    return sorted(used_columns(formula), key=lambda k: (-moved(k), k))


def widened(lower: np.ndarray, upper: np.ndarray, share: float = WIDEN) -> tuple[np.ndarray, np.ndarray]:
    """The range of the data extended by this share on both sides, also if a column does not vary."""
    lower, upper = np.asarray(lower, float), np.asarray(upper, float)
    span = upper - lower
    room = share * np.where(span > 0, span, np.maximum(1.0, np.abs(lower)))
    return lower - room, upper + room


def borders_around(formula: Formula, data: Dataset, share: float = WIDEN) -> list[Pole]:
    """Poles, log singularities and edges of the domain in the range of the data, extended by this share."""
    lower, upper = widened(data.x.min(axis=0), data.x.max(axis=0), share)
    return find_borders(formula.expression, formula.symbols, lower, upper)


@dataclass(frozen=True, eq=False)
class Slice:
    """The formula along one input, with the others at their medians. y is NaN at poles and where it is undefined."""

    column: int
    name: str
    x: np.ndarray
    y: np.ndarray
    lower: float  # range of the data
    upper: float
    borders: tuple[Pole, ...]  # those with a known location
    crowded: tuple[Pole, ...]  # the others: too close together, so only an equation is given
    held: tuple[tuple[str, float], ...]  # other inputs that occur in the formula, and their medians

    @property
    def inside(self) -> np.ndarray:
        return (self.x >= self.lower) & (self.x <= self.upper)


def slice_along(formula: Formula, data: Dataset, column: int, share: float = WIDEN) -> Slice:
    values = data.x[:, column]
    lower, upper = float(values.min()), float(values.max())
    low, high = (float(end[0]) for end in widened(np.array([lower]), np.array([upper]), share))
    medians = np.median(data.x, axis=0)
    others = [k for k in used_columns(formula) if k != column]
    symbol = formula.symbols[column]
    alone = restricted(formula.expression, {formula.symbols[k]: float(medians[k]) for k in others})
    found = find_borders(alone, [symbol], np.array([low]), np.array([high]))
    borders = tuple(border for border in found if border.location is not None)
    x = _grid(low, high, [lower, upper], [pole.location for pole in borders if pole.location is not None])
    points = np.tile(medians, (len(x), 1))
    points[:, column] = x
    y = formula(points)
    at_poles = np.isin(x, [pole.location for pole in borders if pole.kind == "pole" and pole.location is not None])
    y[~np.isfinite(y) | at_poles] = np.nan
    held = tuple((data.names[k], float(medians[k])) for k in others)
    crowded = tuple(border for border in found if border.location is None)
    return Slice(column, data.names[column], x, y, lower, upper, borders, crowded, held)


def _grid(low: float, high: float, ends: Sequence[float], borders: Sequence[float]) -> np.ndarray:
    """An even grid, with finer steps towards each border, so that the curve leaves the picture instead of stopping
    short.
    """
    step = (high - low) / (_GRID - 1)
    closer = [border + sign * step * _CLOSER for border in borders for sign in (-1.0, 1.0)]
    x = np.concatenate([np.linspace(low, high, _GRID), ends, borders, *closer])
    return np.unique(x[(x >= low) & (x <= high)])


def shown_range(values: np.ndarray, margin: float = 0.06) -> tuple[float, float]:
    """The limits of an axis: all values, unless a few near a pole would squeeze the others into a line."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return -1.0, 1.0
    low, high = np.quantile(finite, (0.03, 0.97))
    reach = 1.5 * (high - low)
    if reach > 0:
        finite = np.clip(finite, low - reach, high + reach)
    low, high = float(finite.min()), float(finite.max())
    room = margin * (high - low) or 0.1 * max(abs(low), 1e-12) or 1.0
    return low - room, high + room


def in_pieces(y: np.ndarray, limits: tuple[float, float]) -> np.ndarray:
    """The curve clipped a little outside the limits, with gaps so that no line connects the two sides of a pole."""
    low, high = limits
    cut = np.clip(y, low - (high - low), high + (high - low))
    jumps = ((y[:-1] > high) & (y[1:] < low)) | ((y[:-1] < low) & (y[1:] > high))
    cut[:-1][jumps] = np.nan
    return cut


def drawable_losses(losses: np.ndarray) -> np.ndarray:
    """Losses for a logarithmic axis: zeros are drawn at rounding level, below the smallest positive loss."""
    positive = losses[losses > 0]
    least = float(positive.min()) if len(positive) else 1.0
    return np.where(losses > 0, losses, min(1e-32, 0.01 * least))
