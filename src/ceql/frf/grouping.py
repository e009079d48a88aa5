"""Decides which recordings are points of one structure and which are repetitions of one point, and forms sets of
points.

This follows from file headers, words in file names, or the option `--numbers`. If none of these decides, curves of
similar shape count as repetitions and others as points, and a note tells what was assumed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePath

import numpy as np

from ceql.errors import InputError
from ceql.frf.curve import ReadOptions, Recording
from ceql.frf.joining import Grid, Labelled, conditions_of, one_grid, one_kind, one_scale, within
from ceql.frf.kinds import UNITS
from ceql.frf.labels import POINT_WORDS, Label
from ceql.frf.modal.sets import PointSet, Survey

NUMBERS = ("auto", "points", "repetitions")
_REPETITION_WORDS = re.compile(
    r"(?<![a-z])(?:rep|repetition|run|trial|hit|meas|measurement|test|avg|sample)[\W_]*\d", re.I
)
_ALIKE = 0.9  # least correlation in dB of curves with similar shape
_MOST_COMPARED = 8


def with_roles(labelled: Sequence[Labelled], numbers: str) -> list[Labelled]:
    """Applies `--numbers`: all recordings become points, or all become repetitions, or they keep their points."""
    if numbers == "repetitions":
        return [(replace(recording, point=""), replace(label, point="")) for recording, label in labelled]
    if numbers == "points":
        return [_as_point(recording, label) for recording, label in labelled]
    return [(replace(r, point=r.point or label.point), label) for r, label in labelled]


def gathered(
    labelled: Sequence[Labelled],
    options: ReadOptions,
    numbers: str = "auto",
    grid: Grid = Grid.REFUSE,
    band: tuple[float, float] | None = None,
) -> tuple[Survey, list[str]]:
    """The sets of points, and sentences about what was assumed."""
    notes: list[str] = []
    recordings = one_scale([recording for recording, _ in labelled], options.scale, notes.append)
    kind = one_kind(recordings, options.kind, notes.append)
    without = next((r for r in recordings if r.phase is None), None)
    if without is not None:
        raise InputError(
            f"{without.source} holds no phase, and a modal analysis needs it: export magnitude and phase or real and "
            "imaginary parts, or fit the magnitudes with --form paper or --form modal."
        )
    recordings = [_above_zero(within(r, band) if band is not None else r) for r in recordings]
    pairs = [(r, label) for r, (_, label) in zip(recordings, labelled, strict=True)]
    names, conditions = conditions_of(recordings, [label for _, label in labelled])
    keys = [tuple(map(float, row)) for row in conditions]
    pairs = _decided(with_roles(pairs, numbers), keys, numbers, notes.append)
    sets, points = _sets(pairs, keys, grid, notes.append)
    units = {r.unit for r in recordings if r.unit}
    if len(units) > 1:
        raise InputError(f"Mixed units: {', '.join(sorted(units))}. Convert them to one unit.")
    unit = options.unit or next(iter(units), "") or (UNITS[kind] if options.kind else "")
    return Survey(tuple(sets), points, names, kind, unit), notes


def _as_point(recording: Recording, label: Label) -> Labelled:
    name = recording.point or label.point or ("" if label.repetition is None else str(label.repetition))
    return replace(recording, point=name or PurePath(recording.source).stem), replace(label, repetition=None)


def _above_zero(recording: Recording) -> Recording:
    """The recording without 0 Hz, where nothing moves and dividing by the frequency fails."""
    from ceql.frf.curve import recording_at

    return recording_at(recording, recording.frequency > 0) if (recording.frequency <= 0).any() else recording


def _decided(
    pairs: list[Labelled], keys: Sequence[tuple[float, ...]], numbers: str, note: Callable[[str], None]
) -> list[Labelled]:
    """Decides whether recordings without a point that share a condition are points or repetitions."""
    most = max(keys.count(key) for key in set(keys))
    if numbers != "auto" or any(r.point for r, _ in pairs) or most == 1:
        return pairs
    names = [PurePath(r.source.split(",")[0]).stem for r, _ in pairs]
    if all(POINT_WORDS.search(name) for name in names):
        note("The numbers in the file names are taken as points (change this with --numbers repetitions).")
        return [_as_point(*pair) for pair in pairs]
    if all(_REPETITION_WORDS.search(name) for name in names):
        return pairs
    key = max(set(keys), key=keys.count)
    alike = likeness([r for (r, _), own in zip(pairs, keys, strict=True) if own == key])
    agree = alike >= _ALIKE
    words = f"Nothing says whether the {most} files of a condition are points or repetitions; their curves "
    if agree:
        note(
            f"{words}agree (correlation {alike:.2f} in dB), so they are taken as repetitions (change this with "
            "--numbers points)."
        )
        return pairs
    note(
        f"{words}differ (correlation {alike:.2f} in dB), so they are taken as points (change this with --numbers "
        "repetitions)."
    )
    return [_as_point(*pair) for pair in pairs]


def likeness(recordings: Sequence[Recording]) -> float:
    """The median correlation between curves in dB, computed for some of them."""
    chosen = sorted({round(k) for k in np.linspace(0, len(recordings) - 1, min(_MOST_COMPARED, len(recordings)))})
    some = [recordings[k] for k in chosen]
    low, high = max(r.frequency[0] for r in some), min(r.frequency[-1] for r in some)
    grid = some[0].frequency[(some[0].frequency >= low) & (some[0].frequency <= high)]
    if len(grid) < 3:
        return 0.0
    levels = []
    for recording in some:
        magnitude = np.abs(recording.values())
        floor = max(1e-12 * float(magnitude.max()), np.finfo(float).tiny)
        levels.append(np.interp(grid, recording.frequency, 20.0 * np.log10(np.maximum(magnitude, floor))))
    correlation = np.corrcoef(np.array(levels))
    return float(np.median(correlation[np.triu_indices(len(levels), 1)]))


def _sets(
    pairs: Sequence[Labelled], keys: Sequence[tuple[float, ...]], grid: Grid, note: Callable[[str], None]
) -> tuple[list[PointSet], tuple[str, ...]]:
    """Sets of the recordings with the same condition and repetition; a repeated point belongs to the next
    repetition."""
    members: dict[tuple[tuple[float, ...], int], dict[str, Recording]] = {}
    numbered = _are_numbered(pairs, keys)
    for (recording, label), key in zip(pairs, keys, strict=True):
        said = recording.repetition if recording.repetition is not None else label.repetition
        number = said if numbered and said is not None else 1
        while recording.point in members.get((key, number), {}):
            number += 1
        members.setdefault((key, number), {})[recording.point] = recording
    points = tuple(next(iter(members.values())))
    sets = []
    for (key, number), own in sorted(members.items(), key=lambda item: item[0]):
        _check_points(points, own)
        chosen = [own[point] for point in points]
        frequency, curves = _on_one_grid(chosen, grid, note)
        known = [r.coherence for r in chosen]
        coherence = None
        if all(c is not None and len(c) == len(frequency) for c in known):
            coherence = np.stack([c for c in known if c is not None])
        sets.append(PointSet(key, number, frequency, curves, coherence))
    return sets, tuple(point or "1" for point in points)


def _are_numbered(pairs: Sequence[Labelled], keys: Sequence[tuple[float, ...]]) -> bool:
    """Whether names number the repetitions, as opposed to numbers that depend only on the point."""
    if not any(r.point for r, _ in pairs):
        return True
    seen: dict[tuple[tuple[float, ...], int | None], set[str]] = {}
    for (recording, label), key in zip(pairs, keys, strict=True):
        seen.setdefault((key, recording.repetition or label.repetition), set()).add(recording.point)
    everywhere = {recording.point for recording, _ in pairs}
    return all(own == everywhere for own in seen.values())


def _check_points(points: Sequence[str], own: dict[str, Recording]) -> None:
    missing = sorted(set(points) ^ set(own))
    if missing:
        source = next(iter(own.values())).source
        raise InputError(
            f"{source}: {', '.join(missing[:6])} was not measured in all sets, so the points differ. "
            "Leave those files out, or say that the files are repetitions of one point (--numbers repetitions)."
        )


def _on_one_grid(
    recordings: Sequence[Recording], grid: Grid, note: Callable[[str], None]
) -> tuple[np.ndarray, np.ndarray]:
    """The frequencies and curves of one set; gaps are allowed, but points measured together need equal grids."""
    first = recordings[0].frequency
    if all(len(r.frequency) == len(first) and np.allclose(r.frequency, first, rtol=1e-9) for r in recordings):
        return first, np.stack([r.values() for r in recordings])
    return one_grid(recordings, grid, note)
