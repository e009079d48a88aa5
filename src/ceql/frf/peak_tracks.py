"""Peaks of measured and predicted curves: which ones stand out, and how they move between conditions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.signal import find_peaks, peak_widths

from ceql.errors import InputError
from ceql.frf.measurements import Measurements, parse_band

Window = tuple[float, float]
_PROMINENCE_DB = 3.0
_PROMINENCE_SHARE = 0.02  # share of the largest value; smaller peaks do not matter in a fit of linear magnitudes
_PROMINENCE_NOISE = 8.0  # in standard deviations of the noise; noise alone reaches about 6
_SAME_PEAK = 0.06  # peaks of two conditions this close, relative to their frequency, are the same resonance
_REACH = 1.5  # a window reaches this many widths beyond the outermost peaks


@dataclass(frozen=True)
class Peak:
    """The peak of one condition in one window. `scatter_hz` is its standard deviation over the repetitions.

    `low_hz` and `high_hz` delimit the interval of the prediction, if there is one.
    """

    condition: tuple[float, ...]
    window: Window
    measured_hz: float
    predicted_hz: float
    scatter_hz: float | None
    left_out: bool
    at_edge: bool
    low_hz: float | None = None
    high_hz: float | None = None

    @property
    def error_hz(self) -> float:
        return self.predicted_hz - self.measured_hz

    @property
    def window_in_words(self) -> str:
        return in_words_of(self.window)

    @property
    def remarks(self) -> str:
        return ", ".join(["left out"] * self.left_out + ["at the edge"] * self.at_edge)


def in_words_of(window: Window) -> str:
    return f"{window[0]:.6g}-{window[1]:.6g}"


def find_windows(means: Measurements) -> list[Window]:
    """Windows around the peaks that stand out in at least half of the conditions."""
    groups: list[list[tuple[float, float]]] = []
    for span in sorted(span for curve in np.abs(means.curves) for span in _spans(means.frequency, curve)):
        if groups and span[0] - groups[-1][-1][0] < _SAME_PEAK * span[0]:
            groups[-1].append(span)
        else:
            groups.append([span])
    needed = (len(means.curves) + 1) // 2
    kept = [group for group in groups if len(group) >= needed]
    if not kept:
        raise InputError(
            f"No resonance was found between {means.frequency[0]:g} and {means.frequency[-1]:g} Hz: no peak stands "
            f"out by {_PROMINENCE_DB:g} dB and from the noise. Check the band (--band) and the FRF type (--kind), or "
            "name the windows to look in (--windows 100:200,330:450)."
        )
    edges = [_window(group) for group in kept]
    for left, right in itertools.pairwise(edges):  # neighbours that overlap meet in the middle
        if left[1] > right[0]:
            left[1] = right[0] = (left[1] + right[0]) / 2.0
    return [(max(low, float(means.frequency[0])), min(high, float(means.frequency[-1]))) for low, high in edges]


def parse_windows(text: str) -> list[Window]:
    windows = sorted(parse_band(part.strip()) for part in text.split(",") if part.strip())
    if not windows:
        raise InputError("--windows needs at least one LOW:HIGH in Hz, such as 100:200,330:450.")
    return windows


def peak_in(frequency: np.ndarray, curve: np.ndarray, window: Window) -> tuple[float, bool]:
    """The frequency of the largest magnitude in a window, and whether it lies at the window's edge."""
    inside = np.flatnonzero((frequency >= window[0]) & (frequency <= window[1]))
    if len(inside) < 3:
        raise InputError(
            f"The window {window[0]:g}:{window[1]:g} Hz holds {len(inside)} frequencies; the data reach from "
            f"{frequency[0]:g} to {frequency[-1]:g} Hz."
        )
    best = inside[np.argmax(np.abs(curve[inside]))]
    return float(frequency[best]), bool(best in (inside[0], inside[-1]))


def scatter(measurements: Measurements, level: np.ndarray, window: Window) -> float | None:
    """The standard deviation of the peak frequency over the repetitions of a condition; None if there is only one."""
    own = measurements.curves[(measurements.conditions == level).all(axis=1)]
    if len(own) < 2:
        return None
    return float(np.std([peak_in(measurements.frequency, curve, window)[0] for curve in own], ddof=1))


def _spans(frequency: np.ndarray, magnitude: np.ndarray) -> list[tuple[float, float]]:
    """Centre and width of every peak that stands out in dB, in absolute size and from the noise."""
    # Smooth curves have small second differences, and the median ignores the peaks.
    noise = float(np.median(np.abs(np.diff(magnitude, 2))) / (0.6745 * np.sqrt(6.0)))
    floor = max(noise, np.finfo(float).tiny)
    level = 20.0 * np.log10(np.maximum(magnitude, floor))
    in_db, _ = find_peaks(level, prominence=_PROMINENCE_DB)
    least = max(_PROMINENCE_SHARE * float(magnitude.max()), _PROMINENCE_NOISE * noise)
    in_size, _ = find_peaks(magnitude, prominence=least)
    places = np.intersect1d(in_db, in_size)
    if not len(places):
        return []
    _, _, left, right = peak_widths(magnitude, places, rel_height=0.5)
    index = np.arange(len(frequency))
    widths = np.interp(right, index, frequency) - np.interp(left, index, frequency)
    return list(zip(frequency[places].tolist(), widths.tolist(), strict=True))


def _window(group: Sequence[tuple[float, float]]) -> list[float]:
    centres = [centre for centre, _ in group]
    reach = _REACH * float(np.median([width for _, width in group]))
    low, high = min(centres) - reach, max(centres) + reach
    digit = 10.0 ** np.floor(np.log10(high - low) - 1.0)  # two digits of the width are enough, and easier to read
    return [float(np.floor(low / digit) * digit), float(np.ceil(high / digit) * digit)]
