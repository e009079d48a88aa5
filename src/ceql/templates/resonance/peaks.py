"""Measured curves, their peaks, and the matching of peaks between curves.

Users need not give peak positions. A peak is followed from each curve to those under neighbouring conditions, so it may
move far over all of them as long as it moves little from one to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.signal import find_peaks, peak_widths

_FAINT = 3.0  # least prominence of a peak in dB
CLEAR = 10.0  # prominence in dB from which it is a resonance, however small it looks on a linear scale
_FARTHEST = 0.05  # how far a peak may move from one curve to the next, as a share of its frequency
_REACH = 6.0  # half widths around a peak in which points are kept when curves are thinned out
_SMOOTHED = 1.5e-3  # width of the smoothing before peaks are looked for, as a share of the band


@dataclass(frozen=True, eq=False)
class Track:
    """One peak over all curves; its numbers are medians over the curves that show it."""

    position: np.ndarray  # (n_curves,), NaN for curves that do not show it
    half_width: float
    height: float  # magnitude of the curve at the peak
    prominence: float  # in dB
    seen: float  # share of the curves that show it

    @property
    def is_clear(self) -> bool:
        return self.prominence >= CLEAR and self.seen >= 0.5

    @property
    def weight(self) -> float:
        """Its share of the area under a squared curve, up to a constant factor."""
        return self.height**2 * self.half_width


@dataclass(frozen=True, eq=False)
class _Peaks:
    position: np.ndarray
    half_width: np.ndarray
    height: np.ndarray
    prominence: np.ndarray


@dataclass(frozen=True, eq=False)
class Curves:
    """Measured curves on one frequency grid, with the weight of every point."""

    frequency: np.ndarray
    values: np.ndarray  # (n_conditions, n)
    conditions: np.ndarray  # (n_conditions, k)
    weight: np.ndarray

    @property
    def magnitudes(self) -> np.ndarray:
        return np.abs(self.values)

    def thinned(self, points: int) -> Curves:
        every = max(1, -(-len(self.frequency) // points))
        return replace(
            self, frequency=self.frequency[::every], values=self.values[:, ::every], weight=self.weight[:, ::every]
        )

    def focused(self, tracks: Sequence[Track], points: int, per_width: float) -> Curves:
        """Return about this many points, and more near these peaks; each has the weight of all points it represents."""
        step = float(np.median(np.diff(self.frequency)))
        spacing = np.full(len(self.frequency), max(1, len(self.frequency) // points))
        for track in tracks:
            reach = _REACH * track.half_width
            low, high = np.nanmin(track.position) - reach, np.nanmax(track.position) + reach
            near = (self.frequency >= low) & (self.frequency <= high)
            spacing[near] = np.minimum(spacing[near], max(1, int(track.half_width / (per_width * step))))
        kept, here = [], 0
        while here < len(spacing):
            kept.append(here)
            here += int(spacing[here : here + spacing[here]].min())  # no jump into the middle of a peak
        share = np.diff([*kept, len(spacing)])
        weight = self.weight[:, kept] * share / share.mean()
        return replace(self, frequency=self.frequency[kept], values=self.values[:, kept], weight=weight)

    def only(self, rows: list[int] | np.ndarray) -> Curves:
        return replace(self, values=self.values[rows], conditions=self.conditions[rows], weight=self.weight[rows])


def spread_of(conditions: np.ndarray) -> np.ndarray:
    """Return the range of each condition, or one if it does not vary."""
    spread = np.ptp(conditions, axis=0)
    return np.where(spread > 0, spread, 1.0)


def find_tracks(frequency: np.ndarray, magnitudes: np.ndarray, conditions: np.ndarray) -> list[Track]:
    """Find the peaks of all curves and return them as tracks, the clearest first."""
    seen = [_peaks_of(frequency, curve) for curve in magnitudes]
    order, parent = _order(conditions)
    members: list[dict[int, int]] = []  # per track, the index of its peak by curve
    for curve in order:
        _assign(members, curve, seen, parent)
    tracks = [_track(member, seen) for member in members]
    return sorted(tracks, key=lambda track: (-track.is_clear, -track.weight if track.is_clear else -track.prominence))


def _peaks_of(frequency: np.ndarray, magnitude: np.ndarray) -> _Peaks:
    step = frequency[1] - frequency[0]
    decibels = 20.0 * np.log10(np.maximum(magnitude, 1e-12 * magnitude.max()))
    width = max(1, round(_SMOOTHED * len(frequency) / 2))
    kernel = np.bartlett(2 * width + 1)[1:-1]
    smooth = np.convolve(np.pad(decibels, width - 1, mode="edge"), kernel / kernel.sum(), mode="valid")
    found, properties = find_peaks(smooth, prominence=_FAINT)
    # The half-power width is measured 3 dB below the top, or halfway down for peaks of less than 6 dB.
    share = np.minimum(3.0 / np.maximum(properties["prominences"], 1e-9), 0.5)
    parts = zip(found, share, strict=True)
    widths = np.array([peak_widths(smooth, [peak], rel_height=part)[0][0] for peak, part in parts])
    half = np.maximum(0.5 * step * widths, step) if len(found) else np.zeros(0)
    return _Peaks(frequency[found], half, magnitude[found], properties["prominences"])


def _order(conditions: np.ndarray) -> tuple[list[int], dict[int, int]]:
    """Return an order of the curves, and the parent of each: its nearest neighbour among the earlier curves."""
    scaled = conditions / spread_of(conditions)
    distance = np.linalg.norm(scaled[:, None] - scaled[None], axis=-1)
    first = int(np.argmin(distance.sum(axis=1)))
    order, parent = [first], {first: first}
    nearest = distance[first].copy()
    owner = np.full(len(conditions), first)
    while len(order) < len(conditions):
        nearest[order] = np.inf
        curve = int(np.argmin(nearest))
        order.append(curve)
        parent[curve] = int(owner[curve])
        closer = distance[curve] < nearest
        owner[closer] = curve
        nearest = np.minimum(nearest, distance[curve])
    return order, parent


def _assign(members: list[dict[int, int]], curve: int, seen: list[_Peaks], parents: dict[int, int]) -> None:
    """Add the peaks of a curve to the tracks they continue; the remaining peaks begin new tracks."""
    here = seen[curve].position
    taken: set[int] = set()
    if members and len(here):
        expected = np.array([[_last_known(member, parents[curve], seen, parents)] for member in members])
        cost = np.abs(here - expected) / np.maximum(expected, 1e-300)
        rows, columns = linear_sum_assignment(np.minimum(cost, _FARTHEST))
        for row, column in zip(rows, columns, strict=True):
            if cost[row, column] < _FARTHEST:
                members[row][curve] = int(column)
                taken.add(int(column))
    members.extend({curve: peak} for peak in range(len(here)) if peak not in taken)


def _last_known(member: dict[int, int], curve: int, seen: list[_Peaks], parents: dict[int, int]) -> float:
    while curve not in member and parents[curve] != curve:
        curve = parents[curve]
    known = curve if curve in member else next(iter(member))
    return float(seen[known].position[member[known]])


def _track(member: dict[int, int], seen: list[_Peaks]) -> Track:
    position = np.full(len(seen), np.nan)
    for curve, peak in member.items():
        position[curve] = seen[curve].position[peak]

    def median(name: str) -> float:
        return float(np.median([getattr(seen[curve], name)[peak] for curve, peak in member.items()]))

    return Track(position, median("half_width"), median("height"), median("prominence"), len(member) / len(seen))
