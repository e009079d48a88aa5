"""What `ceql fit` says of the evidence, and its options for the choice by rows held out."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ceql.choice.selection import RULES
from ceql.cli import fit_command, model_commands


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"t": rng.uniform(0, 4, 60), "sample": np.repeat(["a", "b", "c"], 20)})
    frame["y"] = 1.5 + 0.7 * frame["t"] + 0.1 * rng.standard_normal(60)
    frame.to_csv(tmp_path / "data.csv", index=False)
    return "data.csv"


def fit(table, *options):
    quick = ("--operators", "mul", "--time-limit", "2", "--no-checkpoint")
    return CliRunner().invoke(fit_command.fit, [table, "--target", "y", *quick, *map(str, options)])


def test_the_rules_are_those_of_the_library():
    assert fit_command.RULES == RULES


def test_every_fit_prints_an_honest_score(table):
    result = fit(table, "--features", "t")
    assert result.exit_code == 0, result.output
    assert "on the rows it is fitted to, 0.9" in result.stdout
    assert "on rows held out (cross-validation)." in result.stdout


def test_groups_are_no_input_and_may_be_text(table):
    result = fit(table, "--choice", "cv", "--groups", "sample", "--cv", 3, "--json", "-")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["features"] == ["t"]
    assert 0.9 < report["r2_cv"] < report["r2"] < 1.0
    rows = report["front"] + report["shortlist"]
    assert sum(row["weight"] for row in rows) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--groups", "smaple"), "Did you mean 'sample'"),
        (("--groups", "sample", "--cv", 4), "only 3 groups"),
        (("--features", "t", "--cv", 61), "only 60 rows"),
        (("--choice", "scroe"), "Did you mean 'score'"),
        (("--cv", 1), "cv"),
    ],
)
def test_wrong_options_are_answered_before_the_search(table, options, words):
    result = fit(table, *options, "--time-limit", 1e6)
    assert result.exit_code != 0
    assert words in result.output + str(result.exception)


def test_an_empty_label_is_named(table):
    frame = pd.read_csv(table)
    frame.loc[3, "sample"] = None
    frame.to_csv(table, index=False)
    result = fit(table, "--groups", "sample")
    assert "line 5, column 'sample': the cell is empty" in result.output + str(result.exception)


def test_predictions_have_bounds(table):
    assert fit(table, "--features", "t", "--save", "m.ceql").exit_code == 0
    result = CliRunner().invoke(model_commands.predict, ["m.ceql", table, "--interval", "0.9", "--out", "p.csv"])
    assert result.exit_code == 0, result.output
    found = pd.read_csv("p.csv")
    assert list(found.columns) == ["y", "y lower", "y upper"]
    y = pd.read_csv(table)["y"]
    assert 0.8 < np.mean((found["y lower"] < y) & (y < found["y upper"])) < 1


def test_errors_in_proportion_are_noticed_and_said_by_the_target_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    t = np.geomspace(0.1, 10.0, 40)
    y = 2.0 / t * (1.0 + 0.05 * np.random.default_rng(0).standard_normal(40))
    pd.DataFrame({"t": t, "y": y}).to_csv(tmp_path / "data.csv", index=False)
    quick = ("--operators", "div")
    hint = "use --sigma y --sigma-relative."
    assert hint in fit("data.csv", *quick).stdout
    said = fit("data.csv", *quick, "--sigma", "y", "--sigma-relative")
    assert said.exit_code == 0, said.output
    assert hint not in said.stdout


def test_the_target_cannot_weigh_or_group_the_rows(table):
    for option in ("--weights", "--groups"):
        refused = fit(table, "--features", "t", option, "y")
        assert refused.exit_code != 0
        assert "'y' is the target, so it cannot also hold weights or groups of the rows." in str(refused.exception)
