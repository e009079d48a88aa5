"""Finds the free factor that turns a list of coefficients into short decimals."""

from __future__ import annotations

import numpy as np

LARGEST_REFERENCE = 999
LARGEST_COEFFICIENT = 9999
DECIMALS = 100.0
LIKELY_CHANCE = 0.01
MOST_SCALES = 24


def short_scales(coefficients: list[float], accuracy: float) -> list[float]:
    """Positive factors s such that all s*coefficients are multiples of 0.01, fewest digits first.

    With few coefficients or a loose accuracy some factor always fits; those are left out, because
    such digits would say nothing about the formula.
    """
    values = np.array([value for value in coefficients if value], dtype=np.float64)
    if len(values) < 2 or not np.all(np.isfinite(values)):
        return []
    sizes = np.abs(values)
    steps = np.arange(1, LARGEST_REFERENCE + 1, dtype=np.float64)
    factors = steps / (DECIMALS * sizes.min())
    hundredths = factors[:, None] * sizes[None, :] * DECIMALS
    nearest = np.round(hundredths)
    fits = np.abs(hundredths - nearest) <= accuracy * nearest
    fits &= (nearest >= 1.0) & (nearest <= LARGEST_COEFFICIENT)
    # Expected number of smaller factors that would fit by luck, the reference always fitting.
    luck = np.sort(np.minimum(1.0, 2.0 * accuracy * nearest), axis=1)[:, 1:].prod(axis=1) * steps
    good = np.flatnonzero(np.all(fits, axis=1) & (luck <= LIKELY_CHANCE))
    ranked = sorted(good, key=lambda row: (_digits(nearest[row]), row))
    return [float(factors[row]) for row in ranked[:MOST_SCALES]]


def _digits(hundredths: np.ndarray) -> int:
    lengths = [len(str(int(value)).rstrip("0")) for value in hundredths]
    return writing_cost(lengths)


def writing_cost(lengths: list[int]) -> int:
    """Digits in all, plus a charge for the longest: 1.08 and 2.85 read better than 5.4 and 14.25."""
    return sum(lengths) + 2 * max(lengths, default=0)
