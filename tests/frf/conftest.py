"""A stand-in for the fit, so that the measurement side is tested by itself, and files to read."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ceql.frf.beam import Beam, measure
from ceql.frf.peak_tracks import peak_in


@dataclass(frozen=True)
class StandInTerm:
    amplitude: complex
    polynomial: np.ndarray
    width: float
    amplitude_error: float = 0.1
    width_error: float = float("nan")
    centre_error: float = 0.001

    @property
    def centre(self) -> str:
        return " + ".join(f"{c:.4g}*d**{k}" for k, c in enumerate(self.polynomial[::-1]))

    def centre_at(self, conditions: np.ndarray) -> np.ndarray:
        return np.polyval(self.polynomial, np.atleast_2d(conditions)[:, -1])


@dataclass(frozen=True)
class StandInFit:
    form: str
    terms: tuple[StandInTerm, ...]
    background: tuple[float, float]
    is_complex: bool
    seconds: float = 0.1
    starts: int = 5
    message: str = ""
    r2: float = 1.0

    @property
    def expression(self) -> str:
        return " + ".join(f"{t.amplitude:.4g}/((w - ({t.centre}))**2 + {t.width:.3g})" for t in self.terms)

    @property
    def n_parameters(self) -> int:
        return 5 * len(self.terms) + 2

    @property
    def poles_over_starts(self) -> list[np.ndarray]:
        centres = np.array([t.polynomial[-1] for t in self.terms])
        return [centres * (1 + 1e-3 * k) for k in range(5)]

    def predict(self, frequency: np.ndarray, conditions: np.ndarray) -> np.ndarray:
        columns = _columns(self.form, frequency, np.atleast_2d(conditions), self.terms)
        value = sum(t.amplitude * c for t, c in zip(self.terms, columns, strict=True))
        return np.asarray(value if self.is_complex else np.abs(value))


def _columns(form: str, w: np.ndarray, conditions: np.ndarray, terms: Any) -> list[np.ndarray]:
    found = []
    for term in terms:
        h = term.centre_at(conditions)[:, None]
        if form == "modal":
            found.append(w**2 / (h**2 - w**2 + 2j * term.width * h * w))
        else:
            found.append(1.0 / ((w - h) ** 2 + term.width))
    return found


def stand_in(frequency, curves, conditions, *, names, form="paper", max_terms=6, **_) -> StandInFit:
    """Peaks by their largest value in five equal parts of the band, a straight line over the last condition."""
    parts = np.array_split(np.arange(len(frequency)), min(max_terms, 5))
    terms = []
    for part in parts:
        window = (frequency[part[0]], frequency[part[-1]])
        peaks = [peak_in(frequency, curve, window)[0] for curve in curves]
        order = min(1, len(np.unique(conditions[:, -1])) - 1)
        polynomial = np.polyfit(conditions[:, -1], peaks, order)
        terms.append(StandInTerm(1.0, polynomial, 0.01 if form == "modal" else (0.01 * peaks[0]) ** 2))
    columns = np.stack([c.ravel() for c in _columns(form, frequency, conditions, terms)], axis=1)
    amplitudes = np.linalg.lstsq(columns, np.asarray(curves).ravel(), rcond=None)[0]
    sized = tuple(StandInTerm(a, t.polynomial, t.width) for a, t in zip(amplitudes.tolist(), terms, strict=True))
    return StandInFit(form, sized, (0.0, 0.0), np.iscomplexobj(curves))


@pytest.fixture
def quick_fit(monkeypatch):
    """The command and `analyse` with the stand-in in place of the fit."""
    module: Any = types.ModuleType("ceql.templates.resonance")
    module.fit_resonances = stand_in
    monkeypatch.setitem(sys.modules, "ceql.templates.resonance", module)


@pytest.fixture(scope="session")
def measured():
    """The embedded beam with few repetitions on a coarse grid."""
    return measure(Beam(), (0.0, 0.2, 0.4, 0.6), repetitions=5, frequency=np.arange(100.0, 1800.0, 2.0))


@pytest.fixture
def folder(tmp_path, measured):
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
