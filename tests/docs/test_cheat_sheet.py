"""Every command and every piece of Python on the cheat sheet runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ceql.__main__ import cli

SHEET = (Path(__file__).parents[2] / "docs" / "cheat-sheet.md").read_text(encoding="utf-8")
BASE = "ceql fit lens.csv --target image"
# They wait for somebody: a browser, and a page of help.
SERVED = ("ceql app",)
SPAN = re.compile(r"`([^`]+)`")
SECONDS = 1  # at most, for those under which no formula is exact


def cells(heading: str) -> list[list[str]]:
    """The rows of the tables below a heading, without their head."""
    section = SHEET.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip().strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


SECTIONS = {heading: cells(heading) for heading in re.findall(r"^## (.+)$", SHEET, re.MULTILINE)[:-1]}
OPTIONS = [heading for heading in SECTIONS if "option" in heading.lower() or heading == "Columns and rows"]


def commands() -> list[str]:
    """As they are typed; an option alone belongs to a fit."""
    found = []
    for rows in SECTIONS.values():
        for row in rows:
            for span in SPAN.findall(row[1]):
                command = f"{BASE} {span}" if span.startswith("--") else span
                found.append(command)
    return [command for command in found if not command.startswith(SERVED)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("sheet")
    rng = np.random.default_rng(0)
    distance, focal = rng.uniform(4, 8, 60).round(2), np.repeat([2.0, 2.5, 3.0], 20)
    table = pd.DataFrame({"distance": distance, "focal": focal, "image": distance * focal / (distance - focal)})
    table.to_csv(place / "lens.csv", index=False)
    table.drop(columns="image").to_csv(place / "new.csv", index=False)
    return place


def test_there_are_tables():
    assert all(SECTIONS.values())
    assert len(commands()) > 30


def test_every_command_runs(folder, monkeypatch):
    monkeypatch.chdir(folder)
    saving = next(command for command in commands() if "--save" in command)
    other = saving.replace("lens.ceql", "other.ceql")
    for command in (saving, other, *commands()):
        short = f"--time-limit {SECONDS}" if command.startswith(BASE) and "--time-limit" not in command else ""
        done = CliRunner().invoke(cli, shlex.split(f"{command} {short}")[1:])
        assert done.exit_code == 0, f"{command}\n{done.output}"


def test_every_piece_of_python_runs(folder):
    head = re.search(r"^```python\n(.*?)^```$", SHEET, re.MULTILINE | re.DOTALL)
    assert head is not None
    lines = ["import matplotlib", "matplotlib.use('agg')", head[1]]
    for heading, rows in SECTIONS.items():
        for row in rows:
            for span in SPAN.findall(row[2]):
                is_argument = heading in OPTIONS and heading != "Columns and rows"
                call = f"CEQLRegressor({span}).fit(X, y)" if is_argument else span
                short = "verbose=False, " if "time_limit" in call else f"verbose=False, time_limit={SECONDS}, "
                lines.append(call.replace("CEQLRegressor(", f"CEQLRegressor({short}", 1))
    (folder / "sheet.py").write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run([sys.executable, "sheet.py"], cwd=folder, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
