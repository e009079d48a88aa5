"""The measured beam: goals on repetitions the fit never saw. The data are not part of the project."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ceql.templates.resonance import fit_resonances

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "beam-frf"
LEVELS = {0.0: ("Beam_healthy", ""), 2.96: ("Beam_damage_2.96", "-1")}
LEVELS |= {5.92: ("Beam_damage_5.92", "-2"), 8.87: ("Beam_damage_8.87", "-3")}
DAMAGE = np.array(list(LEVELS))[:, None]
WINDOWS = ((100, 200), (330, 450), (690, 810), (1080, 1280))
HELD_OUT = np.arange(1, 71) % 5 == 0

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the beam's measurements are not in {FOLDER.name}")


@pytest.fixture(scope="module")
def beam() -> tuple[np.ndarray, np.ndarray]:
    """Frequencies and linear magnitudes, (levels, repetitions, points)."""
    files = [[FOLDER / name / f"P-{k}{end}.txt" for k in range(1, 71)] for name, end in LEVELS.values()]
    tables = np.array([[np.loadtxt(file, skiprows=1) for file in row] for row in files])
    inside = tables[0, 0, :, 0] >= 50
    return tables[0, 0, inside, 0], 10 ** (tables[..., inside, 1] / 20)


def peaks(frequency: np.ndarray, curves: np.ndarray) -> np.ndarray:
    windows = [(frequency >= low) & (frequency <= high) for low, high in WINDOWS]
    return np.array([frequency[w][curves[:, w].argmax(axis=1)] for w in windows]).T


@pytest.mark.parametrize(("form", "goal"), [("paper", 0.95), ("modal", 0.957)])
def test_held_out_repetitions_and_peaks_are_predicted(beam, form, goal):
    frequency, magnitude = beam
    train, test = magnitude[:, ~HELD_OUT].mean(axis=1), magnitude[:, HELD_OUT].mean(axis=1)
    fit = fit_resonances(frequency, train, DAMAGE, names=("d",), form=form, max_terms=6, max_parameters=32)
    curves = fit.predict(frequency, DAMAGE)
    assert 1 - np.mean((test - curves) ** 2) / np.var(test) >= goal
    assert len(fit.terms) <= 6
    assert fit.n_parameters <= 32
    assert all(term.width > 0 for term in fit.terms)
    error = np.abs(peaks(frequency, curves) - peaks(frequency, magnitude.mean(axis=1)))
    assert error.mean() <= 1.5
    assert error.max() <= 3.0


def test_a_damage_level_that_was_left_out_is_predicted(beam):
    frequency, magnitude = beam
    kept = [0, 2, 3]
    fit = fit_resonances(frequency, magnitude[kept].mean(axis=1), DAMAGE[kept], names=("d",), max_terms=6)
    measured = peaks(frequency, magnitude.mean(axis=1))[1]
    assert np.abs(peaks(frequency, fit.predict(frequency, DAMAGE[[1]]))[0] - measured).max() <= 3.5
