"""The terms of a fitted formula as modes: frequency, damping, amplitude and Q for every condition, with warning
flags."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

_RECURS = 0.5  # share of the starts that find a genuine pole
_NEAR = 0.01  # poles of two starts this close, relative to their frequency, are the same
_FAINT = 0.01  # a peak below this share of the largest one hardly affects the fit
_OVERDAMPED = 0.3  # beyond this ratio a term is a slope of the background rather than a resonance


class Flag(StrEnum):
    """Reasons to mistrust a pole."""

    OUT_OF_BAND = "out of band"
    NARROW = "narrower than the grid"
    BROAD = "background rather than a resonance"
    FAINT = "faint"
    CANCELS = "cancels a neighbour"
    RARE = "found in few starts"
    UNDETERMINED = "not determined"
    SELDOM = "found in few repetitions"
    UNSTABLE = "found in few model orders"


@dataclass(frozen=True)
class Mode:
    """One term under one condition; frequencies in Hz. Errors are standard errors, None if unknown.

    The error of the frequency is that of the constant term in the formula of the centre.
    """

    term: int
    condition: tuple[float, ...]
    frequency_hz: float
    frequency_error_hz: float | None
    damping_ratio: float
    damping_error: float | None
    amplitude: float
    amplitude_error: float | None
    q: float
    flags: tuple[Flag, ...]

    @property
    def flags_in_words(self) -> str:
        return ", ".join(self.flags)


def modes_of(fit: Any, levels: np.ndarray, grid_hz: np.ndarray, hertz: float) -> list[Mode]:
    """Every term of a fit at every level. `hertz` is the fit's unit of frequency in Hz."""
    centres = np.array([np.broadcast_to(term.centre_at(levels), len(levels)) for term in fit.terms]) * hertz
    modal, widths = fit.form == "modal", [float(term.width) for term in fit.terms]
    of_terms = zip(widths, centres / hertz, strict=True)
    ratios = np.array([np.full(len(h), g) if modal else equivalent_damping(g, h) for g, h in of_terms])
    flags = _flags(fit, centres, ratios, grid_hz, hertz)
    found = []
    for k, term in enumerate(fit.terms):
        errors = standard_errors(term)
        of_centre, of_width = errors.get("centre"), errors.get("width")
        for j, level in enumerate(levels):
            ratio = float(ratios[k, j])
            of_ratio = of_width
            if not modal and of_width is not None:  # the ratio is proportional to the root of the width
                of_ratio = ratio * of_width / (2.0 * widths[k]) if widths[k] > 0 else None
            found.append(
                Mode(
                    term=k + 1,
                    condition=tuple(map(float, level)),
                    frequency_hz=float(centres[k, j]),
                    frequency_error_hz=None if of_centre is None else of_centre * hertz,
                    damping_ratio=ratio,
                    damping_error=of_ratio,
                    amplitude=float(abs(term.amplitude)),
                    amplitude_error=errors.get("amplitude"),
                    q=1.0 / (2.0 * ratio) if ratio > 0 else math.inf,
                    flags=tuple(flags[k][j]),
                )
            )
    return found


def equivalent_damping(width: float, centre: np.ndarray) -> np.ndarray:
    """The damping ratio of the mode whose peak has the same half-height width as A/((w - h)² + width).

    That term falls to half its height at |w - h| = sqrt(width); the magnitude of a lightly damped mode at sqrt(3) z h.
    """
    return np.sqrt(max(width, 0.0)) / (math.sqrt(3.0) * np.maximum(np.abs(centre), np.finfo(float).tiny))


def recurrence(poles_over_starts: Sequence[np.ndarray], centres: np.ndarray) -> float:
    """The share of the starts that found a pole within the range of these centres."""
    if not len(poles_over_starts):
        return 1.0
    low, high = (1.0 - _NEAR) * float(np.min(centres)), (1.0 + _NEAR) * float(np.max(centres))
    hits = [bool(np.any((np.asarray(poles) >= low) & (np.asarray(poles) <= high))) for poles in poles_over_starts]
    return float(np.mean(hits))


def standard_errors(term: Any) -> dict[str, float]:
    """The known standard errors, in the units of the formula."""
    errors = {name: float(getattr(term, f"{name}_error")) for name in ("centre", "amplitude", "width")}
    return {name: error for name, error in errors.items() if math.isfinite(error)}


def _flags(
    fit: Any, centres: np.ndarray, ratios: np.ndarray, grid_hz: np.ndarray, hertz: float
) -> list[list[list[Flag]]]:
    step, tiny = float(np.median(np.diff(grid_hz))), np.finfo(float).tiny
    amplitudes = np.array([complex(term.amplitude) for term in fit.terms])
    sharpness = 2.0 * ratios if fit.form == "modal" else np.array([[float(term.width)] for term in fit.terms])
    heights = np.broadcast_to(np.abs(amplitudes)[:, None] / np.maximum(sharpness, tiny), ratios.shape)
    reasons = {
        Flag.OUT_OF_BAND: ~((centres >= grid_hz[0]) & (centres <= grid_hz[-1])),
        Flag.NARROW: ratios * np.abs(centres) < step / 2.0,
        Flag.BROAD: ratios > _OVERDAMPED,
    }
    sound = ~np.any(list(reasons.values()), axis=0)
    highest = heights[sound].max(initial=0.0)  # a pole outside the band may have any height
    poles = [np.asarray(found) * hertz for found in fit.poles_over_starts]
    rare = [recurrence(poles, centre) < _RECURS for centre in centres]
    reasons |= {
        Flag.FAINT: heights.max(axis=1, keepdims=True) < _FAINT * highest,
        Flag.CANCELS: _cancel(amplitudes, centres, ratios * centres, heights)[:, None],
        Flag.RARE: np.array(rare)[:, None],
    }
    holds = {flag: np.broadcast_to(where, ratios.shape) for flag, where in reasons.items()}
    return [[[f for f in holds if holds[f][k, j]] for j in range(ratios.shape[1])] for k in range(len(ratios))]


def _cancel(amplitudes: np.ndarray, centres: np.ndarray, widths: np.ndarray, heights: np.ndarray) -> Any:
    """For each term, whether one of opposite sign and similar height lies within its width."""
    opposed = np.real(np.outer(amplitudes, np.conj(amplitudes))) < 0
    close = np.abs(centres[:, None] - centres) < np.maximum(widths[:, None], widths)
    alike = np.abs(heights[:, None] - heights) < 0.5 * np.maximum(heights[:, None], heights)
    return np.any(opposed & np.all(close & alike, axis=-1), axis=1)
