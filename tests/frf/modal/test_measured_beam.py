"""The published beam: damping as in a fit of each peak of each file, where the measurements are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import least_squares

from ceql.frf.modal.analysis import ModalSettings, analyse_modes
from ceql.frf.readers import Source, read_survey

FOLDER = Path(os.environ.get("CEQL_BEAM_DATA") or Path(__file__).parents[4] / "shared" / "data" / "beam-frf")
MIDDLES = (140.0, 385.0, 748.0, 1165.0)

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"no beam measurements in {FOLDER}: docs/resonances.md says where to get them"
)


def single_peak(frequency, curve, middle):
    """The damping ratio of one mode with a constant and a slope, by least squares on the complex values."""
    inside = np.abs(frequency - middle) < 0.06 * middle
    f, h = frequency[inside], curve[inside]

    def left(x):
        mode = f**2 / (x[0] ** 2 - f**2 + 2j * x[1] * x[0] * f)
        columns = np.column_stack([mode, np.ones_like(f), (f - middle) / middle])
        rest = h - columns @ np.linalg.lstsq(columns, h, rcond=None)[0]
        return np.concatenate([np.real(rest), np.imag(rest)])

    return abs(least_squares(left, [f[np.argmax(np.abs(h))], 0.007], x_scale=[1.0, 1e-3]).x[1])


def test_damping_is_that_of_single_files():
    files = [FOLDER / "Beam_damage_2.96" / f"P-{k}-1.txt" for k in (1, 11, 21, 31, 41, 51, 61)]
    survey = read_survey(files, Source(band=(50, 2000), numbers="repetitions", pattern="P-{repetition}-1.txt")).survey
    assert len(survey.sets) == 7
    analysis = analyse_modes(survey, ModalSettings())
    for middle in MIDDLES:
        beside = np.median([single_peak(one.frequency, one.curves[0], middle) for one in survey.sets])
        track = min(analysis.sound, key=lambda t: abs(t.frequency - middle))
        assert next(iter(track.estimates.values())).damping.value == pytest.approx(beside, rel=0.15)


def test_files_that_agree_count_as_repetitions():
    reading = read_survey([FOLDER / "Beam_healthy"], Source(band=(50, 2000)))
    assert len(reading.survey.points) == 1
    assert len(reading.survey.sets) == 70
    assert any("repetitions" in note for note in reading.notes)
