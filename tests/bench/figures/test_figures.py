"""The figures: the experiments behind them, and that each of them is drawn or says why not."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ceql.bench.baselines.front import pareto
from ceql.bench.cli import figures
from ceql.bench.figures import cancellation, comparisons, trajectory
from ceql.bench.intervals import wilson
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
    descent = trajectory.Descent()
    free, straight = (trajectory.path(descent, stay_real=real) for real in (False, True))
    # The figures of the authors' notebook: 3298 steps to zero, 289 to 1.5154.
    assert abs(free[-1]) < 2e-3
    assert len(free) == pytest.approx(3299, abs=200)
    assert (np.imag(straight) == 0).all()
    assert straight[-1].real == pytest.approx(1.5154, abs=1e-3)
    assert len(straight) < 400


@pytest.mark.parametrize("example", [cancellation.quotient(), cancellation.sine()], ids=["quotient", "sine"])
def test_contributions_are_those_of_the_gradient(example):
    at, step = example.grid[len(example.grid) // 3], 1e-6

    def loss(parameter: float, imaginary: float) -> float:
        error = example.value(example.x, np.array([[parameter]]), imaginary) - example.target(example.x)
        return float(np.mean(error**2))

    for imaginary in (0.0, example.imaginary):
        slope = (loss(at + step, imaginary) - loss(at - step, imaginary)) / (2 * step)
        assert 2 * example.contributions(np.array([at]), imaginary).mean() == pytest.approx(slope, rel=1e-3, abs=1e-6)


def test_real_gradients_cancel_and_point_away_where_complex_ones_point_to_the_solution():
    example = cancellation.quotient()
    near = example.grid[(np.abs(example.grid) < 2.0) & (np.abs(example.grid) > 0.2)]
    real, free = (example.left_over(near, imaginary) for imaginary in (0.0, example.imaginary))
    assert (np.sign(free) == np.sign(near)).all()
    assert np.median(np.abs(real)) < 0.1 < np.median(np.abs(free))
    # The paper's closed form of a contribution.
    a = example.shown
    assert np.allclose(example.contributions(np.array([a]))[0], a / (example.x * (example.x + a) ** 3))


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
        "architecture.png", "cancellation.png", "fronts.png", "predictions.png", "success.png", "trajectory.png",
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
    low, high = wilson(10, 10)
    assert low == pytest.approx(0.7225, abs=1e-3)
    assert high == 1.0


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_markers_are_moved_apart_and_no_further_than_needed(count, seed):
    places = np.random.default_rng(seed).integers(0, 3, (count, 2)) * 4.0  # many lie on each other
    moved = places + comparisons.apart(places)
    between = np.hypot(*np.moveaxis(moved[:, None] - moved[None], -1, 0)) + 1e9 * np.eye(count)
    assert between.min() > 6.0
    alone = np.array([[0.0, 0.0], [500.0, 0.0]])
    assert np.allclose(comparisons.apart(alone), 0.0, atol=1e-2)


def test_unlike_problems_have_no_common_axis(records):
    rows = [Record("paper", name, "polynomial", "ceql", 0, columns=k) for k, name in enumerate(("E-1", "E-2"), 1)]
    assert comparisons.draw_success(rows) is None
