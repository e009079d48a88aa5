"""The terms of a fitted formula as modes: frequency, damping ratio, amplitude and Q for every condition, with flags."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

_RECURS = 0.5  # share of the starts in which a real pole is found again
_NEAR = 0.01  # poles of two starts this close, relative to their frequency, are the same
_FAINT = 0.01  # a peak below this share of the largest one is hardly seen by the fit
_OVERDAMPED = 0.3  # beyond this ratio a term is a slope of the background rather than a resonance


class Flag(StrEnum):
    """Reasons to mistrust a pole."""

    OUT_OF_BAND = "out of band"
    NARROW = "narrower than the grid"
    BROAD = "background rather than a resonance"
    FAINT = "faint"
    CANCELS = "cancels a neighbour"
    RARE = "found in few starts"


@dataclass(frozen=True)
class Mode:
    """One term under one condition; frequencies in Hz. The errors are standard errors, None where unknown.

    That of the frequency is the error of the constant in the law of the centre.
    """

    term: int
    condition: tuple[float, ...]
    frequency_hz: float
    damping_ratio: float
    amplitude: float
    q: float
    frequency_error_hz: float | None
    damping_error: float | None
    amplitude_error: float | None
    flags: tuple[Flag, ...]


def modes_of(fit: Any, levels: np.ndarray, grid_hz: np.ndarray, hertz: float) -> list[Mode]:
    """Every term of a fit at every level. `hertz` is the size of the fit's unit of frequency in Hz."""
    centres = np.array([np.broadcast_to(term.centre_at(levels), len(levels)) for term in fit.terms]) * hertz
    ratios = np.array(
        [_ratios(fit.form, term, centre / hertz) for term, centre in zip(fit.terms, centres, strict=True)]
    )
    flags = _flags(fit, centres, ratios, grid_hz, hertz)
    found = []
    for k, term in enumerate(fit.terms):
        errors = standard_errors(term)
        for j, level in enumerate(levels):
            ratio = float(ratios[k, j])
            found.append(
                Mode(
                    term=k + 1,
                    condition=tuple(map(float, level)),
                    frequency_hz=float(centres[k, j]),
                    damping_ratio=ratio,
                    amplitude=float(abs(term.amplitude)),
                    q=1.0 / (2.0 * ratio) if ratio > 0 else math.inf,
                    frequency_error_hz=_scaled(errors.get("centre"), hertz),
                    damping_error=_ratio_error(fit.form, term, ratio, errors),
                    amplitude_error=errors.get("amplitude"),
                    flags=tuple(flags[k][j]),
                )
            )
    return found


def equivalent_damping(width: float, centre: np.ndarray) -> np.ndarray:
    """The damping ratio of the mode whose peak is as wide, at half its height, as A/((w - h)² + width).

    That term falls to half at |w - h| = sqrt(width); the magnitude of a lightly damped mode does so at sqrt(3) z h.
    """
    return np.sqrt(max(width, 0.0)) / (math.sqrt(3.0) * np.maximum(np.abs(centre), np.finfo(float).tiny))


def recurrence(poles_over_starts: Sequence[np.ndarray], centres: np.ndarray) -> float:
    """The share of the starts that found a pole where this one lies under some condition."""
    if not len(poles_over_starts):
        return 1.0
    low, high = (1.0 - _NEAR) * float(np.min(centres)), (1.0 + _NEAR) * float(np.max(centres))
    hits = [bool(np.any((np.asarray(poles) >= low) & (np.asarray(poles) <= high))) for poles in poles_over_starts]
    return float(np.mean(hits))


def standard_errors(term: Any) -> dict[str, float]:
    """The errors that are known, in the units of the formula."""
    errors = {name: float(getattr(term, f"{name}_error")) for name in ("centre", "amplitude", "width")}
    return {name: error for name, error in errors.items() if math.isfinite(error)}


def _ratios(form: str, term: Any, centre: np.ndarray) -> np.ndarray:
    if form == "modal":
        return np.full(len(centre), float(term.width))
    return equivalent_damping(float(term.width), centre)


def _ratio_error(form: str, term: Any, ratio: float, errors: Mapping[str, float]) -> float | None:
    error = errors.get("width")
    if form == "modal" or error is None:
        return error
    return ratio * error / (2.0 * float(term.width)) if term.width > 0 else None  # the ratio goes with the root of it


def _scaled(error: float | None, factor: float) -> float | None:
    return None if error is None else error * factor


def _flags(
    fit: Any, centres: np.ndarray, ratios: np.ndarray, grid_hz: np.ndarray, hertz: float
) -> list[list[list[Flag]]]:
    step = float(np.median(np.diff(grid_hz)))
    heights = np.array([_height(fit.form, term, ratio) for term, ratio in zip(fit.terms, ratios, strict=True)])
    within = [
        [not _at(c, r, grid_hz, step) for c, r in zip(*row, strict=True)] for row in zip(centres, ratios, strict=True)
    ]
    highest = heights[np.array(within)].max(initial=0.0)  # a pole beyond the band may be of any height
    found = []
    for k, (centre, ratio) in enumerate(zip(centres, ratios, strict=True)):
        share = recurrence([np.asarray(p) * hertz for p in fit.poles_over_starts], centre)
        shared = [Flag.FAINT] if heights[k].max() < _FAINT * highest else []
        shared += [Flag.CANCELS] if _has_opposite(fit, centres, ratios, heights, k) else []
        shared += [Flag.RARE] if share < _RECURS else []
        found.append([_at(c, r, grid_hz, step) + shared for c, r in zip(centre, ratio, strict=True)])
    return found


def _at(centre: float, ratio: float, grid_hz: np.ndarray, step: float) -> list[Flag]:
    flags = [] if grid_hz[0] <= centre <= grid_hz[-1] else [Flag.OUT_OF_BAND]
    if ratio * abs(centre) < step / 2.0:
        flags.append(Flag.NARROW)
    if ratio > _OVERDAMPED:
        flags.append(Flag.BROAD)
    return flags


def _height(form: str, term: Any, ratio: np.ndarray) -> np.ndarray:
    """The height of the peak that a term makes by itself."""
    amplitude = float(abs(term.amplitude))
    tiny = np.finfo(float).tiny
    return amplitude / np.maximum(2.0 * ratio, tiny) if form == "modal" else np.full(
        len(ratio), amplitude / max(float(term.width), tiny)
    )  # fmt: skip


def _has_opposite(fit: Any, centres: np.ndarray, ratios: np.ndarray, heights: np.ndarray, k: int) -> bool:
    """Whether another term of the opposite sign sits within this one's width and is about as high."""
    for other in range(len(fit.terms)):
        if other == k:
            continue
        close = np.abs(centres[k] - centres[other]) < np.maximum(ratios[k] * centres[k], ratios[other] * centres[other])
        alike = np.abs(heights[k] - heights[other]) < 0.5 * np.maximum(heights[k], heights[other])
        opposed = np.real(fit.terms[k].amplitude * np.conj(fit.terms[other].amplitude)) < 0
        if opposed and bool((close & alike).all()):
            return True
    return False
