"""The published beam measurements, where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from ceql.frf.analysis import r_squared
from ceql.frf.condition_table import read_condition_table
from ceql.frf.measurements import Measurements
from ceql.frf.peak_tracks import find_windows, peak_in
from ceql.frf.readers import Source, read
from ceql.frf.splits import parse_split

FOLDER = Path(os.environ.get("CEQL_BEAM_DATA") or Path(__file__).parents[3] / "shared" / "data" / "beam-frf")
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"no beam measurements in {FOLDER}: docs/resonances.md says where to get them"
)


@pytest.fixture(scope="module")
def beam() -> Measurements:
    return read([FOLDER], Source(band=(50, 2000))).measurements


def test_all_curves_are_read(beam):
    assert beam.curves.shape == (280, 6241)
    assert beam.levels[:, 0].tolist() == [0, 2.96, 5.92, 8.87]
    assert sorted(set(beam.repetitions)) == list(range(1, 71))
    assert beam.is_complex


@pytest.mark.parametrize(("rule", "ceiling"), [("first:56", 0.960), ("every:5", 0.983)])
def test_the_training_means_reach_the_known_ceiling(beam, rule, ceiling):
    train, test = beam.magnitudes().split(parse_split(rule))
    assert len(test.curves) == 56
    assert r_squared(test.mean().curves, train.mean().curves) == pytest.approx(ceiling, abs=1e-3)


def test_peaks_of_single_files_have_the_known_means(beam):
    healthy = beam.curves[beam.conditions[:, 0] == 0]
    for window, mean in (((100, 200), 138.9), ((330, 450), 380.9), ((690, 810), 739.1), ((1080, 1280), 1154.3)):
        peaks = [peak_in(beam.frequency, curve, window)[0] for curve in healthy]
        assert np.mean(peaks) == pytest.approx(mean, abs=0.06)


def test_the_main_windows_are_found(beam):
    windows = find_windows(beam.magnitudes().mean())
    for peaks in ((139, 144), (381, 398), (739, 762), (1154, 1181)):
        assert any(low < peaks[0] and peaks[1] < high for low, high in windows)


def test_mass_positions():
    pytest.importorskip("openpyxl")
    table = read_condition_table(FOLDER / "mass-position.xlsx")
    assert table.names == ("L1", "L2", "L3", "L4", "L5", "L6")
    assert len(table.rows) == 70
    assert table.rows["1",] == (5, 10, 15, 20, 25, 30)
