"""Saved models side by side on new rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from ceql import CEQLRegressor


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(1, 3, 60)})
    y = pd.Series(2 / frame["x"] + 0.01 * rng.normal(size=60), name="y")
    for name, operators in (("a", ["div"]), ("b", ["mul"])):
        model = CEQLRegressor(operators=operators, time_limit=1, max_complexity=5, catalogue=False, verbose=False)
        model.fit(frame[:40], y[:40]).save(path / f"{name}.ceql")
    frame.assign(y=y)[40:].to_csv(path / "new.csv", index=False)
    frame.assign(y=y).to_csv(path / "all.csv", index=False)
    return path


def test_the_better_one_is_named(ceql, folder):
    code, out, err = ceql("compare", folder / "a.ceql", folder / "b.ceql", "--on", folder / "new.csv")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split()[:3] == ["model", "nodes", "R2"]
    assert "On 20 rows, a.ceql is the best" in out
    found = json.loads(
        ceql("compare", folder / "a.ceql", folder / "b.ceql", "--on", folder / "new.csv", "--json", "-")[1]
    )
    assert [row["model"] for row in found["models"]] == ["a.ceql", "b.ceql"]
    assert found["models"][0]["rmse"] < 0.02 < found["models"][1]["rmse"]


def test_what_cannot_be_told_is_said(ceql, folder, tmp_path):
    (tmp_path / "c.ceql").write_bytes((folder / "a.ceql").read_bytes())
    _, out, err = ceql("compare", folder / "a.ceql", tmp_path / "c.ceql", "--on", folder / "all.csv")
    assert "is not clearly better than" in out
    assert "Note: a.ceql was fitted to 40 of these 60 rows, which gives it an advantage." in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("a.ceql", "--on", "new.csv"), "Give two or more different models"),
        (("a.ceql", "a.ceql", "--on", "new.csv"), "two or more different models"),
        (("a.ceql", "b.ceql", "--on", "new.csv", "--target", "z"), "There is no column 'z'"),
        (("a.ceql", "b.ceql", "--on", "no.csv"), "There is no file"),
        (("a.ceql", "b.ceql"), "Missing option '--on'"),
    ],
)
def test_what_cannot_be_compared(ceql, folder, arguments, words, monkeypatch):
    monkeypatch.chdir(folder)
    code, out, err = ceql("compare", *arguments)
    assert code in (1, 2)
    assert out == ""
    assert words in err
