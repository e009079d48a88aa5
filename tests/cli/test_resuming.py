"""`ceql fit` and its checkpoints as a shell user meets them, a kill included."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from ceql.__main__ import cli
from ceql.cli.resuming import SUFFIX, checkpoint_for, how_to_go_on, own_path
from ceql.discovery import Outcome
from ceql.search.state import Ending, SearchState
from ceql.storage.checkpoint import Checkpoint, CheckpointError, read_checkpoint, to_bytes

COMMAND = [sys.executable, "-c", "from ceql.__main__ import main; main()", "fit", "data.csv", "--target", "y"]
OPTIONS = {"operators": "div", "seed": 0, "time_limit": 60.0}
POLICY = {"named": None, "checkpoint_every": 5.0, "no_checkpoint": False, "resume": False}
TABLE = Path("/data/a.csv")
OWN = own_path(TABLE, ["y"], POLICY)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Noisy, so that the search takes some rounds and ends when it has settled."""
    path = tmp_path_factory.mktemp("folder")
    rng = np.random.default_rng(1)
    t = rng.uniform(-2, 2, 30)
    frame = pd.DataFrame({"t": t, "y": 1.3 / (t - 0.52) + 0.02 * rng.standard_normal(30), "line": 2 * t + 1})
    frame.to_csv(path / "data.csv", index=False)
    return path


def ceql(*arguments: object) -> Result:
    """The command in this process, which spares its start."""
    return CliRunner().invoke(cli, ["fit", "data.csv", "--target", "y", "--features", "t", *map(str, arguments)])


