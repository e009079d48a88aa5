"""What a command has found is not lost where it cannot be written, and is written to nothing but plain files."""

from __future__ import annotations

import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ceql import CEQLRegressor, load
from ceql.__main__ import exit_code
from ceql.errors import InputError
from ceql.storage.checkpoint import read_checkpoint, to_bytes

GOOD = "a,b,y\n" + "".join(f"{k},{k * k % 7},{2 * k + 1}\n" for k in range(1, 13))
QUICK = ("--operators", "mul", "--time-limit", "5", "--quiet")


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "good.csv"
    path.write_text(GOOD)
    return path


@pytest.fixture
def nearly_full(monkeypatch) -> None:
    """A disk with room for what is tried beforehand, and for nothing larger."""
    real = os.fsync

    def fsync(handle: int) -> None:
        if os.fstat(handle).st_size > 4096:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)


def test_what_was_found_outlives_a_full_disk(ceql, tmp_path, monkeypatch, nearly_full):
    monkeypatch.chdir(tmp_path)
    x = np.linspace(1, 2, 400)
    pd.DataFrame({"x": x, "y": 2 * x}).to_csv("t.csv", index=False)
    outputs = ("--save", "m.ceql", "--report", "m.html", "--json", "m.json")
    code, out, err = ceql("fit", "t.csv", "--target", "y", *QUICK, *outputs)
    assert code == 1
    assert out == "2*x\n"
    assert "m.ceql cannot be written: No space left on device." in err
    assert "m.html cannot be written: No space left on device." in err
    assert json.loads(Path("m.json").read_text())["expression"] == "2*x"  # it is small enough


def without_times(words: str) -> str:
    return re.sub(r"\(\d+\.\d s\)", "", words)


