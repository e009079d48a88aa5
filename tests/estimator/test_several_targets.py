"""Several targets: one formula each, as if each had been fitted alone, within one time limit."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

from ceql import CEQLRegressor, CeqlWarning, InputError, load
from ceql.data.targets import Targets
from ceql.discovery import Discovery, Outcome, Progress, Settings
from ceql.estimator.several_targets import discover_each
from ceql.output.progress import describe
from ceql.search.policy import SearchPolicy
from ceql.storage.checkpoint import Checkpoint, read_checkpoint, to_bytes

from .live_display import until_displayed

OPTIONS: dict[str, Any] = {"operators": ["mul", "div"], "time_limit": 20}


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(1, 3, (50, 2)), columns=["a", "b"])
    Y = pd.DataFrame({"force": X["a"] / X["b"], "work": 1.5 / (X["a"] + 0.5), "heat": 2.5 * X["a"] * X["b"] + 1})
    return X, Y


@pytest.fixture(scope="module")
def model(data) -> CEQLRegressor:
    return CEQLRegressor(**OPTIONS).fit(*data)


def test_everything_is_there_once_for_each_target(model, data):
    X, Y = data
    assert model.target_names_ == ["force", "work", "heat"]
    assert model.predict(X).shape == (50, 3)
    np.testing.assert_allclose(model.predict(X), Y, rtol=1e-9)
    parts = (model.sympy(), model.latex(), model.equations_, model.constants_, model.poles_, model.discoveries_)
    assert [len(part) for part in parts] == [3] * 6
    assert model.score(X, Y) == pytest.approx(1.0)
    assert len(model.sympy(form="readable")) == 3


@pytest.mark.parametrize("name", ["force", "work", "heat"])
def test_each_is_what_it_would_be_alone(model, data, name):
    X, Y = data
    alone = CEQLRegressor(**OPTIONS).fit(X, Y[name])
    together = model.equations_[model.target_names_.index(name)]
    pd.testing.assert_frame_equal(alone.equations_, together)
    assert alone.target_names_ == [name]
    assert alone.predict(X).shape == (50,)


def test_one_column_is_one_target(data):
    X, Y = data
    for y in (Y[["force"]], Y[["force"]].to_numpy(), Y["force"], Y["force"].tolist()):
        model = CEQLRegressor(**OPTIONS).fit(X, y)
        assert model.predict(X).shape == (50,)
        assert model.discovery_ is model.discoveries_[0]
        assert model.target_names_ == (["force"] if hasattr(y, "loc") else ["y"])


def test_arrays_and_lists_have_numbered_targets(data):
    X, Y = data
    for y in (Y.to_numpy(), Y.to_numpy().tolist()):
        several = Targets.of(X, y)
        assert several.names == ("y1", "y2", "y3")
        assert np.array_equal(several.datasets[2].y, Y["heat"])
        assert several.datasets[2].x is several.datasets[0].x  # in memory once


def test_there_is_no_single_discovery(model):
    with pytest.raises(AttributeError, match=r"3 targets \(force, work, heat\): see discoveries_"):
        model.discovery_  # noqa: B018
    assert not hasattr(model, "discovery_")


def test_rows_for_each_target(model, data):
    X, _ = data
    first = model.predict(X, row=[0, None, None])
    assert np.ptp(first[:, 0]) == 0
    assert np.array_equal(first[:, 1:], model.predict(X)[:, 1:])
    assert np.ptp(model.predict(X, row=0), axis=0).max() == 0
    with pytest.raises(InputError, match=r"row has 2 entries, but there are 3 target"):
        model.predict(X, row=[0, 1])
    with pytest.raises(InputError, match="there is no row 99"):
        model.predict(X, row=[0, 99, 0])


def test_save_and_load(model, data, tmp_path):
    model.save(tmp_path / "model.ceql")
    copy = load(tmp_path / "model.ceql")
    assert copy.target_names_ == model.target_names_
    assert copy.sympy() == model.sympy()
    assert np.array_equal(copy.predict(data[0]), model.predict(data[0]))
    for ours, theirs in zip(copy.equations_, model.equations_, strict=True):
        pd.testing.assert_frame_equal(ours, theirs)


def test_a_file_of_an_older_ceql_has_one_target_without_a_name(data, tmp_path):
    path = tmp_path / "model.ceql"
    X, Y = data
    CEQLRegressor(**OPTIONS).fit(X, Y["force"]).save(path)
    content = json.loads(path.read_text())
    assert content["version"] == 1
    assert content.pop("target_names") == ["force"]
    path.write_text(json.dumps(content))
    assert load(path).target_names_ == ["y"]


def test_warm_start_of_each(data):
    X, Y = data
    model = CEQLRegressor(**OPTIONS, warm_start=True).fit(X, Y).fit(X[:30], Y[:30])
    np.testing.assert_allclose(model.predict(X), Y, rtol=1e-9)


def test_cross_validation(data):
    assert cross_val_score(CEQLRegressor(**OPTIONS), *data, cv=2) == pytest.approx([1.0, 1.0])


BAD = {
    "NaN": (lambda Y: Y.assign(work=np.nan), "target 'work' contains NaN"),
    "text": (lambda Y: Y.assign(work="u"), "target 'work' is not numeric"),
    "lengths": (lambda Y: Y[:3], "X has 50 rows but target 'force' has 3"),
    "no column": (lambda Y: Y[[]], "y has no columns"),
    "three dimensions": (
        lambda Y: Y.to_numpy()[:, :, None],
        r"y should be a 1d array, got .* \(50, 3, 1\)",
    ),
}


@pytest.mark.parametrize("which", BAD)
def test_complaints_name_the_target(which, data):
    change, words = BAD[which]
    with pytest.raises(InputError, match=words):
        CEQLRegressor(**OPTIONS).fit(data[0], change(data[1]))


def test_a_constant_target_is_named(data):
    X, Y = data
    with pytest.warns(CeqlWarning, match="target 'work' is constant"):
        model = CEQLRegressor(**OPTIONS).fit(X, Y.assign(work=2.0))
    assert model.sympy()[1] == 2


FEW_STARTS = SearchPolicy(round_size=32, chunk_size=32)
BRIEFLY = Settings(operators=("mul",), time_limit=60.0, max_starts=96, search=FEW_STARTS)


@pytest.fixture(scope="module")
def noise() -> Targets:
    """Targets that nothing but a search can give up on, so that each reports."""
    rng = np.random.default_rng(0)
    y = pd.DataFrame(rng.normal(size=(20, 3)), columns=["force", "work", "heat"])
    return Targets.of(rng.uniform(1, 3, (20, 1)), y)


@pytest.fixture(scope="module")
def told(noise) -> tuple[list[Discovery], list[Progress]]:
    reports: list[Progress] = []
    found = discover_each(noise, BRIEFLY, progress=reports.append)
    assert {discovery.outcome for discovery in found} == {Outcome.OUT_OF_STARTS}
    return list(found), reports


def test_the_time_is_shared_and_what_is_left_goes_on(told):
    (first, second, _), reports = told
    shares = list({report.target: report.time_limit for report in reports}.values())
    left = 60.0 - first.seconds, 60.0 - first.seconds - second.seconds
    assert shares == pytest.approx([20.0, left[0] / 2, left[1]], rel=1e-9)


def test_what_a_target_took_is_missing_to_the_others_also_in_an_earlier_run(noise, tmp_path):
    kept_in = Checkpoint(tmp_path / "run.ckpt")
    discover_each(noise, BRIEFLY, checkpoint=kept_in)
    one, two, three = (Path(own.path) for own in kept_in.of_each(noise.names))
    for path in (one, two):
        state, fingerprint = read_checkpoint(path)
        assert state.ending is not None
        path.write_bytes(to_bytes(replace(state, ending=replace(state.ending, seconds=12.0)), fingerprint))
    three.unlink()
    reports: list[Progress] = []
    first, second, _ = discover_each(noise, BRIEFLY, progress=reports.append, checkpoint=kept_in)
    assert min(first.seconds, second.seconds) >= 12.0
    assert reports[-1].time_limit == pytest.approx(60.0 - first.seconds - second.seconds, rel=1e-9)


def test_the_display_names_the_target(told):
    texts = dict.fromkeys(describe(report).partition(",")[0] for report in told[1])
    assert list(texts) == ["force (1 of 3)", "work (2 of 3)", "heat (3 of 3)"]


_INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may inherit it ignored
import numpy as np
from ceql import CEQLRegressor
from ceql.search.policy import SearchPolicy
rng = np.random.default_rng(0)
x = rng.uniform(1, 2, (64, 2))
y = np.column_stack([1 / x[:, 0], rng.normal(size=64), rng.normal(size=64)])
long_rounds = SearchPolicy(round_size=2**12)  # so that noise keeps it busy until it is interrupted
model = CEQLRegressor(operators=["mul", "div"], time_limit=300, policy=long_rounds, verbose=True).fit(x, y)
print(*[found.outcome.name for found in model.discoveries_], model.score(x, y) > 0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_keeps_the_earlier_target_and_the_best_so_far():
    command = [sys.executable, "-c", _INTERRUPTED]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    killer = threading.Timer(100, process.kill)
    killer.start()
    until_displayed(process, "y2 (2 of 3)")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate()
    killer.cancel()
    assert output.splitlines()[-1] == "EXACT INTERRUPTED INTERRUPTED True"
    assert "interrupted before it reached y3: each of these has only a constant" in errors
