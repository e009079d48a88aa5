"""Modes followed over the conditions, with combined values for each condition and warning flags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ceql.frf.modal.matching import clusters, portrait
from ceql.frf.modal.policy import ModalPolicy
from ceql.frf.modal.repetitions import Combined, ConditionModes, combined
from ceql.frf.modal.response import pole_of
from ceql.frf.modal.shapes import collinearity, contribution
from ceql.frf.modes import Flag

_TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Estimate:
    """One mode under one condition. `amplitude` is the size of its residue at the point where the mode is strongest."""

    condition: tuple[float, ...]
    frequency: Combined
    damping: Combined
    amplitude: Combined
    residues: np.ndarray  # (p,), mean over the repetitions
    collinearity: float
    share: float  # share of the explored repetitions that show it
    recurrence: float  # share of the model orders that show it
    flags: tuple[Flag, ...]


@dataclass(frozen=True, eq=False)
class ModeTrack:
    """One mode over all conditions that show it, with its common shape (p,), whose largest entry is one."""

    number: int
    estimates: dict[tuple[float, ...], Estimate]
    shape: np.ndarray
    strongest: int

    @property
    def frequency(self) -> float:
        return float(np.median([own.frequency.value for own in self.estimates.values()]))

    @property
    def is_sound(self) -> bool:
        """Whether at least half of its estimates have no flag other than faint."""
        sound = [not set(own.flags) - {Flag.FAINT} for own in self.estimates.values()]
        return sum(sound) * 2 >= len(sound)


def tracks_of(found: Sequence[ConditionModes], policy: ModalPolicy, grids: Sequence[np.ndarray]) -> list[ModeTrack]:
    """Corresponding modes of all conditions, ordered by frequency."""
    portraits = []
    for own in found:
        frequency, damping = _middle(own.frequency), _middle(own.damping)
        portraits.append(portrait(pole_of(frequency, damping), np.nan_to_num(_mean(own.residues))))
    joined = clusters(portraits, policy.moves)
    tracks = [_track(member, found, policy, grids) for member in joined]
    tracks.sort(key=lambda track: track.frequency)
    power = found[0].fits[0].response.power if found else 0
    highest = max((height(own, power) for t in tracks for own in t.estimates.values() if not own.flags), default=0.0)
    return [_numbered(track, k + 1, policy.faint * highest, power) for k, track in enumerate(tracks)]


def _middle(values: np.ndarray) -> np.ndarray:
    known = np.where(np.isfinite(values), values, np.nan)
    return np.array([np.nanmedian(column) if np.isfinite(column).any() else 1.0 for column in known.T])


def _mean(residues: np.ndarray) -> np.ndarray:
    known = np.isfinite(residues)
    return np.where(known, residues, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def _track(
    member: dict[int, int], found: Sequence[ConditionModes], policy: ModalPolicy, grids: Sequence[np.ndarray]
) -> ModeTrack:
    means = {place: _mean(found[place].residues[:, mode]) for place, mode in member.items()}
    reference = max(means.values(), key=lambda shape: float(np.linalg.norm(shape)))
    aligned = [shape / q for shape in means.values() if (q := contribution(shape, reference)) != 0]
    shape = np.mean(aligned, axis=0) if aligned else reference
    strongest = int(np.argmax(np.abs(shape)))
    shape = shape / abs(shape[strongest]) if abs(shape[strongest]) > 0 else shape
    estimates = {
        found[place].condition: _estimate(found[place], mode, shape, means[place], policy, grids[place])
        for place, mode in member.items()
    }
    return ModeTrack(0, estimates, shape, strongest)


def _estimate(
    own: ConditionModes, mode: int, shape: np.ndarray, residues: np.ndarray, policy: ModalPolicy, grid: np.ndarray
) -> Estimate:
    frequency = combined(own.frequency[:, mode], own.frequency_error[:, mode])
    damping = combined(own.damping[:, mode], own.damping_error[:, mode], skewed=True)
    sizes = np.array(
        [abs(contribution(row, shape)) if np.isfinite(row).all() else np.nan for row in own.residues[:, mode]]
    )
    relative = own.damping_error[:, mode] / np.maximum(own.damping[:, mode], _TINY)
    amplitude = combined(sizes, sizes * relative)  # a residue is determined about as well as the width of its peak
    recurrence = _recurrence(own, mode, policy)
    share = float(own.share[mode])
    # judged by single fits, since values that scatter between repetitions are still determined
    unknown = float(np.nanmedian(relative)) if np.isfinite(relative).any() else np.inf
    flags = _flags(frequency.value, damping.value, unknown, share, recurrence, grid, policy)
    return Estimate(
        own.condition, frequency, damping, amplitude, residues, collinearity(residues), share, recurrence, flags
    )


def _recurrence(own: ConditionModes, mode: int, policy: ModalPolicy) -> float:
    """The median share of model orders that show the mode in the diagrams of the explored repetitions."""
    places = zip(own.fits, own.frequency[:, mode], strict=True)
    shares = [fit.diagram.recurrence(f, policy) for fit, f in places if fit.diagram is not None and np.isfinite(f)]
    return float(np.median(shares)) if shares else 0.0


def _flags(
    frequency: float,
    damping: float,
    unknown: float,
    share: float,
    recurrence: float,
    grid: np.ndarray,
    policy: ModalPolicy,
) -> tuple[Flag, ...]:
    """Reasons to distrust a mode; `unknown` is the relative standard error of the damping in a single measurement."""
    step = float(np.median(np.diff(grid)))
    reasons = {
        Flag.OUT_OF_BAND: not grid[0] <= frequency <= grid[-1],
        Flag.NARROW: damping * frequency < policy.narrow * step,
        Flag.BROAD: damping > policy.background,
        Flag.UNDETERMINED: unknown >= policy.undetermined,
        Flag.SELDOM: share < policy.often,
        Flag.UNSTABLE: recurrence < policy.stable_share and unknown >= policy.certain,
    }
    return tuple(flag for flag, holds in reasons.items() if holds)


def height(own: Estimate, power: int) -> float:
    """The height of the mode's peak at the point where it is strongest, in the unit of the curves."""
    return own.amplitude.value * own.frequency.value ** (power - 2) / max(2.0 * own.damping.value, _TINY)


def _numbered(track: ModeTrack, number: int, least: float, power: int) -> ModeTrack:
    estimates = {}
    for condition, own in track.estimates.items():
        faint = (Flag.FAINT,) if height(own, power) < least else ()
        estimates[condition] = replace(own, flags=(*own.flags, *faint))
    return replace(track, number=number, estimates=estimates)
