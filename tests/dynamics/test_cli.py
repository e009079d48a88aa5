"""`ceql ode` and `ceql simulate`, and the other commands on a saved system."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ceql import ODERegressor
from ceql.__main__ import exit_code

QUICK = ("--time-limit", "2", "--threads", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A table of decay to a limit in two runs, with a gap, and all that the command makes of it."""
    path = tmp_path_factory.mktemp("ode")
    rng = np.random.default_rng(1)
    pieces = []
    for run, first in (("a", 5.0), ("b", 0.5)):
        time = np.sort(rng.uniform(0.0, 4.0, 25))
        level = 2.0 + (first - 2.0) * np.exp(-1.5 * time) + 0.004 * rng.standard_normal(25)
        pieces.append(pd.DataFrame({"run": run, "t": time, "level": level}))
    table = pd.concat(pieces, ignore_index=True)
    table.loc[30, "level"] = np.nan
    table.to_csv(path / "tank.csv", index=False)
    where = [str(path / name) for name in ("tank.ceql", "tank.html", "out", "tank.json")]
    options = dict(zip(("--save", "--report", "--out", "--json"), where, strict=True))
    words = ["ode", str(path / "tank.csv"), "--state", "level", "--trajectory", "run", *QUICK]
    assert exit_code([*words, *(part for pair in options.items() for part in pair)]) == 0
    return path


def test_the_command_writes_all_that_is_asked_for(folder):
    made = {path.name for path in (folder / "out").iterdir()}
    assert made == {
        "report.txt",
        "result.json",
        "systems.csv",
        "constants.csv",
        "simulated.csv",
        "fixed_points.csv",
        "slopes.py",
        "trajectories.png",
        "phase.png",
    }
    known = json.loads((folder / "tank.json").read_text())
    assert known["measured"] == ["level"]
    assert [point["kind"] for point in known["fixed_points"]] == ["stable node"]
    assert known["fixed_points"][0]["state"]["level"] == pytest.approx(2.0, abs=0.02)
    assert len(pd.read_csv(folder / "out" / "simulated.csv")) == 50
    assert "dlevel/dt" in (folder / "tank.html").read_text(encoding="utf-8")
    assert (folder / "out" / "report.txt").read_text(encoding="utf-8").startswith("dlevel/dt = ")


def test_equations_alone_or_as_json(ceql, folder):
    words = ("ode", folder / "tank.csv", "--state", "level", "--trajectory", "run", *QUICK)
    code, out, err = ceql(*words, "--quiet")
    assert (code, out.count("\n")) == (0, 1)
    assert out.startswith("dlevel/dt = ")
    assert err == "Note: 1 of 50 samples of 'level' are missing.\n"


def test_a_system_is_shown_and_exported(ceql, folder):
    saved = folder / "tank.ceql"
    code, out, err = ceql("show", saved)
    assert (code, err) == (0, "")
    assert out == (folder / "out" / "report.txt").read_text(encoding="utf-8")
    assert json.loads(ceql("show", saved, "--json", "-")[1]) == json.loads((folder / "tank.json").read_text())
    assert "function slopes!(du, u, p, t)" in ceql("export", saved, "--to", "julia")[1]
    assert ceql("export", saved, "--to", "python")[1] == (folder / "out" / "slopes.py").read_text(encoding="utf-8")
    assert ceql("report", saved, "--out", folder / "again.html")[0] == 0
    assert (folder / "again.html").exists()


def test_a_new_initial_state_is_simulated(ceql, folder):
    saved = folder / "tank.ceql"
    code, out, err = ceql("simulate", saved, "--initial", "level=5", "--until", "4", "--steps", "8")
    assert (code, err) == (0, "")
    made = pd.read_csv(io.StringIO(out))
    expected = ODERegressor.load(saved).simulate([5.0], np.linspace(0, 4, 9))
    assert np.allclose(made, expected, rtol=1e-6)
    columns = json.loads(
        ceql("simulate", saved, "--initial", "level=5", "--until", "4", "--steps", "8", "--json", "-")[1]
    )
    assert columns["level"] == expected["level"].tolist()
    fitted = pd.read_csv(io.StringIO(ceql("simulate", saved, "--trajectory", "b", "--until", "9")[1]))
    series = ODERegressor.load(saved).finding_.series
    assert fitted["t"].iloc[0] == pytest.approx(series.trajectories[1].time[0])
    assert len(fitted) == 201


def test_inputs_come_as_numbers_or_from_a_table(ceql, driven, tmp_path):
    ODERegressor()._take(driven, "run").save(tmp_path / "m.ceql")
    time = np.linspace(0, 5, 11)
    pd.DataFrame({"t": time, "u": 0.7}).to_csv(tmp_path / "u.csv", index=False)
    common = ("simulate", tmp_path / "m.ceql", "--initial", "level=1", "--until", "5", "--trajectory", "fast")
    _, plain, _ = ceql(*common, "--input", "u=0.7")
    _, table, _ = ceql(*common, "--inputs", tmp_path / "u.csv")
    one, other = (pd.read_csv(io.StringIO(text))["level"] for text in (plain, table))
    assert np.allclose(one, other, rtol=1e-6)


def test_a_trajectory_that_ends_is_told(ceql, system_of, finding_of, tmp_path):
    finding = finding_of(system_of({"x": "x**2"}), [[1.0]], np.linspace(0, 0.9, 30))
    ODERegressor()._take(finding, None).save(tmp_path / "m.ceql")
    code, out, err = ceql("simulate", tmp_path / "m.ceql", "--initial", "x=1", "--until", "2", "--steps", "20")
    assert code == 0
    assert out.splitlines()[-1].endswith("nan")
    assert "Warning: the trajectory ends at t = 0.9" in err


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("ode", "tank.csv", "--time", "time"), 1, "There is no column 'time'"),
        (("ode", "tank.csv", "--state", "Level"), 1, "Did you mean 'level'?"),
        (("ode", "tank.csv"), 1, "the time goes back from t = "),
        (("ode", "tank.csv", "--order", "3"), 2, "'3' is not one of '1', '2'"),
        (("ode", "tank.csv", "--per-trajectory", "outo"), 2, "Did you mean 'auto'?"),
        (("ode", "tank.csv", "--ordr", "2"), 2, "--order"),
        (("ode", "nothing.csv"), 1, "There is no file"),
        (("ode", "tank.csv", "--save", "-"), 2, "cannot be written to '-'"),
        (("ode", "tank.csv", "--save", "nowhere/m.ceql"), 1, "cannot be written"),
        (("simulate", "tank.ceql", "--until", "4"), 2, "whose initial state to use with --trajectory: a, b."),
        (("simulate", "tank.ceql", "--until", "4", "--initial", "level:5"), 2, "such as x=1,y=2, not 'level:5'"),
        (("simulate", "tank.ceql", "--until", "-1", "--initial", "level=5"), 2, "--until must be later than"),
        (("simulate", "tank.ceql", "--until", "4", "--initial", "lvl=5"), 1, "Did you mean 'level'?"),
        (("simulate", "tank.csv", "--until", "4"), 1, "is not a saved system"),
        (("show", "tank.ceql", "--row", "1"), 2, "--row cannot be used with a system"),
        (("export", "tank.ceql", "--to", "excel"), 1, "There is no language to export a system to 'excel'"),
        (("predict", "tank.ceql", "tank.csv"), 1, "holds a system of differential equations: see `ceql simulate`"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(ceql, folder, monkeypatch, words, code, sentence):
    monkeypatch.chdir(folder)
    done, out, err = ceql(*words)
    assert (done, out) == (code, "")
    assert sentence in err
