"""Draws the pictures of docs/resonances.md from synthetic measurements.

    python tools/modal_pictures.py docs/images

A steel beam at eight points, with 40 dB of noise; and a bolted joint whose damping grows with the force.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ceql.frf.beam import Beam
from ceql.frf.kinds import Kind
from ceql.frf.modal import pictures
from ceql.frf.modal.analysis import ModalAnalysis, ModalSettings, analyse_modes
from ceql.frf.modal.sets import PointSet, Survey
from ceql.output.plots.canvas import save_figure

GRID = np.arange(10.0, 1200.0, 0.5)
FORCES = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0)
DPI = 80


def main() -> None:
    folder = Path(sys.argv[1])
    beam = analyse_modes(beam_survey(), ModalSettings())
    joint = analyse_modes(joint_survey(), ModalSettings(leave_out=4.0))
    for name, figure in (
        ("modal-stabilisation", pictures.stabilisation_diagram(beam)),
        ("modal-fit", pictures.fits(beam)),
        ("modal-shapes", pictures.shapes(beam)),
        ("modal-laws", pictures.laws(joint)),
    ):
        save_figure(figure, folder / f"{name}.png", dpi=DPI)
    told(beam)
    told(joint)


def told(analysis: ModalAnalysis) -> None:
    for track in analysis.tracks:
        for own in track.estimates.values():
            print(track.number, own.condition, own.frequency.value, own.damping.value, *own.flags)


def beam_survey() -> Survey:
    rng = np.random.default_rng(0)
    beam = Beam()
    places = np.linspace(0.05, beam.length, 8)
    curves = with_noise(np.array([beam.frf(GRID, at=x) for x in places]), rng)
    return Survey(
        (PointSet((0.0,), 1, GRID, curves),), tuple(f"{x:.2f}" for x in places), ("d",), Kind.ACCELERANCE, "m/s²/N"
    )


def joint_survey() -> Survey:
    """Five repetitions at each force: the frequency falls and scatters, the damping grows fourfold."""
    rng = np.random.default_rng(1)
    grid = np.arange(60.0, 300.0, 0.25)
    sets = []
    for force in FORCES:
        for k in range(5):
            natural = np.array([110.0, (220.0 - 0.6 * force) * (1.0 + 0.002 * rng.standard_normal())])
            damping = np.array([0.008, 0.004 + 0.012 * np.sqrt(force / 8.0)]) * (1.0 + 0.03 * rng.standard_normal(2))
            s = 1j * grid[:, None]
            curve = (s**2 * np.array([1.0, 0.8]) / (s**2 + 2.0 * damping * natural * s + natural**2)).sum(axis=1)
            sets.append(PointSet((force,), k + 1, grid, with_noise(curve[None], rng)))
    return Survey(tuple(sets), ("1",), ("force",), Kind.ACCELERANCE, "m/s²/N")


def with_noise(curves: np.ndarray, rng: np.random.Generator, snr_db: float = 40.0) -> np.ndarray:
    deviation = np.sqrt(np.mean(np.abs(curves) ** 2) / 2.0) * 10.0 ** (-snr_db / 20.0)
    return curves + deviation * (rng.standard_normal(curves.shape) + 1j * rng.standard_normal(curves.shape))


if __name__ == "__main__":
    main()