def test_a_checkpoint_stays_until_all_is_written(ceql, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.linspace(0.5, 3, 60)
    pd.DataFrame({"x": x, "y": np.sqrt(x + 0.3)}).to_csv("t.csv", index=False)
    every = ("--checkpoint-every", "1e-6")
    asked = ("fit", "t.csv", "--target", "y", "--operators", "sqrt", *every, "--save", "m.ceql", "--json", "m.json")
    with monkeypatch.context() as patch:
        real = Path.replace

        def full(self: Path, place: Path) -> Path:
            if Path(place).name == "m.ceql":
                raise OSError(28, "No space left on device")
            return real(self, place)

        patch.setattr(Path, "replace", full)
        code, out, err = ceql(*asked)
    assert code == 1
    assert out.startswith("y = ")
    (kept,) = tmp_path.glob("*.ceql-checkpoint")
    assert f"The search is saved in {kept.name}: the same command with --resume writes its result again." in err
    state, fingerprint = read_checkpoint(kept)
    assert state.ending is not None
    kept.write_bytes(to_bytes(replace(state, ending=replace(state.ending, starts=123)), fingerprint))
    code, again, _ = ceql(*asked, "--resume")
    assert (code, without_times(again)) == (0, without_times(out))
    assert json.loads(Path("m.json").read_text())["starts"] == 123  # what was kept, not another search
    assert load("m.ceql").predict(np.array([[0.7]])) == pytest.approx(1.0)
    kept.unlink(missing_ok=True)
    assert ceql(*asked)[0] == 0
    assert list(tmp_path.glob("*checkpoint*")) == []


@pytest.mark.skipif(os.name != "posix", reason="no devices and pipes with names")
@pytest.mark.parametrize("option", ["--save", "--report", "--json"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_devices_and_pipes_are_refused_before_the_search(ceql, tmp_path, table, option, kind):
    place = Path("/dev/null") if kind == "device" else tmp_path / "pipe"
    if kind == "pipe":
        os.mkfifo(place)
    code, _, err = ceql("fit", table, "--target", "y", "--operators", "lgo", option, place)
    assert code == 1  # and not because of an operator that a search would not know
    assert f"{place} cannot be written: it is a {kind}, not a regular file. Choose another file." in err
    assert not place.is_file()


def test_a_link_stays_a_link(ceql, tmp_path, table):
    (tmp_path / "there").mkdir()
    for name in ("m.ceql", "m.json"):
        (tmp_path / name).symlink_to(tmp_path / "there" / name)
    outputs = ("--save", tmp_path / "m.ceql", "--json", tmp_path / "m.json")
    assert ceql("fit", table, "--target", "y", *QUICK, *outputs)[0] == 0
    assert (tmp_path / "m.ceql").is_symlink()
    assert (tmp_path / "m.json").is_symlink()
    assert load(tmp_path / "there" / "m.ceql").target_names_ == ["y"]
    assert json.loads((tmp_path / "there" / "m.json").read_text())["target"] == "y"


# ---- CSV ----------------------------------------------------------------------------------------------------------


def test_a_spreadsheet_runs_nothing_that_is_predicted(ceql, tmp_path):
    target, note = "=cmd|' /C calc'!A0", "@SUM(1)"
    x = np.linspace(1, 2, 12)
    frame = pd.DataFrame({"x": x, target: 2 * x})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert ceql("fit", tmp_path / "t.csv", "--target", target, *QUICK, "--save", tmp_path / "m.ceql")[0] == 0
    (tmp_path / "new.csv").write_text(f"x,{note},+name\n-1,=1+1,-2.5\n2,plain,\n")
    out = ceql("predict", tmp_path / "m.ceql", tmp_path / "new.csv", "--with-inputs")[1]
    made = pd.read_csv(io.StringIO(out))
    assert list(made) == ["x", f"'{note}", "'+name", f"'{target}"]
    assert out.splitlines()[1].startswith("-1,'=1+1,-2.5,-2.0")


# ---- names that are not whole -------------------------------------------------------------------------------------


def test_half_a_character_in_a_name_gets_a_sentence(ceql, table, tmp_path):
    half = "speed\ud800"
    x = np.linspace(1, 2, 12)
    column = pd.DataFrame(x[:, None], columns=pd.Index([half], dtype=object))
    for X, y in [(column, x), (pd.DataFrame({"x": x}), pd.Series(x, name=half))]:
        with pytest.raises(InputError, match=r"is called 'speed\\ud800', which is not valid text"):
            CEQLRegressor().fit(X, y)
    with pytest.raises(InputError, match="A target is called"):
        CEQLRegressor().fit(
            x[:, None], pd.DataFrame(np.column_stack([x, x]), columns=pd.Index(["a", half], dtype=object))
        )
    (tmp_path / "escaped.csv").write_text("speed\\ud800,y\n1,2\n2,3\n")
    code, _, err = ceql("fit", tmp_path / "escaped.csv", "--target", "y", "--encoding", "unicode_escape")
    assert code == 1
    assert "escaped.csv is called 'speed\\ud800', which is not valid text" in err
    ceql("fit", table, "--target", "y", *QUICK, "--save", tmp_path / "m.ceql")
    text = (tmp_path / "m.ceql").read_text()
    (tmp_path / "m.ceql").write_text(text.replace('["a", "b"]', '["a", "\\ud800"]'))
    code, _, err = ceql("show", tmp_path / "m.ceql")
    assert code == 1
    assert "m.ceql is damaged: 'names' holds '\\ud800', which is not a name." in err


def test_output_that_the_terminal_has_no_letters_for(monkeypatch, capsys, tmp_path):
    (tmp_path / "t.csv").write_text("λ,y\n" + "".join(f"{k},{2 * k}\n" for k in range(1, 9)))
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr("sys.stdout", narrow)
    assert exit_code(["fit", str(tmp_path / "t.csv"), "--target", "y", *QUICK]) == 1
    assert (
        "The output contains '\\u03bb', which the encoding latin-1 of standard output cannot represent"
        in capsys.readouterr().err
    )
