"""Save and load: the identity for our own files, a clear error for all others."""

from __future__ import annotations

import json
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Symbol

from ceql import CEQLRegressor, load
from ceql.expression import parse_formula
from ceql.expression.write import write_formula
from ceql.formula import make_symbols
from ceql.persistence import ModelFileError

FORMULAS = [
    "1.5*x1/(x2 - 0.25) + log(x1)",
    "sqrt(x1**2 + 2.1)",
    "abs(x1)*exp(-0.3*x2)",
    "sin(3*x1 + 0.1)**2",
    "1/3 + pi*x1",
]


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x y": rng.uniform(1, 2, 40), "lambda": rng.uniform(1, 2, 40)})
    return CEQLRegressor(operators=["mul", "div"], random_state=3).fit(frame, 1 / (frame["x y"] - frame["lambda"] / 7))


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "model.ceql"
    model.save(path)
    return path


def test_load_after_save_is_the_identity(model, saved):
    copy = load(saved)
    assert copy.get_params() == model.get_params()
    assert [f.expression for f in copy.discovery_.front] == [f.expression for f in model.discovery_.front]
    assert copy.sympy(form="readable") == model.sympy(form="readable")
    pd.testing.assert_frame_equal(copy.equations_, model.equations_)
    frame = pd.DataFrame(model._finding().data.x, columns=list(model.feature_names_in_))
    assert np.array_equal(copy.predict(frame), model.predict(frame))
    assert list(map(str, copy.poles_)) == list(map(str, model.poles_))


@pytest.mark.parametrize("text", FORMULAS)
def test_a_written_formula_reads_back_the_same(text):
    expression = parse_formula(text, ("x1", "x2"))
    assert parse_formula(write_formula(expression), ("x1", "x2")) == expression


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(st.one_of(st.text(min_size=1), st.sampled_from(["pi", "e", "a`b", "`", "exp"])), min_size=2, unique=True)
)
def test_any_column_name_survives(names):
    x = make_symbols(tuple(names))
    expression = parse_formula("pi + e", ()) * x[0] + 1.5 / (x[1] + 0.3)
    assert parse_formula(write_formula(expression), names) == expression


@pytest.mark.parametrize(
    "text", ["2.5*(x1 + 0.1)", "-3*(x1 - x2)", "200000.0*(-2e-06*x2 - 0.023)/x1", "-(x1 + 0.3)**2"]
)
def test_a_number_before_a_sum_stays_there(text):
    expression = parse_formula(text, ("x1", "x2"), as_written=True)
    assert write_formula(expression) == text
    assert parse_formula(write_formula(expression), ("x1", "x2"), as_written=True) == expression


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.text(min_size=1, max_size=8))
def test_a_column_may_have_any_name(name):
    column = 2 * Symbol(name, real=True)
    assert parse_formula(write_formula(column), (name,)) == column


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_every_digit_of_a_constant_survives(value):
    expression = parse_formula("x1 + 1", ("x1",)) * 1.0 + value
    assert parse_formula(write_formula(expression), ("x1",)).evalf(subs={"x1": 0}) == expression.evalf(subs={"x1": 0})


def test_a_kill_while_writing_leaves_the_old_file(model, saved, monkeypatch):
    before = saved.read_bytes()

    def broken(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(ModelFileError, match="No space left"):
        model.save(saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "pickle"}, "no ceql model"),
        ({"version": 99}, "upgrade ceql"),
        ({"front": []}, "damaged"),
        ({"chosen": 99}, "damaged"),
        ({"outcome": "GREAT"}, "damaged"),
        ({"front": [{"expression": "__import__('os')", "loss": 1.0, "constants": []}]}, "damaged"),
    ],
)
def test_wrong_content_is_named(saved, change, words):
    content = json.loads(saved.read_text())
    saved.write_text(json.dumps(content | change))
    with pytest.raises(ModelFileError, match=words):
        load(saved)


def test_missing_and_unwritable_places(model, tmp_path):
    with pytest.raises(ModelFileError, match="cannot be read"):
        load(tmp_path / "absent.ceql")
    with pytest.raises(ModelFileError, match="cannot be written"):
        model.save(tmp_path / "no folder" / "model.ceql")
