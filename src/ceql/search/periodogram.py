"""The frequencies at which y swings along each input, as starting points for sines."""

from __future__ import annotations

import numpy as np

_FASTEST = 60.0  # radians per unit of scaled input
_MOST = 3  # peaks kept per input
_HIGH = 0.25  # of the highest one, if they reach this share of it
_ROWS = 1024


def peaks(x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """Per column of x, the frequencies of the highest peaks of the periodogram of y, the highest first.

    A swing whose amplitude changes sign with another input leaves no trace in y, but it does in y squared, at twice
    its frequency.
    """
    x, y = x[:_ROWS], np.arctan(y[:_ROWS] / max(float(np.median(np.abs(y))), 1e-300))
    waves = [y, (y - y.mean()) ** 2]
    found = []
    for column in x.T:
        reach = float(np.ptp(column))
        # A grid four times as fine as the width of a peak. A narrow column sees no whole swing, however fast it is.
        step = np.pi / (2.0 * max(reach, 1e-300))
        frequency = np.arange(2.0 * step, _FASTEST, step)
        if not len(frequency):
            found.append(np.zeros(0))
            continue
        turning = np.exp(1j * frequency[:, None] * column)
        candidates: list[tuple[float, float]] = []
        for wave, harmonic in zip(waves, (1.0, 2.0), strict=True):
            power = np.abs(turning @ _detrended(column, wave)) ** 2
            inner = np.flatnonzero((power[1:-1] > power[:-2]) & (power[1:-1] >= power[2:])) + 1
            typical = float(np.median(power)) or 1.0
            candidates += [(float(power[k]) / typical, float(frequency[k]) / harmonic) for k in inner]
        candidates.sort(reverse=True)
        found.append(np.array([value for power, value in candidates[:_MOST] if power > _HIGH * candidates[0][0]]))
    return found


def _detrended(column: np.ndarray, wave: np.ndarray) -> np.ndarray:
    basis = np.vander(column, 3)
    return wave - basis @ np.linalg.lstsq(basis, wave, rcond=None)[0]