def kept_by(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{SUFFIX}"))


def answer(done: Result) -> tuple:
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    return report["expression"], report["outcome"], report["starts"]


def kill_after_a_checkpoint(folder: Path, arguments: list[str], path: Path, seconds: float) -> None:
    before = path.stat().st_mtime_ns if path.exists() else None

    def is_new() -> bool:
        return path.exists() and path.stat().st_mtime_ns != before and read_checkpoint(path)[0].rounds > 0

    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        while running.poll() is None and not is_new():
            time.sleep(0.02)
        time.sleep(seconds)
        running.kill()
        running.communicate()
        assert running.returncode == -signal.SIGKILL


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_it_finds_what_it_would_have_found(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    options = ["--features", "t", "--operators", "div", "--time-limit", "250", "--json", "-"]
    undisturbed = answer(ceql(*options, "--no-checkpoint"))
    assert undisturbed[1] == "settled"
    path = tmp_path / "run.ckpt"
    often = [*options, "--checkpoint", str(path), "--checkpoint-every", "0.05", "--resume"]
    kill_after_a_checkpoint(folder, often, path, 0.1)
    assert read_checkpoint(path)[0].rounds > 0
    assert answer(ceql(*often)) == undisturbed
    written = path.read_bytes()
    again = ceql(*often)
    assert path.read_bytes() == written  # it had ended: the answer comes at once
    assert answer(again) == undisturbed
    assert again.stderr == ""


def test_out_of_time_leaves_a_checkpoint_of_its_own_and_says_so(folder, monkeypatch):
    monkeypatch.chdir(folder)
    short = ["--operators", "mul,div", "--time-limit", "0.2", "--checkpoint-every", "0.01"]
    first = ceql(*short, "--seed", 1)
    assert first.exit_code == 0, first.output
    (path,) = kept_by(folder)
    assert f"The search is saved in {path.name}: add --resume to continue it" in first.stderr
    other = ceql(*short, "--seed", 2, "--resume")
    assert "starting from the beginning" in other.stderr
    assert f"(with other options there is {path.name}; --checkpoint names one)" in other.stderr
    refused = ceql("--operators", "mul,div", "--seed", 3, "--resume", "--checkpoint", path.name)
    assert isinstance(refused.exception, CheckpointError)
    assert "belongs to another search: seed is 3 here and 1 there" in str(refused.exception)
    anew = ceql(*short, "--seed", 1)
    assert f"{path.name} holds this search from an earlier run" in anew.stderr
    for kept in kept_by(folder):
        kept.unlink()


def test_a_quick_search_leaves_nothing(folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(cli, ["fit", "data.csv", "--target", "line", "--features", "t", "--operators", "mul,div"])
    assert done.exit_code == 0, done.output
    assert kept_by(folder) == []


def test_with_resume_the_file_stays_as_the_help_says(folder, monkeypatch):
    monkeypatch.chdir(folder)
    line = ["fit", "data.csv", "--target", "line", "--features", "t", "--operators", "mul,div", "--resume"]
    assert CliRunner().invoke(cli, line).exit_code == 0
    (path,) = kept_by(folder)
    path.unlink()
    told = " ".join(CliRunner().invoke(cli, ["fit", "--help"]).output.split())
    assert "With --resume or --checkpoint the file is kept" in told


def test_what_does_not_go_together(folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = ceql("--no-checkpoint", "--resume")
    assert done.exit_code == 2
    assert "--no-checkpoint cannot be combined with --checkpoint or --resume" in done.stderr


# ---- the policy, without a search ---------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_named_file_is_not_overwritten(here):
    Path("run.ckpt").touch()
    with pytest.raises(CheckpointError, match=r"run.ckpt exists already. Add --resume .* or delete it"):
        checkpoint_for(TABLE, ["y"], {**POLICY, "named": Path("run.ckpt")}, pytest.fail)


@pytest.mark.parametrize(
    ("named", "resume", "exists", "expected", "said"),
    [
        ("run.ckpt", False, False, Checkpoint(Path("run.ckpt")), 0),
        ("run.ckpt", True, False, Checkpoint(Path("run.ckpt")), 1),
        ("run.ckpt", True, True, Checkpoint(Path("run.ckpt")), 0),
        (None, False, False, Checkpoint(OWN, transient=True), 0),
        (None, True, False, Checkpoint(OWN), 1),
        (None, True, True, Checkpoint(OWN), 0),
        (None, False, True, Checkpoint(OWN, resume=False, transient=True), 1),
    ],
)
def test_which_file_and_what_for(here, named, resume, exists, expected, said):
    path = OWN if named is None else Path(named)
    if exists:
        path.touch()
    words = []
    options = {**POLICY, "named": named and Path(named), "resume": resume}
    assert checkpoint_for(TABLE, ["y"], options, words.append) == expected
    assert len(words) == said
    assert all(str(path) in word for word in words)


def test_other_options_get_another_file(here):
    paths = {
        own_path(Path(table), targets, options)
        for table in ("a.csv", "b/a.csv")
        for targets in (["y"], ["z/../.."], ["drag [N]"], ["y", "z"])
        for options in ({"seed": 0}, {"seed": 1})
    }
    assert len(paths) == 16
    assert all(path.parent == Path() and path.name.endswith(SUFFIX) for path in paths)
    more_time = {**OPTIONS, "time_limit": 3600.0, "resume": True, "jobs": 2}
    assert own_path(Path("a.csv"), ["y"], OPTIONS) == own_path(here / "a.csv", ["y"], more_time)


def test_several_targets_have_a_file_each(here):
    several, named = ["lift", "drag"], {**POLICY, "named": Path("run.ckpt")}
    assert checkpoint_for(TABLE, several, named, pytest.fail) == Checkpoint(Path("run.ckpt"))
    Path("run-drag.ckpt").write_bytes(to_bytes(SearchState(()), {"columns": []}))
    with pytest.raises(CheckpointError, match=r"run-drag.ckpt exists already"):
        checkpoint_for(TABLE, several, named, pytest.fail)
    assert "saved in run-drag.ckpt: add --resume" in how_to_go_on(
        Checkpoint("run.ckpt"), several, [Outcome.EXACT, Outcome.OUT_OF_TIME]
    )


def test_none_is_wanted(here):
    assert checkpoint_for(TABLE, ["y"], {**POLICY, "no_checkpoint": True}, pytest.fail) is None


def test_there_is_nothing_to_go_on_from_where_there_is_no_file_of_ours(here):
    assert how_to_go_on(Checkpoint("run.ckpt"), ["y"], [Outcome.OUT_OF_TIME]) == ""
    Path("run.ckpt").write_text("something else")
    assert how_to_go_on(Checkpoint("run.ckpt"), ["y"], [Outcome.OUT_OF_TIME]) == ""
    Path("run.ckpt").write_bytes(to_bytes(SearchState(()), {"columns": []}))
    assert "add --resume to continue it" in how_to_go_on(Checkpoint("run.ckpt"), ["y"], [Outcome.OUT_OF_TIME])


def test_an_interrupted_choice_can_be_made_up_for(here):
    """The search itself was done, so that its file alone would have nothing to go on with."""
    state = SearchState((), ending=Ending("SETTLED", (), 1, 9, 6.0, math.inf))
    Path("run.ckpt").write_bytes(to_bytes(state, {"columns": []}))
    assert how_to_go_on(Checkpoint("run.ckpt"), ["y"], [Outcome.SETTLED]) == ""
    assert "add --resume to continue it" in how_to_go_on(Checkpoint("run.ckpt"), ["y"], [Outcome.INTERRUPTED])
