"""A run in a file: repeated, changed on the command line, and refused in a sentence where it cannot be right."""

from __future__ import annotations

import tomllib
from pathlib import Path

import click
import numpy as np
import pytest

from ceql import CEQLRegressor, load
from ceql.__main__ import cli
from ceql.cli.project_file import known_keys
from ceql.cli.sections import SectionedCommand

QUICK = ("--operators", "mul", "--time-limit", "5", "--quiet")
TABLE = "a,b,w,y\n" + "".join(f"{k},{k * k % 7},{1 + k % 3},{2 * k + 1}\n" for k in range(1, 13))


@pytest.fixture
def table(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/t.csv").write_text(TABLE)
    return Path("data/t.csv")


def test_what_is_written_repeats_the_run(ceql, table):
    said = ("--weights", "w", "--loss", "huber", "--guess", "p*a + q", "--constraint", "without=['sin']")
    code, out, err = ceql("fit", table, "--target", "y", *QUICK, *said, "--write-config", "data/fit.toml")
    assert (code, out, err) == (0, "2*a + 1\n", "")
    content = tomllib.loads(Path("data/fit.toml").read_text())
    assert content["table"] == "t.csv"  # as seen from the file
    assert (content["weights"], content["loss"], content["guess"]) == ("w", "huber", ["p*a + q"])
    assert content["constraints"] == {"without": ["sin"]}
    code, out, err = ceql("fit", "--config", "data/fit.toml", "--save", "m.ceql")
    assert (code, err) == (0, "")
    model = load("m.ceql")
    assert str(model.discovery_.best) == "2*a + 1"
    parameters = model.get_params()
    assert (parameters["loss"], parameters["guesses"]) == ("huber", ["p*a + q"])
    assert parameters["constraints"].without == ("sin",)
    assert list(model.feature_names_in_) == ["a", "b"]


def test_the_command_line_wins_and_a_changed_table_is_noticed(ceql, table):
    Path("fit.toml").write_text(
        "table = 'data/t.csv'\ntarget = 'b'\noperators = ['mul']\ntime_limit = 5\n"
        "[record]\nceql = '0.0.1'\ntable_sha256 = 'another'\n"
    )
    code, out, err = ceql("fit", "--config", "fit.toml", "--target", "y", "--features", "a", "--quiet")
    assert (code, out) == (0, "2*a + 1\n")
    assert "the run was made with ceql 0.0.1" in err
    assert "data/t.csv has changed since that run" in err


def test_a_template_in_a_file_and_on_the_command_line(ceql, table):
    said = ("--target", "y", "--features", "a", "--time-limit", "5", "--quiet", "--save", "m.ceql")
    assert ceql("fit", table, *said, "--template", "k*a + d", "--parameter", "k={low=0}")[0] == 0
    assert load("m.ceql").get_params()["template"].parameters["k"].low == 0
    Path("fit.toml").write_text("template = 'k*a + d'\n")
    assert ceql("fit", table, *said, "--config", "fit.toml")[0] == 0
    assert sorted(load("m.ceql").get_params()["template"].parameters) == ["d", "k"]
    code, _, err = ceql("fit", table, "--target", "y", "--parameter", "k={low=0}")
    assert code == 2
    assert "give --template as well" in err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("time_limt = 3", "There is no setting 'time_limt'. Did you mean 'time_limit'?"),
        ("time_limit = 'long'", "'time_limit' is 'long'; it must be a number."),
        ("time_limit = -1", "'time_limit' is -1: -1.0 is not in the range x>0."),
        ("time_limit = true", "'time_limit' is True; it must be a number."),
        ("max_complexity = 2.5", "'max_complexity' is 2.5; it must be a whole number."),
        ("catalogue = 1", "'catalogue' is 1; it must be true or false."),
        ("features = [1, 2]", "'features' is [1, 2]; it must be a list of strings."),
        ("select = 'bset'", "Did you mean 'best'?"),
        ("quiet = true", "There is no setting 'quiet'."),
        ("constraints = 'none'", "'constraints' is 'none'; it must be a table, [constraints]."),
        ("table =", "is not valid TOML"),
        ("[constraints]\nwitout = ['sin']", "There is no constraint 'witout'. Did you mean 'without'?"),
        ("[constraints]\nwithout = ['sni']", "There is no operator 'sni'. Did you mean 'sin'?"),
        ("[template]\nform = 'a*b'", "There is no part of a template 'form'. Did you mean 'formula'?"),
        (
            "[template]\nformula = 'k*a'\nparameters = {k = 3}",
            "The parameters of a template must be tables with their names",
        ),
        ("[template]\nformula = 'k*a'\nparameters = {k = {lo = 3}}", "'lo'"),
        ("[policy]\nround_sise = 3", "policy has no number called 'round_sise'."),
        ("weights = 'c'", "There is no column 'c'."),
        ("guess = ['a*(']", "The guess 'a*(' cannot be read"),
        ("loss = 'hubert'", "'hubert'"),
    ],
)
def test_what_cannot_be_right_gets_a_sentence(ceql, table, content, words):
    Path("fit.toml").write_text(content)
    code, out, err = ceql("fit", table, "--target", "y", *QUICK, "--config", "fit.toml")
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert words in err
    assert err.count("\n") == 1


def test_weights_count(ceql, tmp_path):
    x = np.linspace(1, 4, 12)
    good = np.arange(12) % 3 > 0
    y = np.where(good, 3 * x, 50.0)
    rows = "".join(f"{a},{int(g)},{b}\n" for a, g, b in zip(x, good, y, strict=True))
    (tmp_path / "t.csv").write_text("x,good,y\n" + rows)
    assert ceql("fit", tmp_path / "t.csv", "--target", "y", *QUICK, "--weights", "good")[:2] == (0, "3*x\n")


def test_whatever_python_can_say_the_command_can():
    names = {
        "model_selection": "select",
        "guesses": "guess",
        "n_jobs": "jobs",
        "random_state": "seed",
    }
    own = {"verbose", "warm_start"}  # of a session in Python; --quiet and --resume stand for them
    keys = {*known_keys(cli.commands["fit"]), "template", "constraints", "policy", "prices"}
    assert {names.get(name, name) for name in CEQLRegressor().get_params() if name not in own} <= keys


def test_every_option_stands_in_a_section():
    command = cli.commands["fit"]
    assert isinstance(command, SectionedCommand)
    options = [str(param.name) for param in command.params if isinstance(param, click.Option)]
    assert sorted(options) == sorted(name for names in command.sections.values() for name in names)
