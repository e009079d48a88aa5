"""A saved model on the command line: shown, used and exported, alone and in pipes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ceql import load
from ceql.__main__ import cli, exit_code

COMMAND = [sys.executable, "-c", "from ceql.__main__ import main; main()"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A table with awkward names and the model that `ceql fit` saves for it."""
    path = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.uniform(1, 3, 40) for name in ("lambda", "x y", "pi")})
    frame["I"] = frame["lambda"] / (frame["x y"] - 0.4)
    frame.to_csv(path / "data.csv", index=False)
    data, saved = str(path / "data.csv"), str(path / "m.ceql")
    assert exit_code(["fit", data, "--target", "I", "--operators", "mul,div", "--quiet", "--save", saved]) == 0
    return path


@pytest.fixture(scope="module")
def model(folder) -> Path:
    return folder / "m.ceql"


def test_show_says_what_was_found_and_how(ceql, model):
    code, out, err = ceql("show", model)
    assert (code, err) == (0, "")
    assert out.startswith("I = ")
    for words in ("size", "x y from 1.", "rows", "operators: mul, div", "seed 0", "is the chosen one", "exact"):
        assert words in out


def test_show_as_json_and_of_another_row(ceql, model, tmp_path):
    report = json.loads(ceql("show", model, "--json", "-")[1])
    assert report["target"] == "I"
    assert report["features"] == ["lambda", "x y", "pi"]
    assert report["front"][report["chosen"]]["expression"] == report["expression"]
    simplest = json.loads(ceql("show", model, "--json", "-", "--row", "0")[1])
    assert simplest["expression"] == report["front"][0]["expression"]
    assert ceql("show", model, "--row", "0")[1].startswith(f"I = {simplest['expression']}\n")
    assert ceql("show", model, "--json", tmp_path / "m.json")[1] == ""
    assert json.loads((tmp_path / "m.json").read_text()) == report
    code, _, err = ceql("show", model, "--row", "99")
    assert code == 1
    assert "there is no row 99" in err


def test_poles_and_errors_of_constants_are_shown(ceql, tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"t": rng.uniform(-2, 2, 60)})
    frame["y"] = 1.3 / (frame["t"] - 0.52) + 0.02 * rng.standard_normal(60)
    frame.to_csv(tmp_path / "noisy.csv", index=False)
    arguments = ("--target", "y", "--operators", "div", "--time-limit", "5", "--max-complexity", "8")
    ceql("fit", tmp_path / "noisy.csv", *arguments, "--no-checkpoint", "--save", tmp_path / "m.ceql")
    out = ceql("show", tmp_path / "m.ceql")[1]
    assert "pole: t = 0.5" in out
    assert out.count(" ± ") == 2
    assert "pole" not in ceql("show", tmp_path / "m.ceql", "--row", "0")[1]


def test_predictions_are_those_of_the_model(ceql, folder, model, tmp_path):
    table = pd.read_csv(folder / "data.csv")
    expected = load(model).predict(table[["lambda", "x y", "pi"]])
    shuffled = table[["pi", "x y", "I", "lambda"]]
    shuffled.to_csv(tmp_path / "new.csv", index=False)
    code, out, err = ceql("predict", model, tmp_path / "new.csv")
    assert (code, err) == (0, "")
    made = pd.read_csv(io.StringIO(out))
    assert list(made) == ["I"]
    assert np.array_equal(made["I"], expected)
    ceql("predict", model, tmp_path / "new.csv", "--with-inputs", "--out", tmp_path / "out.csv")
    made = pd.read_csv(tmp_path / "out.csv")
    assert list(made) == [*shuffled, "predicted I"]
    assert np.array_equal(made["predicted I"], expected)
    row = pd.read_csv(io.StringIO(ceql("predict", model, tmp_path / "new.csv", "--row", "0")[1]))
    assert len(np.unique(row["I"])) == 1


def test_rows_that_are_undefined_or_outside_are_counted(ceql, model, tmp_path):
    (tmp_path / "new.csv").write_text("lambda,x y,pi\n2,2,2\n0,0.4,2\n9,2,2\n2,2,99\n")
    code, out, err = ceql("predict", model, tmp_path / "new.csv")
    assert code == 0
    assert out.splitlines()[2] == "nan"
    assert err == (
        "Warning: the formula is undefined in 1 of 4 rows.\n"
        "Warning: 2 of 4 rows lie outside the range of the training data.\n"
    )


