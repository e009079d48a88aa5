"""Tests on residuals: are they noise, and do they grow with the values?

Noise in one row says nothing about noise in the next row, but what a formula misses has the same sign in neighbouring
rows. If residuals grow with the values, rows should not all have the same weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_PAIRING = 1.6  # neighbours are often mutual, so pairs are counted twice: the variance of the agreement grows by this


@dataclass(frozen=True)
class ResidualPolicy:
    """When residuals pass for noise."""

    bars: float = 2.0  # standard deviations by which the agreement of neighbours may exceed one half by chance
    telling: float = 0.65  # if fitted values agree less often than this, neighbours are too far apart for the test


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
    """Whether neighbours say nothing about the residuals, although they do say something about the fitted values."""
    chance = np.sqrt(0.25 * _PAIRING / len(residuals))
    return agreement(fitted, nearest) > policy.telling and agreement(residuals, nearest) < 0.5 + policy.bars * chance


@dataclass(frozen=True)
class GrowthPolicy:
    """When residuals count as growing with the values."""

    fewest: int = 12  # fewest rows for the test
    bars: float = 3.1  # significance of the rank correlation, in standard deviations: one chance in a thousand
    range: float = 3.0  # the large values must be this many times the small ones; otherwise growth matters little
    few: float = 0.1  # quantiles of the values, from either end, that count as small and as large
    rounding: float = 1e-9  # residuals below this share of the values are rounding, which always grows with them


GROWTH = GrowthPolicy()


def grow_with_values(residuals: np.ndarray, fitted: np.ndarray, policy: GrowthPolicy = GROWTH) -> bool:
    """Whether large values have larger residuals than small ones, more clearly than by chance."""
    sizes, errors = np.abs(fitted), np.abs(residuals)
    if len(sizes) < policy.fewest or not np.isfinite(errors).all():
        return False
    small, large = np.quantile(sizes, (policy.few, 1.0 - policy.few))
    if large < policy.range * small or np.median(errors) <= policy.rounding * np.median(sizes):
        return False
    one, other = (_ranks(values) for values in (sizes, errors))
    correlation = float(one @ other / (one @ one))
    return correlation * np.sqrt(len(sizes) - 1) > policy.bars


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks, less their mean."""
    return np.argsort(np.argsort(values, kind="stable"), kind="stable") - (len(values) - 1) / 2
