"""Odd tables through `fit`: a formula that predicts and can be saved and read back, or one of our own errors.

CEQL_FUZZ=1000 pytest tests/test_fuzz.py tries more tables than the default number.
"""

from __future__ import annotations

import datetime
import os
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ceql import CeqlError, CEQLRegressor, CeqlWarning, load

TABLES = int(os.environ.get("CEQL_FUZZ", "150"))
PARTS = 5  # so that several workers share them

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
sizes = st.sampled_from([1.0, 1.0, 1.0, 1e-3, 1e6, 1e-30, 1e30, 1e-300, 1e300, 1e-310, 1e150])


@st.composite
def columns(draw, rows: int):
    """A column of numbers, mostly; of something else now and then."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    numbers = rng.uniform(-1, 1, rows) * draw(sizes)
    kind = draw(st.sampled_from(["plain"] * 8 + KINDS))
    match kind:
        case "plain":
            return numbers
        case "positive":
            return np.abs(numbers)
        case "constant":
            return np.full(rows, draw(st.sampled_from(ODD)))
        case "odd":
            return rng.choice(ODD, rows)
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


KINDS = [
    "positive",
    "constant",
    "odd",
    "holes",
    "float32",
    "int",
    "long int",
    "huge int",
    "bool",
    "text numbers",
    "text",
]
KINDS += ["objects", "dates", "times", "complex", "nullable", "categories"]


@st.composite
def tables(draw):
    rows, width = draw(st.sampled_from([0, 1, 2, 3, 4, 7, 15, 30, 60])), draw(st.integers(0, 6))
    parts = [draw(columns(rows)) for _ in range(width)]
    if width > 1 and draw(st.booleans()):
        parts[-1] = parts[0]
    labels = [draw(names) if draw(st.integers(0, 3)) == 0 else f"x{k}" for k in range(width)]
    X = pd.DataFrame(dict(enumerate(parts)), index=range(rows))
    X.columns = labels
    y = draw(targets(rows, parts))
    X = X.to_numpy() if draw(st.integers(0, 3)) == 0 else X
    weights = draw(st.sampled_from([None] * 6 + ["ones", "some", "odd"]))
    rng = np.random.default_rng(0)
    weight = {"ones": np.ones(rows), "some": rng.integers(0, 3, rows), "odd": rng.choice(ODD, rows)}.get(weights)
    return X, y, weight


@st.composite
def targets(draw, rows, parts):
    kind = draw(st.sampled_from(["sum", "sum", "product", "pole", "column", "column", "own", "equal", "two"]))
    plain = [np.asarray(p) for p in parts if np.asarray(p).dtype.kind in "fi"]
    with np.errstate(all="ignore"):
        if kind == "own" or not plain:
            return draw(columns(rows))
        if kind == "equal":
            return np.full(rows, draw(st.sampled_from(ODD)))
        if kind == "two":
            return np.column_stack([plain[0], plain[-1] * 2.0])
        value = {"sum": sum(plain[1:], plain[0] * 1.0), "product": np.prod(plain, axis=0, dtype=float)}.get(kind)
        if kind == "pole":
            value = 1.5 / (plain[0] - 0.3 * np.max(np.abs(plain[0]), initial=1e-300))
        return plain[0] if value is None else value


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.usefixtures("quick_search")
def test_a_formula_or_our_error(part, tmp_path):
    path = tmp_path / "model.ceql"

    @settings(
        derandomize=False,
        deadline=None,
        max_examples=TABLES // PARTS,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(tables(), st.integers(0, 2**31))
    def fits(table, seed):
        X, y, weight = table
        model = CEQLRegressor(operators=["mul", "div"], time_limit=0.05, random_state=seed)
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
        assert model.latex()
        assert len(model.equations_) >= 1

    from hypothesis import seed as seeded

    seeded(part)(fits)()
