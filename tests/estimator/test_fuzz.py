"""Odd tables through `fit`: a formula that predicts and can be saved and read back, or one of our own errors.

CEQL_FUZZ=1000 pytest tests/estimator/test_fuzz.py tries more tables than the default number.
"""

from __future__ import annotations

import datetime
import os
import warnings
from typing import cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ceql import CeqlError, CEQLRegressor, CeqlWarning, load
from ceql.search.policy import SearchPolicy

TABLES = int(os.environ.get("CEQL_FUZZ", "150"))
PARTS = 5  # so that several workers share them
FEW_STARTS = SearchPolicy(round_size=64, chunk_size=32)  # any formula will do

WORDS = [
    "",
    " ",
    "x",
    "x1",
    "lambda",
    "I",
    "E",
    "pi",
    "e",
    "sin",
    "log",
    "None",
    "`",
    "a`b",
    "``",
    "a b",
    "é",
    "变量",
    "𝛼",
]
WORDS += ["class", "S", "x\ny", "'", '"', "\\", "{x}", "1", "-1", "$", "_", "__class__", "x**2", "a\tb", "\u200b", "٣"]
ODD = [0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 1e-300, 5e-324, 1.7e308, 1e16 + 2, 0.1, np.pi, 2**53 + 1.0]

names = st.one_of(st.sampled_from(WORDS), st.text(max_size=6))
SIZES = [1.0, 1.0, 1.0, 1e-3, 1e6, 1e-30, 1e30, 1e-120, 1e120]
EXTREME = [1e-300, 1e300, 1e-310, 1e150, 1e-150]
NUMBERS = ["plain"] * 8 + ["positive", "constant", "odd", "float32", "int", "bool", "text numbers", "shifted"]
OTHERS = ["holes", "long int", "huge int", "text", "objects", "dates", "times", "complex", "nullable", "categories"]


@st.composite
def columns(draw, rows: int, wild: bool):
    """A column of numbers, mostly; of something else now and then if it may be wild."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    numbers = rng.uniform(-1, 1, rows) * draw(st.sampled_from(SIZES + EXTREME if wild else SIZES))
    kind = draw(st.sampled_from(NUMBERS + OTHERS if wild else NUMBERS))
    match kind:
        case "plain":
            return numbers
        case "positive":
            return np.abs(numbers)
        case "constant":
            return np.full(rows, draw(st.sampled_from(ODD if wild else [0.0, 1.0, 0.1])))
        case "odd":
            return rng.choice(ODD if wild else [0.0, -0.0, 1.0, 5e-324, 1e16 + 2], rows)
        case "shifted":
            return numbers / 1e9 + np.max(np.abs(numbers), initial=0.0)
        case "holes":
            return np.where(rng.uniform(size=rows) < 0.1, draw(st.sampled_from([np.nan, np.inf, -np.inf])), numbers)
        case "float32":
            with np.errstate(over="ignore"):
                return numbers.astype(np.float32)
        case "int":
            return rng.integers(-5, 6, rows)
        case "long int":
            return rng.integers(-(2**63), 2**63 - 1, rows)
        case "huge int":
            return np.array([int(n) ** 30 for n in rng.integers(-(2**62), 2**62, rows)], dtype=object)
        case "bool":
            return rng.uniform(size=rows) < 0.5
        case "text numbers":
            return np.array([str(n) for n in numbers], dtype=object)
        case "text":
            return rng.choice(["a", "1.5", "", "nan"], rows).astype(object)
        case "objects":
            return np.array([draw(st.sampled_from([1, 2.5, None, True, pd.NA])) for _ in range(rows)], dtype=object)
        case "dates":
            return np.array([datetime.date(2020, 1, 1 + k % 28) for k in range(rows)], dtype=object)
        case "times":
            return rng.integers(0, 10**9, rows).astype("M8[s]")
        case "complex":
            return numbers + 1j
        case "nullable":
            return pd.array([None if n < -0.9 else int(9 * n) for n in rng.uniform(-1, 1, rows)], dtype="Int64")
        case _:
            return pd.Categorical(rng.choice(["u", "v"], rows))


@st.composite
def tables(draw):
    wild = draw(st.booleans())
    rows = draw(st.sampled_from([0, 1, 2, 3, 7, 60] if wild else [2, 3, 4, 7, 15, 30, 60]))
    width = draw(st.integers(0 if wild else 1, 6))
    parts = [draw(columns(rows, wild)) for _ in range(width)]
    if width > 1 and draw(st.booleans()):
        parts[-1] = parts[0]
    labels = [draw(names) if draw(st.booleans()) else f"x{k}" for k in range(width)]
    if not wild:
        labels = [label if label.strip() and labels.count(label) == 1 else f"x{k} " for k, label in enumerate(labels)]
    X = pd.DataFrame(dict(enumerate(parts)), index=range(rows))
    X.columns = labels
    y = draw(targets(rows, parts, wild))
    X = X.to_numpy() if draw(st.integers(0, 3)) == 0 else X
    weights = draw(st.sampled_from([None] * 6 + ["ones", "some", "odd"]))
    rng = np.random.default_rng(0)
    weight = {"ones": np.ones(rows), "some": rng.integers(0, 3, rows), "odd": rng.choice(ODD, rows)}.get(weights)
    return X, y, weight


@st.composite
def targets(draw, rows, parts, wild):
    kind = draw(st.sampled_from(["sum", "sum", "product", "pole", "column", "column", "own", "equal", "two"]))
    plain = [np.asarray(p) for p in parts if np.asarray(p).dtype.kind in "fi"]
    with np.errstate(all="ignore"):
        if kind == "own" or not plain:
            return draw(columns(rows, wild))
        if kind == "equal":
            return np.full(rows, draw(st.sampled_from(ODD if wild else [0.0, 1.0, 0.1])))
        if kind == "two":
            return np.column_stack([plain[0], plain[-1] * 2.0])
        value = {"sum": sum(plain[1:], plain[0] * 1.0), "product": np.prod(plain, axis=0, dtype=float)}.get(kind)
        if kind == "pole":
            value = 1.5 / (plain[0] - 0.3 * np.max(np.abs(plain[0]), initial=1e-300))
        return plain[0] if value is None else value


@pytest.mark.parametrize("part", range(PARTS))
def test_a_formula_or_our_error(part, tmp_path):
    path = tmp_path / "model.ceql"

    @settings(
        derandomize=False,
        deadline=None,
        max_examples=TABLES // PARTS,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=cast("list[HealthCheck]", list(HealthCheck)),
    )
    @given(tables(), st.integers(0, 2**31))
    def fits(table, seed):
        X, y, weight = table
        model = CEQLRegressor(operators=["mul", "div"], time_limit=0.05, random_state=seed, policy=FEW_STARTS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CeqlWarning)  # all other warnings are errors here
            try:
                model.fit(X, y, sample_weight=weight)
            except CeqlError:
                return
            predicted = model.predict(X)
        assert len(predicted) == len(X)
        used = slice(None) if weight is None else np.asarray(weight, float) > 0
        assert np.isfinite(predicted[used]).all()
        model.save(path)
        copy = load(path)
        assert np.array_equal(copy.predict(X), predicted, equal_nan=True)
        assert copy.latex() == model.latex()
        fronts = model.equations_ if isinstance(model.equations_, list) else [model.equations_]
        assert [front["chosen"].sum() for front in fronts] == [1] * len(fronts)

    from hypothesis import seed as seeded

    seeded(part)(fits)()
