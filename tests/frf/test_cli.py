"""`ceql frf` from files to report, with few terms, which are quickly fitted."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ceql.errors import InputError
from ceql.frf.analysis import Settings, analyse, explained_scatter, r_squared, unit_of
from ceql.frf.beam import Beam, measure
from ceql.frf.cli import frf
from ceql.frf.kinds import Kind
from ceql.frf.splits import parse_split

FEW_TERMS = Settings(max_terms=2)


def run(*arguments: object) -> Result:
    """One formula for mean magnitudes, with few terms; tests/frf/modal has what a modal analysis does."""
    given = [str(a) for a in arguments]
    given += [] if "--form" in given or "--complex" in given else ["--form", "paper"]
    return CliRunner().invoke(frf, given if "--max-terms" in given else [*given, "--max-terms", "2"])


def json_of(result):
    assert result.exception is None, result.output
    return json.loads(result.stdout)


def test_the_json_has_what_a_script_needs(folder):
    report = json_of(run(folder, "--split", "first:4", "--json", "-"))
    assert {"terms", "r2_train", "r2_test", "expression", "modes", "peaks"} <= set(report)
    assert len(report["terms"]) == report["n_terms"] == 2
    assert {"condition", "window", "measured_hz", "predicted_hz"} <= set(report["peaks"][0])
    assert len(report["modes"]) == 2 * 4
    assert report["r2_ceiling"] > 0.99
    assert report["split"] == "first:4"


def test_a_level_left_out_is_predicted(folder):
    report = json_of(run(folder, "--leave-out", 40, "--json", "-"))
    assert report["left_out"] == 40
    assert report["r2_left_out"] is not None
    assert {p["condition"]["d"] for p in report["peaks"] if p["left_out"]} == {40}


def test_files_and_figures_are_written(folder, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "new" / "result"
    result = run(folder, "--out", out, "--complex")
    assert result.exception is None, result.output
    assert {path.name for path in out.iterdir()} == {
        "report.txt", "result.json", "modes.csv", "peaks.csv", "overlay.png", "peaks.png", "bode.png", "poles.png",
    }  # fmt: skip
    assert "R²" in result.output
    assert "w in kHz" in result.output
    assert "accelerance is assumed" in result.output


def test_quiet_prints_the_formula_alone(folder):
    assert len(run(folder, "--quiet").output.splitlines()) == 1


def test_the_demo_tells_the_truth():
    result = run("--demo", "--band", "100:1800")
    assert "179.81 (0.01)" in result.output


def test_windows_can_be_given(folder):
    report = json_of(run(folder, "--windows", "150:200,450:550", "--json", "-"))
    assert {tuple(p["window"]) for p in report["peaks"]} == {(150, 200), (450, 550)}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--demo for the embedded beam"),
        (("DIR", "--demo"), "--demo for the embedded beam"),
        (("DIR", "--split", "last:3"), "is not a split"),
        (("DIR", "--split", "first:5"), "nothing to hold out"),
        (("DIR", "--leave-out", "7"), "Known levels: 0, 20, 40, 60"),
        (("DIR", "--band", "3000:4000"), "it reaches from 100 to 1798 Hz"),
        (("DIR", "--complex", "--form", "paper"), "use --form modal"),
        (("DIR", "--max-terms", "2000"), "more terms than the data support. Ask for at most"),
        (("DIR", "--columns", "frequency"), "ROLE=NAME"),
        (("DIR", "--kind", "ratio", "--pattern", "x{d}"), "does not fit the pattern"),
        (("absent",), "no file or folder"),
        (("DIR", "--band", "1100:1400"), "No resonance was found"),
    ],
)
def test_bad_input_is_answered_with_a_remedy(folder, arguments, words):
    result = run(*(folder if a == "DIR" else a for a in arguments))
    assert result.exit_code != 0
    message = str(result.exception) if isinstance(result.exception, InputError) else result.output
    assert words in message


def test_a_single_condition_is_said(folder):
    result = run(folder / "Beam_healthy")
    assert "only one condition: every h is a constant" in result.output


def test_too_few_repetitions_leave_nothing_to_judge_by(measured):
    analysis = analyse(measured.rows(measured.repetitions == 1), FEW_TERMS)
    assert analysis.r2_test is None
    assert "too few repetitions" in analysis.notes[0]


def test_the_modal_form_gets_accelerance():
    mobility = measure(Beam(), repetitions=5, kind=Kind.MOBILITY, frequency=np.arange(100.0, 1800.0, 2.0))
    analysis = analyse(mobility, replace(FEW_TERMS, form="modal"))
    assert analysis.measurements.kind == Kind.ACCELERANCE
    assert any("mobility was converted" in note for note in analysis.notes)


def test_complex_fits_need_phases(measured):
    with pytest.raises(InputError, match="magnitudes only"):
        analyse(measured.magnitudes(), replace(FEW_TERMS, form="modal", fit_complex=True))


def test_scatter_that_a_condition_explains(measured):
    """One level of the first condition; the second differs from repetition to repetition and moves the peaks."""
    loss = np.random.default_rng(0).uniform(0, 60, 20)
    data = replace(
        measured,
        curves=np.stack([Beam().damaged(value / 100).frf(measured.frequency) for value in loss]),
        conditions=np.column_stack([np.zeros(20), loss]),
        names=("level", "loss"),
        repetitions=np.arange(1, 21),
    )
    shares = [share for _, share in explained_scatter(analyse(data, FEW_TERMS))]
    assert max(shares) > 0.8


def test_r_squared_and_units():
    assert r_squared(np.array([[1.0, 3.0]]), np.array([[1.0, 3.0]])) == 1.0
    assert r_squared(np.array([[1.0, 3.0]]), np.array([[2.0, 2.0]])) == 0.0
    assert unit_of(np.array([1.0, 2000.0])) == ("kHz", 1e3)
    assert unit_of(np.array([1.0, 5e9])) == ("GHz", 1e9)
    assert unit_of(np.array([0.1, 0.5])) == ("Hz", 1.0)


def test_splits_are_kept_apart(measured):
    analysis = analyse(measured, replace(FEW_TERMS, split=parse_split("first:3")))
    assert analysis.test is not None
    train, test = measured.magnitudes().split(parse_split("first:3"))
    np.testing.assert_allclose(analysis.train.curves, train.mean().curves)
    np.testing.assert_allclose(analysis.test.curves, test.mean().curves)
