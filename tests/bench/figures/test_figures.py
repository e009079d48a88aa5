"""The figures: the experiments behind them, and that each of them is drawn or says why not."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ceql.bench.baselines.front import pareto
from ceql.bench.cli import figures
from ceql.bench.figures import comparisons, trajectory
from ceql.bench.problems import load_suite
from ceql.bench.records import Record, append_record
from ceql.output.plots import style


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("records") / "r.jsonl"
    for problem in load_suite("paper").problems:
        for k, method in enumerate(("ceql", "operon", "unheard-of")):
            row = Record(
                "paper", problem.name, problem.family, method, 0, interp_mse=10.0 ** (-9 * k), node_count=9 + k
            )
            expression = problem.expression if method == "ceql" else "x1"
            append_record(path, Record(**{**row.__dict__, "expression": expression, "train_mse": 0.0, "columns": 1}))
    for problem in load_suite("scalability").problems:
        rows, columns = problem.n_train, len(problem.names)
        scaled = Record("scalability", problem.name, problem.family, "ceql", 0, exact=True, rows=rows, columns=columns)
        append_record(path, scaled)
    return path


def test_the_complex_way_arrives_and_the_real_one_does_not():
    descent = trajectory.Descent(steps=400)
    assert (np.abs(trajectory.paths(descent, stay_real=False)[:, -1]) < 1e-2).all()
    straight = trajectory.paths(descent, stay_real=True)
    assert (np.imag(straight) == 0).all()
    assert (np.abs(straight[:, -1]) > 1).all()


def test_the_surface_is_the_loss():
    descent = trajectory.Descent(points=10)
    x = np.linspace(-3, 3, 10)
    loss = trajectory.surface(descent, np.array([0.3]), np.array([0.4]))
    assert loss[0, 0] == pytest.approx(np.mean((np.real(1 / (x + 0.3 + 0.4j)) - 1 / x) ** 2))


def test_all_figures_are_drawn(tmp_path, records):
    pytest.importorskip("matplotlib")
    out = tmp_path / "new" / "folder"
    result = CliRunner().invoke(figures, ["--out", str(out), "--records", str(records), "--dpi", "40"])
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in out.iterdir()) == [
        "fronts.png", "predictions.png", "success.png", "trajectory.png",
    ]  # fmt: skip


def test_without_records_it_says_how_to_make_them(tmp_path):
    pytest.importorskip("matplotlib")
    result = CliRunner().invoke(figures, ["--out", str(tmp_path), "--only", "fronts,success"])
    assert result.exit_code == 0
    assert "ceql bench scalability --json" in result.output
    assert list(tmp_path.iterdir()) == []


def test_bad_input_is_explained(tmp_path):
    pytest.importorskip("matplotlib")
    invoke = CliRunner().invoke
    wrong = invoke(figures, ["--out", str(tmp_path), "--only", "trajektory"])
    assert "Did you mean 'trajectory'?" in str(wrong.exception)
    (tmp_path / "file").write_text("")
    blocked = invoke(figures, ["--out", str(tmp_path / "file" / "below")])
    assert "cannot be made" in str(blocked.exception)
    missing = invoke(figures, ["--out", str(tmp_path), "--records", str(tmp_path / "none.jsonl")])
    assert "cannot be read" in str(missing.exception)


def test_a_missing_matplotlib_is_named_with_its_remedy(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = CliRunner().invoke(figures, ["--out", str(tmp_path), "--only", "trajectory"])
    assert result.exit_code != 0
    assert "pip install 'ceql[plot]'" in str(result.exception) + result.output


def test_every_method_has_a_look_of_its_own():
    names = ["ceql", "operon", "sindy", "aaa", "gplearn", "pysr", "eql-div", "ceql-paper", "ceql-real", "mine", "yours"]
    chosen = style.looks(names)
    assert len(set(chosen.values())) == len(names)
    assert next(iter(chosen)) == "ceql"


def test_the_front_and_the_interval():
    assert pareto([(3, 1.0), (5, 0.1), (4, 2.0), (5, 0.5)]) == [(3, 1.0), (5, 0.1)]
    low, high = comparisons.wilson(10, 10)
    assert 0.8 < low < 1.0
    assert high == 1.0
