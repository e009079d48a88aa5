"""Starting values for the nonlinear constants of a law, estimated from the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ceql.catalogue.law import Constant, Law, Start
from ceql.catalogue.separable import Rows, evaluated
from ceql.data.dataset import Dataset, typical_size

_SIZES = (0.05, 0.3, 1.0, 3.0, 20.0)  # multiples of the typical size of a quantity
_FINE_SIZES = (0.02, 0.05, 0.12, 0.25, 0.5, 0.8, 1.3, 2.2, 4.5, 10.0, 30.0)  # for laws with few nonlinear constants
_FEW = 2  # up to this many nonlinear constants, the fine sizes are used
_WIDTHS = (0.02, 0.08, 0.3, 1.5)  # shares of the range: a peak is usually narrower than the table
_BEYOND = (0.003, 0.05, 0.4, 3.0)  # distances beyond the end of the range, as shares of it
_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
_EXPONENTS = (-2.7, -1.3, -0.6, 0.4, 0.7, 1.4, 2.6)  # no whole numbers, where a law may be degenerate
_PHASES = (0.3, 1.3, 2.4)  # the sign of the amplitude covers the other half turn
_SLOW = (0.3, 0.7)  # turns over the range, too few for the periodogram to tell from a trend
_FREQUENCY_ROWS, _FREQUENCIES, _PEAKS = 400, 480, 3  # most rows, frequencies and peaks of the periodogram
_OVERSAMPLING = 4.0  # frequencies of the periodogram per turn over the range
_WEIGHINGS = 5  # rounds of reweighting for a multiplied-out quotient
_LEAST_LINE = 1e-3  # least denominator as a share of the largest, which limits the weight of rows near a pole
_FEWEST = 1e-300  # stands for a range of zero
Quantity = Sequence[tuple[str | int, float]]  # columns by their places in the table, or "y", each with its power


@dataclass(eq=False)
class Facts:
    """Features of products of columns that starting values are made of, computed once for all laws."""

    data: Dataset
    known: dict[tuple, np.ndarray] = field(default_factory=dict)

    @np.errstate(all="ignore")
    def values(self, start: Start, places: Sequence[int], fine: bool) -> np.ndarray:
        """Starting values for a constant of a law whose x1, x2, ... are these columns of the table."""
        if start.kind == "numbers":
            return np.array(start.numbers)
        if start.kind == "exponent":
            return np.array(_EXPONENTS)
        if start.kind == "phase":
            return np.array(_PHASES)
        quantity = _in_table(start, places)
        key = (start.kind, quantity, fine)
        if key not in self.known:
            self.known[key] = self._feature(start.kind, quantity, np.array(_FINE_SIZES if fine else _SIZES))
        return self.known[key]

    def _feature(self, kind: str, quantity: Quantity, sizes: np.ndarray) -> np.ndarray:
        values = self._product(quantity)
        rows = np.isfinite(values)
        values = values[rows]
        if not len(values):
            return np.ones(1)
        low, high = float(values.min()), float(values.max())
        span = max(high - low, _FEWEST)
        match kind:
            case "size":
                return typical_size(values) * sizes
            case "rate":
                return 1.0 / (typical_size(values) * sizes)
            case "width":
                return span * np.array(_WIDTHS)
            case "below min":
                return low - span * np.array(_BEYOND)
            case "above max":
                return high + span * np.array(_BEYOND)
            case "frequency":
                return self._frequencies(values, self.data.y[rows], span)
            case "half frequency":
                return 0.5 * self._frequencies(values, self.data.y[rows], span)
        y = self.data.y[rows]
        ends = np.array([values[np.argmax(y)], values[np.argmin(y)]])
        return np.unique(np.concatenate([np.quantile(values, _QUANTILES), ends]))

    @np.errstate(all="ignore")
    def _product(self, quantity: Quantity) -> np.ndarray:
        values = np.ones(len(self.data.y))
        for name, power in quantity:
            values = values * (self.data.y if name == "y" else self.data.x[:, int(name)]) ** power
        return values

    @np.errstate(all="ignore")
    def quotients(self, law: Law, places: Sequence[int]) -> np.ndarray:
        """Starting values of b for a law N(x)/(1 + sum of b q(x)).

        Multiplied by its denominator the equation is linear, so that b follows from least squares. The rows are then
        wrongly weighted by the denominator, which is corrected by repeatedly dividing by its last estimate (Sanathanan
        and Koerner).
        """
        rows = Rows.of(self.data, places)
        above = evaluated(law, rows, np.zeros((1, len(law.constants))), law.linear)[1][0]
        starts = [law.constants[k].start for k in law.nonlinear]
        below = np.column_stack([self._product(_in_table(start, places)) for start in starts if start is not None])
        terms = np.column_stack([above, -self.data.y[:, None] * below])
        found = np.zeros((0, len(law.nonlinear)))
        for count in range(1, len(law.nonlinear) + 1):  # also with fewer terms, since the later ones may be negligible
            some = _solved_quotients(terms[:, : len(law.linear) + count], below[:, :count], rows)
            filled = np.zeros((len(some), len(law.nonlinear)))
            filled[:, :count] = some
            found = np.vstack([found, filled])
        return found if len(found) else np.zeros((1, len(law.nonlinear)))

    @cached_property
    def _drawn(self) -> np.random.Generator:
        return np.random.default_rng(0)

    def _frequencies(self, values: np.ndarray, y: np.ndarray, span: float) -> np.ndarray:
        """Peaks of the periodogram in radians per unit, and a few frequencies too low to show up in it."""
        if len(values) > _FREQUENCY_ROWS:
            rows = self._drawn.choice(len(values), _FREQUENCY_ROWS, replace=False)
            values, y = values[rows], y[rows]
        most = min((len(np.unique(values)) - 1) / 2.0, _FREQUENCIES / _OVERSAMPLING)
        turns = np.arange(1.0, max(most, 1.0) + 1e-9, 1.0 / _OVERSAMPLING)
        wave = np.exp(2j * np.pi * turns[:, None] * ((values - values[0]) / span))
        power = np.abs(wave @ (y - y.mean()))
        inner = np.concatenate([[True], power[1:] >= power[:-1]]) & np.concatenate([power[:-1] >= power[1:], [True]])
        peaks = np.flatnonzero(inner)
        best = peaks[np.argsort(-power[peaks], kind="stable")[:_PEAKS]]
        return 2.0 * np.pi * np.concatenate([_SLOW, turns[best]]) / span


def start_grid(law: Law, places: Sequence[int], facts: Facts, most: int) -> np.ndarray:
    """Combinations of starting values, one per row; a linear law has one row without columns."""
    if any(start is not None and start.kind == "quotient" for start in (c.start for c in law.constants)):
        return facts.quotients(law, places)
    fine = len(law.nonlinear) <= _FEW
    axes = [_within(law.constants[k], facts, places, fine) for k in law.nonlinear]
    if not axes:
        return np.zeros((1, 0))
    if all(len(axis) == 1 for axis in axes):  # avoids a grid with an axis for each column of a wide table
        return np.concatenate(axes)[None]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    if len(grid) <= most:
        return grid
    rows = np.random.default_rng(0).choice(len(grid), most, replace=False)
    return grid[np.sort(rows)]


def _within(constant: Constant, facts: Facts, places: Sequence[int], fine: bool) -> np.ndarray:
    """The starting values within the constant's bounds; its typical value if there are none."""
    assert constant.start is not None
    values = facts.values(constant.start, places, fine)
    if constant.start.kind in ("size", "rate") and constant.above is None and constant.below is None:
        values = np.concatenate([values, -values])
    allowed = np.isfinite(values)
    if constant.above is not None:
        allowed &= values > constant.above
    if constant.below is not None:
        allowed &= values < constant.below
    return values[allowed] if allowed.any() else np.array([constant.typical])


def _in_table(start: Start, places: Sequence[int]) -> tuple[tuple[str | int, float], ...]:
    return tuple((name if name == "y" else places[int(name[1:]) - 1], power) for name, power in start.quantity)


def _solved_quotients(terms: np.ndarray, below: np.ndarray, rows: Rows) -> np.ndarray:
    line = np.ones(len(rows.y))
    found = []
    for _ in range(_WEIGHINGS):
        weight = rows.root_weight / line
        weighed, target = terms * weight[:, None], rows.y * weight
        scale = np.linalg.norm(weighed, axis=0)
        scale[scale == 0.0] = 1.0
        if not (np.isfinite(scale).all() and np.isfinite(target).all()):
            break
        solved = np.linalg.lstsq(weighed / scale, target, rcond=None)[0] / scale
        found.append(solved[-below.shape[1] :])
        line = np.abs(1.0 + below @ found[-1])
        line = np.maximum(line, _LEAST_LINE * line.max())
    return np.array(found).reshape(-1, below.shape[1])
