"""Combines single recordings into one set of measurements: one scale, one kind, one unit, one frequency grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np

from ceql.errors import InputError
from ceql.frf.curve import ReadOptions, Recording, Scale, recording_at
from ceql.frf.kinds import Kind
from ceql.frf.labels import VARIABLE, Label, check_names
from ceql.frf.measurements import Measurements

Labelled = tuple[Recording, Label]
_SAME_GRID = 1e-6  # share of the largest step by which equal grids may differ
_GAP = 1.5  # a step this many times as long as both of its neighbours is a gap
ASSUMED = Kind.ACCELERANCE


class Grid(StrEnum):
    """What to do when curves have different frequencies, or gaps."""

    REFUSE = "refuse"
    INTERPOLATE = "interpolate"


def assemble(
    labelled: Sequence[Labelled],
    options: ReadOptions,
    grid: Grid = Grid.REFUSE,
    band: tuple[float, float] | None = None,
) -> tuple[Measurements, list[str]]:
    """The measurements of one point, and sentences about what was assumed."""
    notes: list[str] = []
    check_one_point([recording for recording, _ in labelled])
    recordings = one_scale([recording for recording, _ in labelled], options.scale, notes.append)
    kind = one_kind(recordings, options.kind, notes.append)
    by_unit = {r.unit: r.source for r in recordings if r.unit}
    if len(by_unit) > 1:
        words = ", ".join(f"{source} is in {unit}" for unit, source in by_unit.items())
        raise InputError(f"Mixed units: {words}. Convert them to one unit.")
    if band is not None:
        recordings = [within(recording, band) for recording in recordings]
    frequency, curves = one_grid(recordings, grid, notes.append)
    labels = [label for _, label in labelled]
    names, conditions = conditions_of(recordings, labels)
    repetitions = _repetitions(recordings, labels, conditions)
    if len(np.unique(conditions, axis=0)) == 1:
        notes.append(
            "There is only one condition: every h is a constant, and nothing can be said about how resonances move."
        )
    unit = options.unit or next(iter(by_unit), "")
    found = Measurements(frequency, curves, conditions, names, repetitions, kind, unit)
    return found.rows(np.lexsort((repetitions, *conditions.T[::-1]))), notes


def check_one_point(recordings: Sequence[Recording]) -> None:
    """Raises `InputError` if the recordings belong to several points, which are not repetitions of each other."""
    points = list(dict.fromkeys(recording.point for recording in recordings if recording.point))
    if len(points) > 1:
        raise InputError(
            f"{recordings[0].source} and what was read with it hold {len(points)} points, and this form describes one: "
            f"fit them together with --form modes, or choose one with --channel NAME, with NAME one of "
            f"{', '.join(points[:12])}{', ...' if len(points) > 12 else ''}."
        )


def one_scale(recordings: Sequence[Recording], said: Scale, note: Callable[[str], None]) -> list[Recording]:
    unsaid = [r for r in recordings if r.scale == Scale.UNSAID]
    negative = [bool((r.magnitude < 0).any()) for r in unsaid]
    scale = said
    if scale == Scale.UNSAID and unsaid:
        if any(negative) and not all(negative):
            raise InputError(
                f"Mixed units: {unsaid[negative.index(True)].source} has negative magnitudes, so it is in dB, while "
                f"{unsaid[negative.index(False)].source} has none and may be linear. Use --magnitude db or "
                "--magnitude linear, or write the unit into the header: Magnitude (dB)."
            )
        scale = Scale.DECIBEL if any(negative) else Scale.LINEAR
        note(
            f"Magnitudes are taken as {'dB, as some are negative' if any(negative) else 'linear, as none is negative'}."
        )
    scaled = [replace(r, scale=scale) if r.scale == Scale.UNSAID else r for r in recordings]
    for recording in scaled:
        if recording.scale == Scale.LINEAR and (recording.magnitude < 0).any():
            raise InputError(
                f"{recording.source}: a linear magnitude cannot be negative. If it is in dB, use --magnitude db."
            )
    return scaled


def one_kind(recordings: Sequence[Recording], said: Kind | None, note: Callable[[str], None]) -> Kind:
    by_kind = {r.kind: r.source for r in recordings if r.kind is not None}
    if said is not None:
        by_kind.setdefault(said, "--kind")
    if len(by_kind) > 1:
        words = ", ".join(f"{source} says {kind.value}" for kind, source in by_kind.items())
        raise InputError(f"Mixed FRF types: {words}. Read them separately, or convert them to one type.")
    if not by_kind:
        note(f"The files do not name their FRF type: {ASSUMED.value} is assumed (change this with --kind).")
    return next(iter(by_kind), ASSUMED)


def within(recording: Recording, band: tuple[float, float]) -> Recording:
    inside = (recording.frequency >= band[0]) & (recording.frequency <= band[1])
    if inside.sum() < 3:
        raise InputError(
            f"{recording.source}: between {band[0]:g} and {band[1]:g} Hz there are {inside.sum()} frequencies; "
            f"it reaches from {recording.frequency[0]:g} to {recording.frequency[-1]:g} Hz."
        )
    return recording_at(recording, inside)


def one_grid(recordings: Sequence[Recording], grid: Grid, note: Callable[[str], None]) -> tuple[np.ndarray, np.ndarray]:
    values = [recording.values() for recording in recordings]
    if any(np.iscomplexobj(v) for v in values) and not all(np.iscomplexobj(v) for v in values):
        note("Some files hold no phase: only magnitudes are used.")
        values = [np.abs(v) for v in values]
    first = recordings[0]
    other = next((r for r in recordings if not _same(first.frequency, r.frequency)), None)
    holes = gaps(first.frequency)
    if other is None and not len(holes):
        return first.frequency, np.stack(values)
    if grid == Grid.REFUSE:
        raise InputError(_why_not(first, other, holes))
    common = _common(recordings)
    note(f"Curves were interpolated linearly onto {len(common)} frequencies from {common[0]:g} to {common[-1]:g} Hz.")
    return common, np.stack([np.interp(common, r.frequency, v) for r, v in zip(recordings, values, strict=True)])


def _why_not(first: Recording, other: Recording | None, holes: np.ndarray) -> str:
    if other is not None:
        words = [
            f"{r.source} has {len(r.frequency)} points from {r.frequency[0]:g} to {r.frequency[-1]:g} Hz"
            for r in (first, other)
        ]
        return (
            f"Unequal frequency grids: {', '.join(words)}. Curves are interpolated only on request: use --grid "
            "interpolate, or leave files out."
        )
    low, high = first.frequency[holes[0]], first.frequency[holes[0] + 1]
    return (
        f"{first.source} has a gap between {low:g} and {high:g} Hz. Bridge it with --grid interpolate, or choose a "
        "--band beside it."
    )


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return len(a) == len(b) and bool(np.abs(a - b).max() <= _SAME_GRID * np.diff(a).max())


def gaps(frequency: np.ndarray) -> np.ndarray:
    """Where a step is longer than both of its neighbours; grids that grow steadily have no gaps."""
    steps = np.diff(frequency)
    if len(steps) < 3:
        return np.zeros(0, dtype=int)
    padded = np.concatenate(([steps[1]], steps, [steps[-2]]))
    return np.flatnonzero(steps > _GAP * np.maximum(padded[:-2], padded[2:]))


def _common(recordings: Sequence[Recording]) -> np.ndarray:
    """The finest grid in the range that all curves cover, with its gaps filled, so that coarser curves lose nothing."""
    low = max(r.frequency[0] for r in recordings)
    high = min(r.frequency[-1] for r in recordings)
    inside = [r.frequency[(r.frequency >= low) & (r.frequency <= high)] for r in recordings]
    finest = max(inside, key=len)
    if low >= high or len(finest) < 3:
        raise InputError(
            f"The curves have no frequencies in common: the highest begins at {low:g} Hz, the lowest ends at {high:g} "
            "Hz."
        )
    step = float(np.median(np.diff(finest)))
    filled = [finest]
    for k in gaps(finest):
        count = round(float(finest[k + 1] - finest[k]) / step)
        filled.append(np.linspace(finest[k], finest[k + 1], count + 1)[1:-1])
    return np.sort(np.concatenate(filled))


def conditions_of(recordings: Sequence[Recording], labels: Sequence[Label]) -> tuple[tuple[str, ...], np.ndarray]:
    rows = [{**label.conditions, **r.conditions} for r, label in zip(recordings, labels, strict=True)]
    names = tuple(rows[0])
    check_names(names)
    for recording, row in zip(recordings, rows, strict=True):
        if set(row) != set(names):
            missing = sorted(set(names) ^ set(row))
            raise InputError(
                f"{recording.source}: its conditions are {', '.join(row) or '(none)'}, those of "
                f"{recordings[0].source} are {', '.join(names) or '(none)'}: {', '.join(missing)} is missing in one "
                "of them."
            )
    if not names:
        return (VARIABLE,), np.zeros((len(rows), 1))
    return names, np.array([[row[name] for name in names] for row in rows], dtype=float)


def _repetitions(recordings: Sequence[Recording], labels: Sequence[Label], conditions: np.ndarray) -> np.ndarray:
    """Repetition numbers from files or names, or by the order of files if these are not unique within a condition."""
    given = [(r.repetition, label.repetition) for r, label in zip(recordings, labels, strict=True)]
    numbers = np.array([next((number for number in pair if number is not None), -1) for pair in given])
    _, member = np.unique(conditions, axis=0, return_inverse=True)
    for k in np.unique(member):
        own = member.reshape(-1) == k
        if (numbers[own] < 0).any() or len(set(numbers[own])) < own.sum():
            numbers[own] = np.arange(1, own.sum() + 1)
    return numbers
