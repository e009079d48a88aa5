"""Save and load: the identity for our own files, a clear error for all others."""

from __future__ import annotations

import functools
import json
import operator
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Symbol

from ceql import CEQLRegressor, load
from ceql.expression import parse_formula
from ceql.expression.text.write import write_formula
from ceql.formula import make_symbols
from ceql.storage.model_file import ModelFileError

FORMULAS = [
    "1.5*x1/(x2 - 0.25) + log(x1)",
    "sqrt(x1**2 + 2.1)",
    "abs(x1)*exp(-0.3*x2)",
    "sin(3*x1 + 0.1)**2",
    "1/3 + pi*x1",
]


@pytest.fixture(scope="module")
def model() -> CEQLRegressor:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x y": rng.uniform(1, 2, 40), "lambda": rng.uniform(1, 2, 40)})
    return CEQLRegressor(operators=["mul", "div"], random_state=3).fit(frame, 1 / (frame["x y"] - frame["lambda"] / 7))


@pytest.fixture
def saved(model, tmp_path) -> Path:
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
        ({"format": "pickle"}, "not a ceql model"),
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


TAMPERED = {
    "loss 0": ("front[1].loss", 0.0, "'loss' in row 1 of the front is 0, but on the data the formula has"),
    "loss -5": ("front[1].loss", -5.0, "'loss' is -5.0, which is not a finite number of at least 0"),
    "loss NaN": ("front[1].loss", float("nan"), "'loss' is nan"),
    "a formula": ("front[1].expression", "2.5*lambda", "'loss' in row 1 of the front is"),
    "undefined": ("front[1].expression", "log(-lambda)", "formula in row 1 of the front has no value in row 0"),
    "seconds": ("seconds", -1.0, "'seconds' is -1.0, which is not a finite number of at least 0"),
    "seconds NaN": ("seconds", float("nan"), "'seconds' is nan"),
    "starts": ("starts", 1.5, "'starts' is 1.5, which is not a whole number of at least 0"),
    "rows": ("rows_searched", 10**9, "'rows_searched' is 1000000000, which is not a whole number from 0 to 40"),
    "residue": ("imaginary_residue", float("inf"), "'imaginary_residue' is inf"),
    "chosen": ("chosen", -1, "'chosen' is -1"),
    "outcome": ("outcome", "CONSTANT", "'outcome' is CONSTANT, but the target varies"),
    "y": ("y[3]", float("inf"), "'y' holds inf in row 3"),
    "y text": ("y[3]", "red", "'y' is not a table of numbers"),
    "weight": ("weight[2]", -1.0, "'weight' must hold at least two numbers, none of them negative"),
    "weights": ("weight[2]", 1000.0, "whose mean is 1"),
    "x NaN": ("x[1][0]", float("nan"), "'x' holds nan in row 1"),
    "x large": ("x[1][0]", 1e308, "column 'x y' of 'x' are too large to compute with"),
    "x short": ("x[1]", [1.0], "'x' is not a table of numbers"),
    "error": ("front[0].constants[0]", [1.0, -2.0], "'constants' holds 1.0 ± -2.0"),
    "value": ("front[0].constants[0]", [float("nan"), 0.0], "'constants' holds nan"),
    "names": ("names", ["x y", "x y"], "'names' has none, or has one of them twice"),
    "target": ("target_names", [5], "'target_names' holds 5, which is not a name"),
    "operators": ("parameters.operators", 5, "the parameter 'operators' is 5; it must be"),
    "time": ("parameters.time_limit", "long", "the parameter 'time_limit' is 'long'; it must be a number"),
    "kind of loss": ("parameters.loss", "hubber", "There is no loss"),
    "frame": ("from_frame", "yes", "'from_frame' is 'yes', which is neither true nor false"),
}


@pytest.fixture(scope="module")
def noisy(tmp_path_factory) -> str:
    """A model whose formula is not exact."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x y": rng.uniform(1, 2, 40), "lambda": rng.uniform(1, 2, 40)})
    path = tmp_path_factory.mktemp("noisy") / "model.ceql"
    y = frame["x y"] * frame["lambda"] + 0.1 * rng.standard_normal(40)
    CEQLRegressor(operators=["mul"], time_limit=2).fit(frame, y).save(path)
    return path.read_text()


@pytest.mark.parametrize("which", TAMPERED)
def test_what_a_file_claims_is_held_against_its_data(noisy, tmp_path, which):
    place, value, words = TAMPERED[which]
    content = json.loads(noisy)
    *way, last = [int(k) if k.isdecimal() else k for k in re.findall(r"\w+", place)]
    functools.reduce(operator.getitem, way, content)[last] = value
    (tmp_path / "model.ceql").write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=f"model.ceql is damaged: .*{re.escape(words)}"):
        load(tmp_path / "model.ceql")


@pytest.mark.parametrize("name", ["names", "x", "y", "weight", "front", "parameters", "outcome"])
def test_a_missing_field_is_named(noisy, tmp_path, name):
    content = json.loads(noisy)
    del content[name]
    (tmp_path / "model.ceql").write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=f"damaged: the field '{name}' is missing"):
        load(tmp_path / "model.ceql")


def test_an_exact_outcome_has_to_be_one(noisy, tmp_path):
    (tmp_path / "model.ceql").write_text(json.dumps(json.loads(noisy) | {"outcome": "EXACT"}))
    with pytest.raises(ModelFileError, match="'outcome' is EXACT, but the chosen formula leaves a mean square of"):
        load(tmp_path / "model.ceql")


def test_a_file_of_version_0_1_0_loads():
    old = load(Path(__file__).with_name("model-0.1.0.ceql"))
    assert str(old.sympy()) == "0.5 + 1/x"
    assert old.predict(pd.DataFrame({"x": [2.0]})) == pytest.approx(1.0)


@pytest.mark.parametrize("loss", ["huber", "absolute", "abs(residual)**1.5"])
def test_other_losses_are_believed_within_reason(loss, tmp_path):
    rng = np.random.default_rng(3)
    x, path = rng.uniform(1, 2, (60, 1)), tmp_path / "model.ceql"
    y = 2 * x[:, 0] + 0.05 * rng.standard_normal(60)
    y[::9] += 20
    model = CEQLRegressor(operators=["mul"], loss=loss, time_limit=1).fit(x, y)
    model.save(path)
    assert [f.loss for f in load(path).discovery_.front] == [f.loss for f in model.discovery_.front]
    content = json.loads(path.read_text())
    for claimed in (0.0, 1e6):
        content["front"][content["chosen"]]["loss"] = claimed
        path.write_text(json.dumps(content))
        with pytest.raises(ModelFileError, match="'loss' in row"):
            load(path)


def test_missing_and_unwritable_places(model, tmp_path):
    with pytest.raises(ModelFileError, match="There is no file"):
        load(tmp_path / "absent.ceql")
    with pytest.raises(ModelFileError, match="cannot be written"):
        model.save(tmp_path / "no folder" / "model.ceql")
