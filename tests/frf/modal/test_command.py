"""`ceql frf` as a modal analysis, from files to report, figures and JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ceql.frf.cli import frf

from .made_data import noisy, response

F = np.arange(20.0, 300.0, 0.5)
SHAPES = np.array([[1.0, -0.5, 0.8, 0.3], [0.6, 0.9, -0.7, 0.5]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Four temperatures, at each of which four points were measured."""
    top = tmp_path_factory.mktemp("survey")
    for level in (20, 40, 60, 80):
        (top / f"T_{level}").mkdir()
        natural, damping = [80.0 - 0.05 * level, 180.0 - 0.2 * level], [0.01, 0.004 + 1e-4 * level]
        curves = noisy(response(F, natural, damping, SHAPES), 45.0, seed=level)
        for k, curve in enumerate(curves):
            table = np.column_stack([F, curve.real, curve.imag])
            np.savetxt(top / f"T_{level}" / f"point{k + 1}.txt", table, header="Frequency Real Imag", comments="")
    return top


def run(*arguments: object) -> Result:
    return CliRunner().invoke(frf, [str(a) for a in arguments])


def test_a_folder_of_points_is_one_fit_with_common_poles(folder):
    result = run(folder, "--json", "-")
    assert result.exception is None, result.output
    report = json.loads(result.stdout)
    assert report["points"] == ["1", "2", "3", "4"]
    assert report["n_modes"] == 2
    assert len(report["modes"]) == 8
    shape = np.array(report["shapes"][0]["real"]) + 1j * np.array(report["shapes"][0]["imag"])
    assert abs(np.vdot(shape, SHAPES[0])) / np.linalg.norm(shape) / np.linalg.norm(SHAPES[0]) > 0.99
    np.testing.assert_allclose(np.diag(report["mac"]), 1.0)
    last = [m for m in report["modes"] if m["mode"] == 2]
    for row in last:
        assert row["damping_ratio"] == pytest.approx(0.004 + 1e-4 * row["condition"]["d"], rel=0.02)


def test_a_level_left_out_gets_intervals(folder):
    report = json.loads(run(folder, "--leave-out", "40", "--json", "-").stdout)
    frequencies = [row for row in report["forecasts"] if row["quantity"] == "frequency"]
    assert all(row["low"] <= row["measured"] <= row["high"] for row in frequencies)
    assert any(peak["left_out"] and peak["low_hz"] is not None for peak in report["peaks"])


def test_files_and_figures_are_written(folder, tmp_path):
    pytest.importorskip("matplotlib")
    result = run(folder, "--out", tmp_path / "new")
    assert result.exception is None, result.output
    assert {path.name for path in (tmp_path / "new").iterdir()} == {
        "report.txt", "result.json", "modes.csv", "laws.csv", "shapes.csv", "peaks.csv",
        "stabilisation.png", "fit.png", "shapes.png", "mac.png", "laws.png",
    }  # fmt: skip
    assert "2 modes from 4 measurements of 4 points" in result.output


def test_quiet_prints_the_formula_alone(folder):
    assert len(run(folder / "T_20", "--quiet").output.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--form", "modes", "--weighting", "db"), "--weighting works with --form paper"),
        (("--form", "paper"), "hold 4 points, and this form describes one"),
        (("--leave-out", "7"), "Known levels: 20, 40, 60, 80"),
        (("--band", "20:24"), "at least 12"),
    ],
)
def test_bad_input_is_answered_with_a_remedy(folder, arguments, words):
    result = run(folder, *arguments, *(("--pattern", "T_{T}/point{point}.txt") if "paper" in arguments else ()))
    assert result.exit_code != 0
    assert words in (str(result.exception) + result.output)


def test_at_most_so_many_modes(folder):
    report = json.loads(run(folder / "T_20", "--max-terms", "1", "--json", "-").stdout)
    assert report["n_poles"] == 1
