"""Measurements of a beam, and files of them to read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ceql.frf.beam import Beam, measure
from ceql.frf.measurements import Measurements


@pytest.fixture(scope="session")
def measured() -> Measurements:
    """The embedded beam with few repetitions on a coarse grid."""
    return measure(Beam(), (0.0, 0.2, 0.4, 0.6), repetitions=5, frequency=np.arange(100.0, 1800.0, 2.0))


@pytest.fixture
def folder(tmp_path: Path, measured: Measurements) -> Path:
    """The beam's measurements as text files in one folder per condition, in the layout of the published set."""
    for level in measured.levels[:, 0]:
        name = "Beam_healthy" if level == 0 else f"Beam_damage_{level:g}"
        (tmp_path / name).mkdir()
    for curve, level, number in zip(measured.curves, measured.conditions[:, 0], measured.repetitions, strict=True):
        name = f"Beam_healthy/P-{number}.txt" if level == 0 else f"Beam_damage_{level:g}/P-{number}-1.txt"
        write_text(tmp_path / name, measured.frequency, curve / 300.0)  # some magnitudes are below 0 dB
    return tmp_path


def write_text(path, frequency, curve, header="Frequency\tMagnitude\tPhase"):
    rows = np.column_stack([frequency, 20 * np.log10(np.abs(curve)), np.degrees(np.angle(curve))])
    lines = [header, *("\t".join(f"{value:.7g}" for value in row) for row in rows)]
    path.write_text("\r\n".join(lines) + "\r\n", encoding="utf-8")
