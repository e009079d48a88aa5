"""The noise of each point, and the weight of each frequency."""

from __future__ import annotations

import numpy as np

from ceql.frf.kinds import Kind
from ceql.frf.modal.policy import ModalPolicy
from ceql.frf.modal.response import Response

_SMOOTHEST = 1e-9  # least noise as a share of the largest magnitude, since computed curves have none
_LEAST_COHERENCE = 0.02


def noise_of(curves: np.ndarray) -> np.ndarray:
    """The standard deviation of the noise of each curve (p, n), per real or imaginary part, from second differences.

    Smooth curves have small second differences, and the median ignores the peaks.
    """
    differences = np.diff(curves, 2, axis=-1)
    parts = np.concatenate([np.real(differences), np.imag(differences)], axis=-1)
    spread = np.median(np.abs(parts), axis=-1) / (0.6745 * np.sqrt(6.0))
    largest = max(float(np.abs(curves).max()), np.finfo(float).tiny)  # over all points, since one may be dead
    return np.maximum(spread, _SMOOTHEST * largest)


def weighted_response(
    frequency: np.ndarray,
    curves: np.ndarray,
    kind: Kind,
    policy: ModalPolicy,
    residuals: str = "both",
    coherence: np.ndarray | None = None,
) -> Response:
    """The response with weights: inverse variances with a part for noise and a part proportional to the squared size.

    The second part keeps high peaks, which no linear model describes perfectly, from dominating the low ones. The size
    is averaged over neighbouring frequencies, so that all frequencies within a peak count alike. One weight per
    frequency serves all points, so that the linear part of a fit is the same problem for all of them. A coherence g²
    below one says how much of a value is noise: (1 - g²)/(2 g²) of its square.
    """
    noise = noise_of(curves)
    size = (np.abs(curves) / noise[:, None]) ** 2
    variance = 1.0 + policy.model_error**2 * _in_neighbourhood(frequency, size.mean(axis=0), policy.neighbourhood)
    if coherence is not None:
        clear = np.clip(coherence, _LEAST_COHERENCE, 1.0)
        variance = variance + np.mean(size * (1.0 - clear) / (2.0 * clear), axis=0)
    return Response(frequency, curves, 1.0 / variance, noise, kind, residuals)


def _in_neighbourhood(frequency: np.ndarray, values: np.ndarray, reach: float) -> np.ndarray:
    """The mean over the frequencies that differ by no more than this share."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    first = np.searchsorted(frequency, frequency * (1.0 - reach), side="left")
    last = np.searchsorted(frequency, frequency * (1.0 + reach), side="right")
    return (total[last] - total[first]) / (last - first)
