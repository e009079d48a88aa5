"""Measured frequency response functions: one curve per repetition, each with the condition it was measured under."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ceql.errors import InputError
from ceql.frf.kinds import UNITS, Kind, converted
from ceql.frf.splits import Split


@dataclass(frozen=True, eq=False)
class Measurements:
    """Curves (m, n) over one frequency grid (n,) in Hz, with conditions (m, k) and repetition numbers (m,).

    Real curves are linear magnitudes. A row of `conditions` holds the values of `names` for the curve in that row.
    """

    frequency: np.ndarray
    curves: np.ndarray
    conditions: np.ndarray
    names: tuple[str, ...]
    repetitions: np.ndarray
    kind: Kind
    unit: str

    def __post_init__(self) -> None:
        n_curves, n_points = self.curves.shape
        if self.frequency.shape != (n_points,) or np.any(np.diff(self.frequency) <= 0):
            raise InputError("The frequencies of a measurement must rise and be as many as its values.")
        if self.conditions.shape != (n_curves, len(self.names)) or self.repetitions.shape != (n_curves,):
            raise InputError("Every curve needs one repetition number and one value of each condition.")
        if not np.isfinite(self.curves).all():
            raise InputError("A measurement holds values that are missing or not finite: leave out those frequencies.")

    @property
    def is_complex(self) -> bool:
        return np.iscomplexobj(self.curves)

    @property
    def levels(self) -> np.ndarray:
        """The distinct conditions (c, k), sorted."""
        return np.unique(self.conditions, axis=0)

    def rows(self, keep: np.ndarray) -> Measurements:
        """The measurements restricted to some of the curves."""
        return replace(
            self, curves=self.curves[keep], conditions=self.conditions[keep], repetitions=self.repetitions[keep]
        )

    def magnitudes(self) -> Measurements:
        """The measurements without phases."""
        return replace(self, curves=np.abs(self.curves)) if self.is_complex else self

    def band(self, low: float, high: float) -> Measurements:
        """Only the frequencies from low to high, in Hz."""
        inside = (self.frequency >= low) & (self.frequency <= high)
        if inside.sum() < 3:
            raise InputError(
                f"Between {low:g} and {high:g} Hz there are {inside.sum()} frequencies; "
                f"the data reach from {self.frequency[0]:g} to {self.frequency[-1]:g} Hz."
            )
        return replace(self, frequency=self.frequency[inside], curves=self.curves[:, inside])

    def thinned(self, step: int) -> Measurements:
        """Every step-th frequency."""
        return replace(self, frequency=self.frequency[::step], curves=self.curves[:, ::step])

    def as_kind(self, kind: Kind) -> Measurements:
        """The measurements as another kind. The unit is converted if it is the SI unit, and otherwise left empty."""
        curves = converted(self.curves, self.frequency, self.kind, kind)
        unit = self.unit if kind == self.kind else UNITS[kind] if self.unit == UNITS[self.kind] else ""
        return replace(self, curves=curves, kind=kind, unit=unit)

    def mean(self) -> Measurements:
        """One curve per condition: the mean over its repetitions, with the repetition number 0."""
        levels, member = np.unique(self.conditions, axis=0, return_inverse=True)
        member = member.reshape(-1)
        means = np.stack([self.curves[member == k].mean(axis=0) for k in range(len(levels))])
        return replace(self, curves=means, conditions=levels, repetitions=np.zeros(len(levels), dtype=int))

    def split(self, rule: Split) -> tuple[Measurements, Measurements]:
        """The curves to train on and the held-out ones; every level of the first condition must occur in both.

        Further conditions, such as positions of masses, may differ between repetitions.
        """
        out, first = rule.held_out(self.repetitions), self.conditions[:, 0]
        for side, chosen in (("hold out", out), ("train on", ~out)):
            missing = sorted(set(first) - set(first[chosen]))
            if missing:
                numbers = self.repetitions[first == missing[0]]
                span = " to ".join(str(number) for number in sorted({int(numbers.min()), int(numbers.max())}))
                raise InputError(
                    f"The split {rule} leaves nothing to {side} for {self.names[0]} = {missing[0]:g}, whose "
                    f"repetitions are numbered {span}: choose another split."
                )
        return self.rows(~out), self.rows(out)

    def leave_out(self, level: float, name: str | None = None) -> tuple[Measurements, Measurements]:
        """The curves at all other levels of a condition, and those at this level."""
        name = name or self.names[0]
        column = self.conditions[:, self.names.index(name)]
        chosen = np.isclose(column, level, rtol=1e-9, atol=1e-12)
        known = ", ".join(f"{value:g}" for value in np.unique(column))
        if not chosen.any():
            raise InputError(f"No curve was measured at {name} = {level:g}. Known levels: {known}.")
        if chosen.all():
            raise InputError(f"{name} = {level:g} is the only level, so nothing is left to train on without it.")
        return self.rows(~chosen), self.rows(chosen)

    def describe(self, level: np.ndarray) -> str:
        """A condition in words, such as `d = 2.96`."""
        pairs = zip(self.names, level, strict=True)
        return ", ".join(f"{name} = {value:.4g}" for name, value in pairs) or "the only condition"


def parse_band(text: str) -> tuple[float, float]:
    """The band or window in Hz given by a text such as 50:2000."""
    low, _, high = text.partition(":")
    try:
        band = float(low), float(high)
    except ValueError:
        raise InputError(f"{text!r} is not a band: write LOW:HIGH in Hz, such as 50:2000.") from None
    if not 0 <= band[0] < band[1]:
        raise InputError(f"{text!r} is not a band: the lower end must come first and must not be negative.")
    return band
