"""Frequency responses of several points: data, weights, and the columns of the modal model.

All frequencies are in Hz, and so is the variable s = j f. A pole is -z f0 + j f0 sqrt(1 - z²). With the residue R of a
mode, the response of a point is

    H = s^k [ sum of (Re R + Im R (s + z f0)/fd) / (s² + 2 z f0 s + f0²) + lower/s² + upper ]

where k is 0, 1, 2 for receptance, mobility and accelerance and fd = f0 sqrt(1 - z²). R is real for a mode without phase
lags between the points; `lower` and `upper` represent the modes below and above the band.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ceql.frf.kinds import Kind

POWERS = {Kind.RECEPTANCE: 0, Kind.MOBILITY: 1, Kind.ACCELERANCE: 2, Kind.RATIO: 0}
RESIDUALS = ("both", "lower", "upper", "none")
LOCAL = "local"  # residual terms of a window around a mode: a constant and a slope


@dataclass(frozen=True, eq=False)
class Response:
    """Complex curves of several points (p, n) on one increasing grid of positive frequencies (n,).

    `weight` (n,) holds the weight of each frequency, `noise` (p,) the standard deviation of the noise of each point.
    """

    frequency: np.ndarray
    curves: np.ndarray
    weight: np.ndarray
    noise: np.ndarray
    kind: Kind = Kind.ACCELERANCE
    residuals: str = "both"

    @property
    def s(self) -> np.ndarray:
        return 1j * self.frequency

    @property
    def power(self) -> int:
        return POWERS[self.kind]

    @property
    def root_weight(self) -> np.ndarray:
        return np.sqrt(self.weight)

    def weighted(self) -> np.ndarray:
        """The curves in units of their noise, weighted: (2n, p), real parts above imaginary ones."""
        values = (self.curves / self.noise[:, None] * self.root_weight).T
        return np.concatenate([values.real, values.imag])

    def thinned(self, points: int) -> Response:
        every = max(1, len(self.frequency) // points)
        return replace(
            self, frequency=self.frequency[::every], curves=self.curves[:, ::every], weight=self.weight[::every]
        )

    def within(self, inside: np.ndarray, curves: np.ndarray) -> Response:
        """A window of other curves on the same grid, with a constant and a slope as residual terms."""
        return replace(
            self,
            frequency=self.frequency[inside],
            curves=curves[:, inside],
            weight=np.full(int(inside.sum()), float(np.mean(self.weight[inside]))),
            residuals=LOCAL,
        )

    def residual_columns(self) -> np.ndarray:
        """The residual terms for modes outside the band, (n, 0 to 2); their factors are complex."""
        s, k = self.s, self.power
        if self.residuals == LOCAL:
            middle, half = np.mean(self.frequency), np.ptp(self.frequency) / 2.0
            return np.column_stack([np.ones_like(s), (self.frequency - middle) / half])
        if self.kind == Kind.RATIO:  # a constant and a slope, since there is no mass or stiffness
            both = np.column_stack([np.ones_like(s), s])
        else:
            both = np.column_stack([s ** (k - 2), s**k])
        chosen = {"both": [0, 1], "lower": [0], "upper": [1], "none": []}[self.residuals]
        return both[:, chosen]


def pole_columns(response: Response, poles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s^k/(s - pole) and s^k/(s - conjugate pole), each (n, m)."""
    s, factor = response.s[:, None], (response.s**response.power)[:, None]
    return factor / (s - poles), factor / (s - np.conj(poles))


def design(response: Response, poles: np.ndarray) -> np.ndarray:
    """The real columns of the weighted linear problem, (2n, 2m + ...): Re A and Im A of each mode, then residual
    terms."""
    g, mirrored = pole_columns(response, poles)
    pairs = np.stack([g + mirrored, 1j * (g - mirrored)], axis=2).reshape(len(g), -1)
    rest = response.residual_columns()
    columns = np.concatenate([pairs, rest, 1j * rest], axis=1) * response.root_weight[:, None]
    return np.concatenate([columns.real, columns.imag])


def frequency_and_damping(poles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    natural = np.abs(poles)
    return natural, -np.real(poles) / np.maximum(natural, np.finfo(float).tiny)


def pole_of(frequency: np.ndarray, damping: np.ndarray) -> np.ndarray:
    frequency, damping = np.asarray(frequency, float), np.asarray(damping, float)
    return frequency * (-damping + 1j * np.sqrt(np.maximum(1.0 - damping**2, 0.0)))


@dataclass(frozen=True, eq=False)
class LinearPart:
    """The residues R (m, p) of the modes, and the factors (r, p) of the residual columns."""

    residues: np.ndarray
    rest: np.ndarray


def linear_part(response: Response, poles: np.ndarray, coefficients: np.ndarray) -> LinearPart:
    """The linear part in the units of the curves, from the coefficients (columns, p) of `design`."""
    m = len(poles)
    scaled = coefficients * response.noise
    half = scaled[0 : 2 * m : 2] + 1j * scaled[1 : 2 * m : 2]
    own = scaled[2 * m :]
    r = len(own) // 2
    return LinearPart(2j * np.imag(poles)[:, None] * half, own[:r] + 1j * own[r:])


def synthesised(response: Response, poles: np.ndarray, part: LinearPart) -> np.ndarray:
    """The curves (p, n) of a model on the grid of the response."""
    g, mirrored = pole_columns(response, poles)
    half = part.residues / (2j * np.imag(poles)[:, None])
    values = g @ half + mirrored @ half.conj()
    return (values + response.residual_columns() @ part.rest).T
