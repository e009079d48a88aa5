"""Starts of fits: the clear peaks of the data, plus randomly drawn other peaks and broad humps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ceql.templates.resonance import laws
from ceql.templates.resonance.model import Mode, ResonanceModel
from ceql.templates.resonance.peaks import Curves, Track

_BROADEST, _NARROWEST = 0.5, 0.02  # half widths of random humps, as a share of the band
_NUDGE = 1e-9
_BEYOND = 0.3  # how far outside the band a mode may be, as a share of the band


@dataclass(frozen=True, eq=False)
class Landscape:
    """What the data show before any fit: typical magnitudes and peaks."""

    frequency: np.ndarray
    typical: np.ndarray  # median magnitude over the curves
    columns: np.ndarray  # basis functions at the conditions
    price: np.ndarray  # price of each basis function
    clear: tuple[Track, ...]
    faint: tuple[Track, ...]
    free: bool = False  # whether the columns mark single curves, so that each has its own centres

    @cached_property
    def laws(self) -> dict[int, np.ndarray]:
        """The coefficients of the law suggested by each track's positions, by the identity of the track."""
        return {id(track): self._law(track) for track in (*self.clear, *self.faint)}

    def _law(self, track: Track) -> np.ndarray:
        if self.free:
            place = np.where(np.isfinite(track.position), track.position, np.nanmedian(track.position))
            # Offsets are never exactly zero, since a zero coefficient would be left out of the law.
            return np.concatenate([place[:1], place[1:] - place[0] + _NUDGE * place[0]])
        law = laws.choose(self.columns, track.position, self.price) if track.seen > 0.5 else ()
        return laws.coefficients(self.columns, track.position, law)


def survey(
    curves: Curves, columns: np.ndarray, price: np.ndarray, tracks: list[Track], most: int, free: bool = False
) -> Landscape:
    clear = tuple(track for track in tracks if track.is_clear)[:most]
    faint = tuple(track for track in tracks if not any(track is other for other in clear))
    typical = np.median(curves.magnitudes, axis=0)
    return Landscape(curves.frequency, typical, columns, price, clear, faint, free)


def draw(model: ResonanceModel, landscape: Landscape, rng: np.random.Generator, first: bool) -> list[Mode]:
    """Return the terms of a start. The first start has the strongest peaks and a single hump; the others vary."""
    free = model.most - len(landscape.clear)
    n_humps = min(1, free) if first else int(rng.integers(0, free + 1))
    chosen = [*landscape.clear, *_some(landscape.faint, free - n_humps, rng, first)]
    modes = [_at_peak(model, track, landscape, rng, first) for track in chosen]
    while len(modes) < model.most:
        modes.append(_hump(model, landscape, rng))
    return modes if model.form == "paper" else _with_signs(modes, rng, first)


def _with_signs(modes: list[Mode], rng: np.random.Generator, first: bool) -> list[Mode]:
    """Return modes with residues of equal sign (driven and measured at the same point), alternating or random signs."""
    order = np.argsort(np.argsort([mode.coefficients[0] for mode in modes]))
    patterns = (np.ones(len(modes)), (-1.0) ** order, rng.choice([-1.0, 1.0], len(modes)))
    signs = patterns[0 if first else rng.integers(len(patterns))]
    return [replace(mode, amplitude=complex(sign * mode.amplitude)) for mode, sign in zip(modes, signs, strict=True)]


def _some(tracks: tuple[Track, ...], count: int, rng: np.random.Generator, strongest: bool) -> list[Track]:
    weight = np.array([track.weight * track.seen for track in tracks])
    if strongest or len(tracks) <= count:
        return [tracks[k] for k in np.argsort(-weight, kind="stable")[:count]]
    chances = np.sqrt(weight) / np.sqrt(weight).sum()
    return [tracks[k] for k in rng.choice(len(tracks), count, replace=False, p=chances)]


def _at_peak(model: ResonanceModel, track: Track, landscape: Landscape, rng: np.random.Generator, plain: bool) -> Mode:
    half = track.half_width * (1.0 if plain else np.exp(rng.normal(0.0, 0.3)))
    centre = float(np.nanmedian(track.position))
    return _mode(model, landscape.laws[id(track)], centre, half, track.height, rng)


def _hump(model: ResonanceModel, landscape: Landscape, rng: np.random.Generator) -> Mode:
    band = landscape.frequency[-1] - landscape.frequency[0]
    beyond = _BEYOND * band if model.form == "modal" else 0.0
    centre = max(rng.uniform(landscape.frequency[0] - beyond, landscape.frequency[-1] + beyond), 0.02 * band)
    half = band * np.exp(rng.uniform(np.log(_NARROWEST), np.log(_BROADEST)))
    height = 0.5 * float(np.interp(centre, landscape.frequency, landscape.typical))
    coefficients = np.zeros(1 + landscape.columns.shape[1])
    coefficients[0] = centre
    return _mode(model, coefficients, centre, half, height, rng)


def _mode(
    model: ResonanceModel, coefficients: np.ndarray, centre: float, half: float, height: float, rng: np.random.Generator
) -> Mode:
    """Return a term of that half width and height, in the parameters of the model's form."""
    if model.form == "paper":
        return Mode(complex(height * half**2), coefficients, half)
    damping = min(half / centre, 0.5)
    residue = 2.0 * damping * height
    return Mode(complex(residue, 0.3 * residue * rng.normal()), coefficients, damping)
