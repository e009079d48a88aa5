"""Groups on the command line: fit, predict, adapt, export, the project file and the JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from ceql.__main__ import cli

FIT = ["fit", "lens.csv", "--target", "q", "--groups", "lens", "--template", "f*p/(p - f)"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [(lens, p, f * p / (p - f)) for lens, f in (("A", 8.0), ("B", 10.0), ("C", 12.5)) for p in range(15, 60, 6)]
    lines = [f"{lens},{p},{q * (1 + 0.002 * rng.normal()):.6g}" for lens, p, q in rows]
    (tmp_path / "lens.csv").write_text("\n".join(["lens,p,q", *lines]) + "\n")
    (tmp_path / "fourth.csv").write_text("lens,p,q\nD,20,10.7692\nD,30,9.13043\n")
    return tmp_path


def run(*arguments: str):
    return CliRunner().invoke(cli, list(arguments))


def test_a_run_from_fit_to_a_new_group(folder):
    done = run(*FIT, "--per-group", "f", "--save", "m.ceql", "--report", "m.html", "--json", "m.json")
    assert done.exit_code == 0, done.output
    assert "q = f[lens]*p/(-f[lens] + p)" in done.output
    assert [line.split()[0] for line in done.output.splitlines() if " ± " in line] == ["A", "B", "C"]
    told = json.loads((folder / "m.json").read_text())["groups"]
    assert told["column"] == "lens"
    assert told["own"]["B"]["f"]["value"] == pytest.approx(10.0, rel=2e-3)
    assert told["shared"] == {}
    assert "Group by group" in (folder / "m.html").read_text()
    values = run("predict", "m.ceql", "lens.csv").output.split()[1:]
    assert float(values[0]) == pytest.approx(8.0 * 15 / 7, rel=0.01)
    strange = run("predict", "m.ceql", "fourth.csv")
    assert "knows no group 'D' of lens" in str(strange.exception)
    grown = run("adapt", "m.ceql", "fourth.csv", "--save", "n.ceql")
    assert grown.exit_code == 0, grown.output
    assert "D     6.9999" in grown.output
    assert float(run("predict", "n.ceql", "fourth.csv").output.split()[1]) == pytest.approx(10.7692, rel=1e-3)
    assert "def q(p)" in run("export", "n.ceql", "--to", "python", "--group", "D").output
    assert "name the group, such as" in str(run("export", "n.ceql", "--to", "c").exception)
    assert "A" in run("show", "n.ceql").output
    assert "constants of groups" in str(run("compare", "m.ceql", "n.ceql", "--on", "lens.csv").exception)


@pytest.mark.parametrize("which", ["f", "auto", "1"])
def test_the_project_file_holds_it(folder, which):
    assert run(*FIT, "--per-group", which, "--write-config", "fit.toml", "--quiet").exit_code == 0
    assert f'per_group = "{which}"' in (folder / "fit.toml").read_text()
    again = run("fit", "--config", "fit.toml", "--quiet")
    assert again.output.strip() == "f[lens]*p/(-f[lens] + p)"


def test_what_does_not_go_together_is_said(folder):
    alone = run("fit", "lens.csv", "--target", "q", "--per-group", "auto")
    assert "--per-group needs --groups" in alone.output
    kept = run(*FIT, "--per-group", "f", "--resume")
    assert "cannot use checkpoints" in kept.output
    run("fit", "lens.csv", "--target", "q", "--template", "a*p", "--exclude", "lens", "--save", "plain.ceql")
    assert "no constants of groups" in run("adapt", "plain.ceql", "fourth.csv", "--save", "x.ceql").output
