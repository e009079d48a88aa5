"""The data of a modal analysis: sets of points measured together, each with a condition and a repetition number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ceql.errors import InputError
from ceql.frf.kinds import Kind
from ceql.frf.measurements import Measurements

_LEAST = 12  # fewest frequencies for finding modes


@dataclass(frozen=True, eq=False)
class PointSet:
    """The complex curves (p, n) of all points over positive frequencies (n,) in Hz, and the coherence if known."""

    condition: tuple[float, ...]
    repetition: int
    frequency: np.ndarray
    curves: np.ndarray
    coherence: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.curves.shape[1:] != self.frequency.shape:
            raise InputError("A set of points needs one value per frequency and point.")
        if len(self.frequency) < _LEAST:
            raise InputError(
                f"A measurement has {len(self.frequency)} frequencies above 0 Hz; a modal analysis needs at least "
                f"{_LEAST}: use a wider --band or a smaller --thin."
            )

    def at(self, keep: np.ndarray) -> PointSet:
        """The set restricted to some of the frequencies."""
        coherence = None if self.coherence is None else self.coherence[:, keep]
        return replace(self, frequency=self.frequency[keep], curves=self.curves[:, keep], coherence=coherence)


@dataclass(frozen=True, eq=False)
class Survey:
    """Sets of the same points, with the names of the conditions; grids may differ between sets."""

    sets: tuple[PointSet, ...]
    points: tuple[str, ...]
    names: tuple[str, ...]
    kind: Kind
    unit: str

    @property
    def conditions(self) -> list[tuple[float, ...]]:
        """The distinct conditions, sorted."""
        return sorted({one.condition for one in self.sets})

    def under(self, condition: tuple[float, ...]) -> list[PointSet]:
        return [one for one in self.sets if one.condition == condition]

    def only(self, sets: Sequence[PointSet]) -> Survey:
        return replace(self, sets=tuple(sets))

    def thinned(self, step: int) -> Survey:
        return self.only([one.at(np.arange(0, len(one.frequency), step)) for one in self.sets])

    def describe(self, condition: tuple[float, ...]) -> str:
        pairs = zip(self.names, condition, strict=True)
        return ", ".join(f"{name} = {value:.4g}" for name, value in pairs) or "the only condition"

    def magnitudes(self, points: Sequence[int] | None = None) -> Measurements:
        """The root mean square over the points of each set, as measurements on the grid of the first set."""
        grid = self.sets[0].frequency
        rows = []
        for one in self.sets:
            chosen = one.curves if points is None else one.curves[list(points)]
            rows.append(np.interp(grid, one.frequency, np.sqrt(np.mean(np.abs(chosen) ** 2, axis=0))))
        names = self.names or ("d",)
        conditions = np.array([one.condition or (0.0,) for one in self.sets], dtype=float)
        numbers = np.array([one.repetition for one in self.sets])
        return Measurements(grid, np.stack(rows), conditions, names, numbers, self.kind, self.unit)


def survey_of(measurements: Measurements) -> Survey:
    """Measurements of one point as a survey, without 0 Hz; raises `InputError` if they are not complex."""
    if not measurements.is_complex:
        raise InputError("A modal analysis needs phases, and these measurements hold magnitudes only.")
    above = measurements.frequency > 0
    rows = zip(measurements.conditions, measurements.repetitions, measurements.curves, strict=True)
    sets = [PointSet(tuple(map(float, c)), int(k), measurements.frequency[above], h[None, above]) for c, k, h in rows]
    return Survey(tuple(sets), ("1",), measurements.names, measurements.kind, measurements.unit)
