"""Confidence intervals for rates over a few runs."""

from __future__ import annotations

CONFIDENCE = 0.95


def wilson(hits: int, runs: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's interval for a rate."""
    from scipy.stats import binomtest

    interval = binomtest(hits, runs).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


def counted(hits: int, runs: int) -> str:
    """The number of successful runs and Wilson's interval for their share, as in `17 of 20 (0.64-0.95)`."""
    if not runs:
        return "–"
    low, high = wilson(hits, runs)
    return f"{hits} of {runs} ({low:.2f}–{high:.2f})"
