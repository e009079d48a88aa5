"""Curves of structures whose modes are known."""

from __future__ import annotations

import numpy as np

from ceql.frf.kinds import Kind
from ceql.frf.modal.sets import PointSet, Survey

POWER = {Kind.RECEPTANCE: 0, Kind.MOBILITY: 1, Kind.ACCELERANCE: 2}


def response(frequency, natural, damping, residues, kind=Kind.ACCELERANCE) -> np.ndarray:
    """Curves (p, n) of modes with residues (m, p), real ones for modes without phase lags."""
    natural, damping, residues = np.atleast_1d(natural), np.atleast_1d(damping), np.atleast_2d(residues)
    s = 1j * np.asarray(frequency)[:, None]
    damped, rate = natural * np.sqrt(1 - damping**2), natural * damping
    below = s**2 + 2 * rate * s + natural**2
    in_phase, turned = 1 / below, (s + rate) / damped / below
    return (s ** POWER[kind] * (in_phase @ np.real(residues) + turned @ np.imag(residues))).T


def noisy(curves, snr_db, seed=0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    deviation = np.sqrt(np.mean(np.abs(curves) ** 2) / 2) * 10 ** (-snr_db / 20)
    return curves + deviation * (rng.standard_normal(curves.shape) + 1j * rng.standard_normal(curves.shape))


def survey(frequency, curves, names=("d",), kind=Kind.ACCELERANCE) -> Survey:
    """One set of points under one condition."""
    points = tuple(str(k + 1) for k in range(len(curves)))
    return Survey((PointSet((0.0,), 1, np.asarray(frequency), curves),), points, names, kind, "")
