"""The command says in flags what the library says in parameters, and names none that does not exist."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

from ceql import CEQLRegressor
from ceql.__main__ import cli, exit_code
from ceql.cli.fit_command import fit
from ceql.cli.flags import IN_PYTHON, flags_of
from ceql.errors import in_terms_of
from ceql.search.outcome import Outcome

KNOWN = {flag for command in cli.commands.values() for param in command.params for flag in param.opts} | {"--help"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.linspace(1.0, 4.0, 30)
    y = 2.0 * x + 0.1 * np.random.default_rng(0).standard_normal(30)
    rows = [f"{a:.6g},{b:.6g},0.1,{'ab'[k % 2]}" for k, (a, b) in enumerate(zip(x, y, strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(["x,y,s,g", *rows]) + "\n")
    (tmp_path / "two.csv").write_text("\n".join(["x,y", *(f"{a},{2 * a}" for a in range(20))]) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("t.csv --target y --groups g --per-group autoo", "--per-group names autoo, which only a template has: give"),
        ("t.csv --target y --groups g --per-group autoo", "or use --per-group auto."),
        ("t.csv --target y --groups g --per-group auto --loss huber", "--per-group needs --loss squared:"),
        ("t.csv --target y --sigma-x x=s", "--sigma-x needs --sigma, the errors of y"),
        ("t.csv --target y --sigma s --weights s", "Give either --sigma or --weights, not both"),
        ("t.csv --target y --recipe paper --loss huber", "needs --recipe search:"),
        ("t.csv --target y --time-limit abc", "'abc' is not a number."),
        ("t.csv --target y --cv many", "'many' is not a whole number."),
        ("t.csv --target y --loss hubr", "There is no loss 'hubr'. Did you mean 'huber'? Known: absolute,"),
        ("t.csv --target y --loss hubr", "squared. A formula of your own contains `residual`."),
        ("t.csv --target y --features x --template A*q", "'A*q' has no column in it"),
        ("t.csv --target y --features x --template A*q", "A, q would be found as numbers. Write it with a column: x."),
        ("t.csv --target y --features x --guess A*q", "The guess 'A*q' has no column in it"),
        ("t.csv --target y --features x --template A*(x", "The template 'A*(x' cannot be read"),
        (". --target y", ". is a folder, not a file"),
        ("two.csv --target y --sigma x", "('x' is taken by --sigma)"),
    ],
)
def test_errors_speak_of_flags(folder, capsys, arguments, words):
    assert exit_code(["fit", *arguments.split(), "--no-checkpoint"]) in (1, 2)
    told = capsys.readouterr().err
    assert words in told
    assert set(re.findall(r"(?<!\S)--[a-z-]+", told)) <= KNOWN


def test_warnings_speak_of_flags(folder, capsys):
    options = ["--features", "x", "--loss", "exp(10000*abs(residual)) - 1", "--time-limit", "2", "--no-checkpoint"]
    assert exit_code(["fit", "t.csv", "--target", "y", *options]) == 0
    told = capsys.readouterr().err
    assert "Warning: The loss 'exp(10000*abs(residual)) - 1' has no finite value for" in told
    assert "raise --time-limit." in told


@pytest.mark.parametrize("outcome", Outcome)
def test_endings_name_flags_of_fit_alone(outcome):
    told = in_terms_of(outcome.value, flags_of(fit))
    named = re.findall(r"--[a-z-]+", told)
    assert {*named} <= {flag for param in fit.params for flag in param.opts}
    assert not re.search(r"time_limit|max_complexity", told)


def test_a_fixed_template_says_what_was_done(folder, capsys):
    for more in ([], ["--groups", "g", "--per-group", "A"]):
        told = ["fit", "t.csv", "--target", "y", "--features", "x", "--template", "A*x", "--no-checkpoint", *more]
        assert exit_code(told) == 0
        ending = capsys.readouterr().out
        assert "the parameters of the template were fitted" in ending
        assert "operators" not in ending


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("Raise time_limit.", "Raise --time-limit."),
        ("period in s needs constants='any'.", "period in s needs --constants any."),
        ("Take loss='huber' or cv=3.", "Take --loss huber or --cv 3."),
        ("Give units= of the columns.", "Give --units of the columns."),
        ("Say constants={'g': '9.81 m/s^2'}.", "Say --constants 'g=9.81 m/s^2'."),
        ("sigma_x['t'] is zero.", "--sigma-x t is zero."),
        ("The loss of these groups.", "The loss of these groups."),
        ("There is no column 'time_limit'. Known: max_complexity, y.", None),
        ("data/time_limit.csv and time_limit.csv are empty.", None),
        ("Call predict(X, groups=...).", None),
        ("Raise max_starts.", None),
    ],
)
def test_parameters_alone_are_renamed(sentence, told):
    assert in_terms_of(sentence, flags_of(fit)) == (sentence if told is None else told)


def test_every_other_name_is_a_parameter_in_python():
    known = {*CEQLRegressor().get_params(), *inspect.signature(CEQLRegressor.fit).parameters}
    assert {*IN_PYTHON.values()} <= known
    assert {*IN_PYTHON} <= {param.name for param in fit.params}


def test_a_column_of_errors_may_be_excluded_as_an_input(folder, capsys):
    given = ["fit", "t.csv", "--target", "y", "--sigma", "s", "--exclude", "s,g", "--template", "a*x", "--quiet"]
    assert exit_code(given) == 0
    assert "*x" in capsys.readouterr().out
