"""Are the residuals noise? Noise forgets its neighbour; what a formula fails to say has the same sign next door."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_PAIRING = 1.6  # neighbours are often mutual, so pairs are counted twice: the variance of the agreement grows by this


@dataclass(frozen=True)
class ResidualPolicy:
    """When residuals pass for noise."""

    bars: float = 2.0  # The agreement of neighbours may exceed one half by this many standard deviations of chance.
    telling: float = 0.65  # Where fitted values agree less than this, neighbours are too far apart to tell anything.


def neighbours(x: np.ndarray) -> np.ndarray:
    """The nearest other row of each row, every column measured in its own spread."""
    spread = x.std(axis=0)
    scaled = x[:, spread > 0] / spread[spread > 0]
    nearest = np.empty(len(x), int)
    for k, row in enumerate(scaled):
        distance = np.sum((scaled - row) ** 2, axis=1)
        distance[k] = np.inf
        nearest[k] = np.argmin(distance)
    return nearest


def agreement(values: np.ndarray, nearest: np.ndarray) -> float:
    """How often a value and that of its neighbour lie on the same side of the median: one half for noise.

    Only sides are compared, since a single value near a pole would outweigh all products of values.
    """
    above = values > np.median(values)
    return float(np.mean(above == above[nearest]))


def look_like_noise(
    residuals: np.ndarray, fitted: np.ndarray, nearest: np.ndarray, policy: ResidualPolicy = ResidualPolicy()
) -> bool:
    """Whether a neighbour knows nothing about the residuals, although neighbours do know about the fitted values."""
    chance = np.sqrt(0.25 * _PAIRING / len(residuals))
    return agreement(fitted, nearest) > policy.telling and agreement(residuals, nearest) < 0.5 + policy.bars * chance
