"""The frequencies at which y swings along each input, as starting points for sines."""

from __future__ import annotations

import numpy as np

from ceql.search.policy import PeriodogramPolicy


def peaks(x: np.ndarray, y: np.ndarray, policy: PeriodogramPolicy = PeriodogramPolicy()) -> list[np.ndarray]:
    """Per column of x, the frequencies of the highest peaks of the periodogram of y, the highest first.

    A swing whose amplitude changes sign with another input leaves no trace in y, but it does in y squared, at twice
    its frequency.
    """
    x, y = x[: policy.rows], np.arctan(y[: policy.rows] / max(float(np.median(np.abs(y))), 1e-300))
    waves = [y, (y - y.mean()) ** 2]
    found = []
    for column in x.T:
        reach = float(np.ptp(column))
        # A grid four times as fine as the width of a peak. A narrow column sees no whole swing, however fast it is.
        step = np.pi / (2.0 * max(reach, 1e-300))
        frequency = np.arange(2.0 * step, policy.fastest, step)
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
        high = [value for power, value in candidates[: policy.most] if power > policy.high * candidates[0][0]]
        found.append(np.array(high))
    return found


def _detrended(column: np.ndarray, wave: np.ndarray) -> np.ndarray:
    basis = np.vander(column, 3)
    return wave - basis @ np.linalg.lstsq(basis, wave, rcond=None)[0]
