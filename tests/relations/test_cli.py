"""`ceql relate` on the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from ceql.relations.estimator import load_relations
from ceql.relations.summary import in_words

QUICK = ("--no-search", "--threads", "1")


def test_a_table_of_relations_and_files_that_say_the_same(ceql, circle, tmp_path):
    circle.assign(note="good").to_csv(tmp_path / "ring.csv", index=False)
    made = tmp_path / "ring.json", tmp_path / "ring.model"
    code, out, err = ceql("relate", tmp_path / "ring.csv", *QUICK, "--json", made[0], "--save", made[1])
    assert code == 0
    assert "column 'note' holds text" in err
    assert out.splitlines()[0].split() == ["relation", "off", "held", "out", "explained"]
    assert out.splitlines()[1].startswith("x**2 - 2*x + y**2 = 3  0.0")
    assert "20 held out for the check" in out
    content = json.loads(made[0].read_text())
    assert content["relations"][0]["relation"] == "x**2 - 2*x + y**2 = 3"
    assert content["relations"][0]["shares"].keys() == {"x", "y"}
    np.testing.assert_allclose(load_relations(made[1]).residual([[3.0, 0.0]]), 0.0, atol=1e-12)


def test_groups_and_columns_are_chosen(ceql, pendulum, tmp_path):
    pendulum.assign(idle=1.0, t=np.arange(80)).to_csv(tmp_path / "p.csv", index=False)
    code, out, err = ceql("relate", tmp_path / "p.csv", "--groups", "run", "--exclude", "t", *QUICK, "--json", "-")
    assert code == 0
    assert "Column 'idle' is 1 in every row" in err
    content = json.loads(out)
    assert content["groups"] == "run"
    assert content["relations"][0]["level"].keys() == {"low", "high"}
    quiet = ceql("relate", tmp_path / "p.csv", "--groups", "run", "--columns", "a,v", *QUICK, "--quiet")
    assert quiet == (0, "v**2 - 19.62*cos(a) = level\n", "")


@pytest.mark.parametrize(
    ("table", "options", "why"),
    [
        ({"x": [1, 2] * 10}, (), "One column of numbers, 'x', is left"),
        ({"x": ["a", "b"] * 10, "y": [1, 2] * 10}, (), "Column 'x' holds text"),
        ({"x": range(20), "g": [9.81] * 20}, (), "'g' is 9.81 in every row"),
        ({"x": range(5), "y": [0, 1, 4, 9, 16]}, (), "5 rows"),
        ({"x": range(20), "y": range(20)}, ("--columns", "x,w"), "no column 'w'"),
        ({"x": range(20), "y": range(20)}, ("--groups", "run"), "no column 'run'"),
        ({"x": range(20), "y": range(20)}, ("--exclude", "x,y"), "No column of numbers is left"),
        ({"x": range(20), "y": range(20)}, ("--save", "-"), "cannot be saved to '-'"),
    ],
)
def test_bad_input_gets_a_sentence(ceql, tmp_path, table, options, why):
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    code, out, err = ceql("relate", tmp_path / "t.csv", *options)
    assert code in (1, 2)
    assert why in err
    assert out == ""


def test_copies_are_told_of(ceql, tmp_path):
    pd.DataFrame({"x": range(1, 21), "y": 2.5 * np.arange(1, 21)}).to_csv(tmp_path / "t.csv", index=False)
    code, out, err = ceql("relate", tmp_path / "t.csv")
    assert code == 0
    assert "Column 'y' is 2.5 times 'x' in every row" in err
    assert "nothing to relate" in out


def test_words_have_errors_and_levels(grouped_finding):
    words = in_words(grouped_finding)
    assert "numbers: 19.6 ± 0.01" in words
    assert "level of each run: high: 1.5 ± 0.1, low: -2 ± 0.1" in words
