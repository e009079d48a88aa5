"""Curves that the laws of the modes predict for a condition, whether measured or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ceql.frf.kinds import Kind
from ceql.frf.modal.dependence import ModeLaws
from ceql.frf.modal.repetitions import ConditionModes
from ceql.frf.modal.response import LinearPart, Response, pole_of, synthesised
from ceql.frf.modal.tracks import ModeTrack

_SMALLEST = 0.5  # least predicted damping, as a share of the smallest measured one
_MOST_SAMPLES = 30  # most repetitions of a condition that are averaged over
_SAME = 1e-9
_NEIGHBOURS = 2  # number of nearest conditions whose scatter is used for one that was not measured


@dataclass(frozen=True, eq=False)
class Deviations:
    """How repetitions of a condition differ from its mean: factors per mode (r, m), and per mode and point (r, m,
    p)."""

    condition: tuple[float, ...]
    frequency: np.ndarray
    damping: np.ndarray
    residues: np.ndarray  # factors on the residue of each point


@dataclass(frozen=True, eq=False)
class Predictor:
    """The modes with their laws, the residual terms for modes beyond the band, and the scatter between repetitions."""

    tracks: tuple[ModeTrack, ...]
    laws: dict[int, ModeLaws]
    rest: np.ndarray
    kind: Kind
    residuals: str
    deviations: tuple[Deviations, ...]

    def curves(self, frequency: np.ndarray, condition: Sequence[float]) -> np.ndarray:
        """The complex response (p, n) of the formula."""
        natural, damping, residues = self._modes(condition)
        return self._synthesised(frequency, natural, damping, residues)

    def mean_magnitude(self, frequency: np.ndarray, condition: Sequence[float]) -> np.ndarray:
        """The expected mean magnitude (p, n) of repetitions, whose peaks are widened by the scatter of the modes."""
        natural, damping, residues = self._modes(condition)
        total, count = np.zeros((residues.shape[1], len(frequency))), 0
        for d in self._neighbours(condition):
            for k in range(len(d.frequency)):
                moved = (natural * d.frequency[k], damping * d.damping[k], residues * d.residues[k])
                total += np.abs(self._synthesised(frequency, *moved))
            count += len(d.frequency)
        return total / max(count, 1)

    def _neighbours(self, condition: Sequence[float]) -> list[Deviations]:
        """The scatter of this condition, or of the nearest ones if it was not measured."""
        known = np.array([d.condition for d in self.deviations], dtype=float).reshape(len(self.deviations), -1)
        size = np.ptp(known, axis=0)
        distance = np.linalg.norm((known - np.asarray(condition, float)) / np.where(size > 0, size, 1.0), axis=1)
        order = np.argsort(distance, kind="stable")
        count = 1 if distance[order[0]] < _SAME else _NEIGHBOURS
        return [self.deviations[k] for k in order[:count]]

    def _modes(self, condition: Sequence[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        here = np.array([condition], dtype=float)
        own = [self.laws[track.number] for track in self.tracks]
        natural = np.array([law.frequency.at(here)[0] for law in own])
        least = [_SMALLEST * min(e.damping.value for e in track.estimates.values()) for track in self.tracks]
        damping = np.maximum([law.damping.at(here)[0] for law in own], least)  # laws may cross zero outside the data
        amplitude = np.maximum([law.amplitude.at(here)[0] for law in own], 0.0)
        shapes = np.array([track.shape for track in self.tracks]).reshape(len(own), self.rest.shape[1])
        return natural, damping, amplitude[:, None] * shapes

    def _synthesised(
        self, frequency: np.ndarray, natural: np.ndarray, damping: np.ndarray, residues: np.ndarray
    ) -> np.ndarray:
        p = residues.shape[1]
        grid = Response(
            frequency, np.zeros((p, len(frequency))), np.ones(len(frequency)), np.ones(p), self.kind, self.residuals
        )
        poles = pole_of(natural, np.minimum(damping, 0.99))
        return synthesised(grid, poles, LinearPart(residues, self.rest))


def deviations_of(tracks: Sequence[ModeTrack], found: Sequence[ConditionModes]) -> tuple[Deviations, ...]:
    """The deviations for each condition, from at most a fixed number of repetitions; 1 where one lacks a mode."""
    return tuple(_deviations(tracks, own) for own in found)


def _deviations(tracks: Sequence[ModeTrack], own: ConditionModes) -> Deviations:
    shape = (len(own.repetitions), len(tracks))
    frequency, damping = np.ones(shape), np.ones(shape)
    residues = np.ones((*shape, own.residues.shape[2]), dtype=complex)
    for k, track in enumerate(tracks):
        column = _column(own, track)
        if column is None:
            continue
        estimate = track.estimates[own.condition]
        frequency[:, k] = _or_one(own.frequency[:, column] / estimate.frequency.value)
        damping[:, k] = _or_one(own.damping[:, column] / estimate.damping.value)
        residues[:, k] = _ratio(own.residues[:, column], track.shape * estimate.amplitude.value)
    chosen = sorted({round(k) for k in np.linspace(0, shape[0] - 1, min(_MOST_SAMPLES, shape[0]))})
    return Deviations(own.condition, frequency[chosen], damping[chosen], residues[chosen])


def _column(own: ConditionModes, track: ModeTrack) -> int | None:
    estimate = track.estimates.get(own.condition)
    if estimate is None:
        return None
    middles = np.array([np.nanmean(c) if np.isfinite(c).any() else np.inf for c in own.frequency.T])
    return int(np.argmin(np.abs(middles - estimate.frequency.value)))


def _or_one(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, 1.0)


def _ratio(values: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The ratios of residues to their mean; 1 where the mean is too small for a meaningful ratio."""
    safe = np.abs(mean) > 0.1 * np.abs(mean).max() if mean.size else np.zeros(0, bool)
    ratio = values / np.where(safe, mean, 1.0)
    return np.where(np.isfinite(ratio) & safe & (np.abs(ratio) < 5.0), ratio, 1.0)
