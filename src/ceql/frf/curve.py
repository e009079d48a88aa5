"""A curve as stored in a file, before it is combined with others, and the options for reading files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from ceql.errors import InputError
from ceql.frf.kinds import Kind

HERTZ = {"hz": 1.0, "khz": 1e3, "mhz": 1e6, "ghz": 1e9, "rad/s": 1.0 / (2.0 * np.pi)}


class Scale(StrEnum):
    """The scale of magnitudes. UNSAID is resolved for all files together, never file by file."""

    LINEAR = "linear"
    DECIBEL = "db"
    UNSAID = "auto"


@dataclass(frozen=True, eq=False)
class Recording:
    """A curve: frequencies in Hz, magnitudes as written in the file, and phases in radians if there are any."""

    source: str
    frequency: np.ndarray
    magnitude: np.ndarray
    phase: np.ndarray | None = None
    scale: Scale = Scale.LINEAR
    kind: Kind | None = None
    unit: str = ""
    conditions: Mapping[str, float] = field(default_factory=dict)
    repetition: int | None = None
    point: str = ""  # where it was measured, if the file says so
    coherence: np.ndarray | None = None
    note: str = ""  # a sentence about what a reader left out or assumed

    def values(self) -> np.ndarray:
        """The linear response, complex if the phase is known."""
        linear = 10.0 ** (self.magnitude / 20.0) if self.scale == Scale.DECIBEL else self.magnitude
        return linear if self.phase is None else linear * np.exp(1j * self.phase)


@dataclass(frozen=True)
class ReadOptions:
    """What the files do not state themselves; empty fields leave it to the file."""

    kind: Kind | None = None
    unit: str = ""
    scale: Scale = Scale.UNSAID
    phase: str = ""  # deg or rad
    columns: Mapping[str, str] = field(default_factory=dict)
    channel: str = ""
    encoding: str = ""
    sampling_rate: float | None = None  # in Hz, for time data that do not state it
    estimator: str = "h1"  # FRF estimator for time data
    segment: int | None = None  # samples of time data per segment


def from_complex(source: str, frequency: np.ndarray, values: np.ndarray, **known) -> Recording:
    """A recording from linear values, real or complex."""
    values = np.asarray(values)
    if np.iscomplexobj(values):
        return checked(Recording(source, frequency, np.abs(values), np.angle(values), **known))
    return checked(Recording(source, frequency, values, **known))


def checked(recording: Recording) -> Recording:
    """The recording sorted by frequency; raises `InputError` naming the first bad row.

    Rows at 0 Hz that are not finite (the magnitude there is often -inf dB) are dropped.
    """
    still = (recording.frequency == 0) & ~np.isfinite(recording.magnitude)
    if still.any():
        recording = recording_at(recording, ~still)
    for words in ("frequency", "magnitude", "phase"):
        numbers = getattr(recording, words)
        bad = np.flatnonzero(~np.isfinite(numbers)) if numbers is not None else []
        if len(bad):
            raise InputError(
                f"{recording.source}: the {words} in row {bad[0] + 1} is missing or not finite "
                f"({len(bad)} such rows): measure again, or delete these rows and bridge the gap with --grid "
                "interpolate."
            )
    if len(recording.frequency) < 3:
        raise InputError(f"{recording.source}: {len(recording.frequency)} rows are too few for a curve.")
    order = np.argsort(recording.frequency, kind="stable")
    sorted_frequency = recording.frequency[order]
    twice = np.flatnonzero(np.diff(sorted_frequency) == 0)
    if len(twice):
        raise InputError(
            f"{recording.source}: {sorted_frequency[twice[0]]:g} Hz occurs twice. Several curves in one file need a "
            "column with the condition or the repetition."
        )
    return replace(recording_at(recording, order), frequency=sorted_frequency)


def recording_at(recording: Recording, rows: np.ndarray) -> Recording:
    """The recording restricted to these rows, in this order."""
    phase = None if recording.phase is None else recording.phase[rows]
    coherence = None if recording.coherence is None else recording.coherence[rows]
    return replace(
        recording,
        frequency=recording.frequency[rows],
        magnitude=recording.magnitude[rows],
        phase=phase,
        coherence=coherence,
    )