def test_rows_with_gaps_have_no_prediction(ceql, model, tmp_path):
    (tmp_path / "new.csv").write_text("lambda,x y,pi\n2,2,2\n2,,2\n")
    code, out, err = ceql("predict", model, tmp_path / "new.csv", "--interval", 0.9)
    assert code == 0
    assert out.splitlines()[2] == "nan,nan,nan"
    assert "there is no prediction in 1 of 2 rows, where a column of the formula has a gap." in err
    assert "undefined" not in err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("lambda,xy,pi\n1,2,3\n", "There is no column 'x y'. Did you mean 'xy'?"),
        ("lambda,x y,pi\n1,2,3\n1,2 m,3\n", "line 3, column 'x y': '2 m' is not a number. Correct it.\n"),
        (
            "lambda,x y,pi\n1,2,3\n1,none,3\n",
            "is not a number. Correct it. If it marks a missing value, use --missing-mark none.\n",
        ),
        ("lambda,x y,pi\n", "no rows"),
    ],
)
def test_tables_that_cannot_be_predicted(ceql, model, tmp_path, content, words):
    (tmp_path / "new.csv").write_text(content)
    code, out, err = ceql("predict", model, tmp_path / "new.csv")
    assert (code, out) == (1, "")
    assert words in err


def test_a_model_without_a_name_for_its_target(ceql, tmp_path):
    from ceql import CEQLRegressor

    x = np.linspace(1, 2, 20)[:, None]
    CEQLRegressor(operators=["mul"], time_limit=5).fit(x, 2 * x[:, 0]).save(tmp_path / "m.ceql")
    (tmp_path / "new.csv").write_text("x1\n1\n2\n")
    assert ceql("predict", tmp_path / "m.ceql", tmp_path / "new.csv")[1] == "y\n2.0\n4.0\n"
    assert ceql("show", tmp_path / "m.ceql")[1].startswith("y = 2*x1\n")
    assert "def y(x1)" in ceql("export", tmp_path / "m.ceql", "--to", "python")[1]


def test_export(ceql, model, tmp_path):
    code, out, _ = ceql("export", model, "--to", "numpy")
    assert code == 0
    assert out == load(model).export("numpy")
    assert "def I(lambda_, x_y, pi):" in out
    assert ceql("export", model, "--to", "c", "--out", tmp_path / "f.c", "--row", "0")[1] == ""
    assert (tmp_path / "f.c").read_text() == load(model).export("c", row=0)


def test_a_file_from_before_targets_had_names_still_loads(model, tmp_path):
    content = json.loads(model.read_text())
    assert content.pop("target_names") == ["I"]
    assert content.pop("ceql")
    (tmp_path / "old.ceql").write_text(json.dumps(content))
    assert load(tmp_path / "old.ceql").target_names_ == ["y"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: "", "is not a ceql model, or only part of one"),
        (lambda text: text[: len(text) // 2], "is not a ceql model, or only part of one"),
        (lambda text: "a,b\n1,2\n", "is not a ceql model"),
        (lambda text: '{"format": "other"}', "is not a ceql model"),
        (lambda text: text.replace('"version": 1', '"version": 9'), "has version 9 of the format, but this ceql reads"),
    ],
)
@pytest.mark.parametrize("command", [("show",), ("export", "--to", "c")])
def test_files_that_are_no_model(ceql, model, tmp_path, change, words, command):
    (tmp_path / "bad.ceql").write_text(change(model.read_text()))
    code, out, err = ceql(*command, tmp_path / "bad.ceql")
    assert (code, out) == (1, "")
    assert words in err


def test_a_model_that_is_not_there(ceql, tmp_path):
    assert "There is no file" in ceql("show", tmp_path / "m.ceql")[2]
    assert "cannot be read: Is a directory" in ceql("show", tmp_path)[2]
    (tmp_path / "m.ceql").write_bytes(b"\xff\xfe\x00")
    assert "is not a ceql model" in ceql("show", tmp_path / "m.ceql")[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("exprt",), "Did you mean 'export'?"),
        (("export", "m", "--to", "fotran"), "Did you mean 'fortran'?"),
        (("export", "m", "--too", "c"), "'--to'"),
        (("fit", "t.csv", "--targt", "y"), "'--target'"),
        (("fit", "t.csv", "--target", "y", "--device", "gpuu"), "Did you mean 'gpu'?"),
        (("export", "m"), "Missing option '--to'"),
        (("predict", "m"), "Missing argument 'TABLE'"),
        (("show", "m", "--row", "first"), "'first' is not a whole number."),
    ],
)
def test_slips_get_the_nearest_name_and_code_2(ceql, arguments, words):
    code, out, err = ceql(*arguments)
    assert (code, out) == (2, "")
    assert words in err


def test_a_reader_that_stops_early_ends_the_command_without_a_word(model):
    piped = ["bash", "-c", 'set -o pipefail; "$@" | true', "-", *COMMAND, "show", str(model)]
    done = subprocess.run(piped, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device to write to")
def test_standard_output_that_is_full(model):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "show", str(model)], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "Error: No space left on device.\n")


def test_every_command_explains_itself_with_an_example(ceql):
    for name in cli.commands:
        code, out, _ = ceql(name, "--help")
        assert code == 0
        assert out.startswith("Usage: ceql")
    for name in ("fit", "show", "predict", "export"):
        assert "Examples:" in ceql(name, "--help")[1]


def test_help_is_light():
    code = (
        "import sys; from ceql.__main__ import cli; print({'sympy', 'pandas', 'numpy', 'sklearn'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"
