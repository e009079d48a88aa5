"""`ceql laws`: named laws on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def table(tmp_path) -> Path:
    rng = np.random.default_rng(0)
    dose = np.geomspace(0.1, 20, 40)
    rate = 2.0 * dose / (1.5 + dose)
    frame = pd.DataFrame({"dose": dose, "idle": rng.normal(size=40), "rate": rate + 0.01 * rng.normal(size=40)})
    frame.to_csv(tmp_path / "rates.csv", index=False)
    return tmp_path / "rates.csv"


def test_the_law_comes_first_with_its_constants_by_name(ceql, table):
    code, out, err = ceql("laws", table, "--target", "rate", "--features", "dose", "--most", "2")
    assert (code, err) == (0, "")
    first, second = out.split("\n\n")
    assert first.startswith("Michaelis-Menten, also Langmuir isotherm")
    assert "with x1 = dose" in first
    assert "largest rate" in first
    assert "weight" in second


def test_what_a_program_reads_says_the_same(ceql, table):
    code, out, _ = ceql("laws", table, "--target", "rate", "--features", "dose", "--json", "-")
    assert code == 0
    rows = json.loads(out)
    best = rows[0]
    constants = {constant["name"]: constant for constant in best["constants"]}
    assert best["law"] == "Michaelis-Menten"
    assert best["columns"] == {"x1": "dose"}
    assert constants["V"]["value"] == pytest.approx(2.0, abs=5 * constants["V"]["error"])
    assert best["r2"] > 0.99
    assert [row["weight"] for row in rows] == sorted((row["weight"] for row in rows), reverse=True)
    assert sum(row["weight"] for row in rows) <= 1.0 + 1e-9


def test_wrong_input_gets_a_sentence(ceql, table, tmp_path):
    code, _, err = ceql("laws", table, "--target", "rat")
    assert code != 0
    assert "rat" in err
    code, _, err = ceql("laws", tmp_path / "missing.csv", "--target", "rate")
    assert code != 0
    assert "missing.csv" in err
    code, out, _ = ceql("laws", table, "--target", "rate", "--most", "0")
    assert code == 2
    assert out == ""
