"""A beam with known modes: a finite-element model of an Euler-Bernoulli cantilever with six point masses.

It serves users without measurements, the documentation and tests: every modal frequency, damping ratio and mode shape
behind the curves is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from ceql.errors import InputError
from ceql.frf.kinds import UNITS, Kind, converted
from ceql.frf.measurements import Measurements

MASS_POSITIONS = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30)


@dataclass(frozen=True)
class Beam:
    """A clamped-free steel beam in SI units. `stiffness_loss` pairs the number of an element with its lost share of
    stiffness."""

    length: float = 0.4
    width: float = 0.03
    thickness: float = 0.006
    modulus: float = 2.1e11
    density: float = 7850.0
    elements: int = 32
    masses: tuple[float, ...] = (0.02,) * 6
    positions: tuple[float, ...] = MASS_POSITIONS
    damping: tuple[float, ...] = (0.020, 0.010, 0.008, 0.010, 0.007, 0.009)
    stiffness_loss: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        if len(self.masses) != len(self.positions) or any(not 0 <= p <= self.length for p in self.positions):
            raise InputError(f"Every mass needs a position between 0 and the length of the beam, {self.length:g} m.")
        if any(not 0 <= k < self.elements or not 0 <= loss < 1 for k, loss in self.stiffness_loss):
            raise InputError(f"A loss of stiffness is a share below 1 in one of the elements 0 to {self.elements - 1}.")
        if not 1 <= len(self.damping) <= 2 * self.elements:
            raise InputError("The beam needs one damping ratio for each of its modes, and at least one.")

    def damaged(self, share: float, element: int = 12) -> Beam:
        """The same beam with less stiffness in one element, as caused by a crack."""
        return replace(self, stiffness_loss=((element, share),))

    def with_mass_at(self, number: int, position: float) -> Beam:
        """The same beam with one mass moved."""
        return replace(self, positions=(*self.positions[:number], position, *self.positions[number + 1 :]))

    @cached_property
    def modes(self) -> Modes:
        """The lowest modes, as many as there are damping ratios."""
        stiffness, mass = _matrices(self)
        count = len(self.damping)
        squares, shapes = eigh(stiffness, mass, subset_by_index=[0, count - 1])
        return Modes(np.sqrt(squares) / (2.0 * np.pi), np.array(self.damping), shapes)

    def frf(
        self,
        frequency: np.ndarray,
        at: float | None = None,
        force_at: float | None = None,
        kind: Kind = Kind.ACCELERANCE,
    ) -> np.ndarray:
        """The complex response at one point to a force at another (both the tip by default); `frequency` is in Hz."""
        residues = self.residues(at, force_at)
        own, angular = 2.0 * np.pi * self.modes.frequency, 2.0 * np.pi * np.asarray(frequency, dtype=float)
        lag = 2j * self.modes.damping * own
        receptance = np.sum(residues / (own**2 - angular[:, None] ** 2 + lag * angular[:, None]), axis=1)
        return converted(receptance, np.asarray(frequency, dtype=float), Kind.RECEPTANCE, kind)

    def residues(self, at: float | None = None, force_at: float | None = None) -> np.ndarray:
        """For each mode, its shape at the response times its shape at the force, for unit modal mass."""
        places = (self.length if x is None else x for x in (at, force_at))
        here, there = (_shape_functions(self, x) @ self.modes.shapes for x in places)
        return here * there


@dataclass(frozen=True, eq=False)
class Modes:
    """Undamped frequencies in Hz, damping ratios, and shapes over the free degrees of freedom."""

    frequency: np.ndarray
    damping: np.ndarray
    shapes: np.ndarray


def cantilever_frequencies(beam: Beam, roots: np.ndarray) -> np.ndarray:
    """The frequencies of the bare beam in Hz, from the roots beta L of cos(x) cosh(x) = -1."""
    area, inertia = _section(beam)
    return (roots / beam.length) ** 2 * np.sqrt(beam.modulus * inertia / (beam.density * area)) / (2.0 * np.pi)


def measure(
    beam: Beam,
    losses: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4),
    repetitions: int = 10,
    snr_db: float = 40.0,
    frequency: np.ndarray | None = None,
    kind: Kind = Kind.ACCELERANCE,
    at: float | None = None,
    force_at: float | None = None,
    position_scatter: float = 0.0,
    seed: int = 0,
) -> Measurements:
    """Simulated repeated measurements at several losses of stiffness; the condition d is the loss in percent.

    The noise is complex and white, `snr_db` below the root mean square of each curve. With `position_scatter`, in
    metres, the masses are slightly displaced in every repetition.
    """
    rng = np.random.default_rng(seed)
    grid = np.arange(10.0, 2000.25, 0.5) if frequency is None else np.asarray(frequency, dtype=float)
    curves, conditions, numbers = [], [], []
    for loss in losses:
        for number in range(1, repetitions + 1):
            one = beam.damaged(loss)
            if position_scatter:
                moved = np.array(beam.positions) + position_scatter * rng.standard_normal(len(beam.positions))
                one = replace(one, positions=tuple(np.clip(moved, 0.0, beam.length)))
            clean = one.frf(grid, at, force_at, kind)
            deviation = np.sqrt(np.mean(np.abs(clean) ** 2) / 2.0) * 10.0 ** (-snr_db / 20.0)
            curves.append(clean + deviation * (rng.standard_normal(len(grid)) + 1j * rng.standard_normal(len(grid))))
            conditions.append([100.0 * loss])
            numbers.append(number)
    return Measurements(grid, np.stack(curves), np.array(conditions), ("d",), np.array(numbers), kind, UNITS[kind])


def _section(beam: Beam) -> tuple[float, float]:
    """Area, and second moment of area for bending across the thickness."""
    return beam.width * beam.thickness, beam.width * beam.thickness**3 / 12.0


def _matrices(beam: Beam) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and mass matrices without the clamped end, with deflection and slope at each node."""
    area, inertia = _section(beam)
    h, size = beam.length / beam.elements, 2 * (beam.elements + 1)
    stiffness, mass = np.zeros((size, size)), np.zeros((size, size))
    k, m = _element(h)
    kept = np.ones(beam.elements)
    for number, loss in beam.stiffness_loss:
        kept[number] *= 1.0 - loss
    for number in range(beam.elements):
        part = slice(2 * number, 2 * number + 4)
        stiffness[part, part] += kept[number] * beam.modulus * inertia * k
        mass[part, part] += beam.density * area * m
    for value, position in zip(beam.masses, beam.positions, strict=True):
        shape = np.concatenate((np.zeros(2), _shape_functions(beam, position)))
        mass += value * np.outer(shape, shape)
    return stiffness[2:, 2:], mass[2:, 2:]


def _element(h: float) -> tuple[np.ndarray, np.ndarray]:
    """The matrices of an element of length h, for unit bending stiffness and unit mass per length."""
    k = np.array([[12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2],
                  [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2]]) / h**3  # fmt: skip
    m = np.array([[156, 22 * h, 54, -13 * h], [22 * h, 4 * h**2, 13 * h, -3 * h**2],
                  [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h**2, -22 * h, 4 * h**2]]) * h / 420.0  # fmt: skip
    return k, m


def _shape_functions(beam: Beam, x: float) -> np.ndarray:
    """The weights of the free degrees of freedom in the deflection at x: cubics within the element."""
    if not 0 <= x <= beam.length:
        raise InputError(f"{x:g} m is not on the beam, which is {beam.length:g} m long.")
    h = beam.length / beam.elements
    number = min(int(x / h), beam.elements - 1)
    s = x / h - number
    values = np.zeros(2 * (beam.elements + 1))
    values[2 * number : 2 * number + 4] = (
        1 - 3 * s**2 + 2 * s**3, h * (s - 2 * s**2 + s**3), 3 * s**2 - 2 * s**3, h * (s**3 - s**2),
    )  # fmt: skip
    return values[2:]
