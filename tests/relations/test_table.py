"""Tables that hold no relation for sure get a sentence, and so does every column that is left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ceql.errors import InputError
from ceql.relations.policy import TablePolicy
from ceql.relations.table import checked_rows

X = np.linspace(1.0, 2.0, 20)


def sentence(table, groups=None) -> str:
    with pytest.raises(InputError) as error:
        checked_rows(table, groups, TablePolicy())
    return str(error.value)


def test_one_column():
    assert "a relation needs two or more" in sentence(pd.DataFrame({"x": X}))


def test_too_few_rows():
    assert "11 rows" in sentence(pd.DataFrame({"x": X[:11], "y": X[:11] ** 2}))


def test_text():
    assert "not numeric" in sentence(pd.DataFrame({"x": X, "y": ["a"] * 20}))


def test_nothing_varies():
    assert "'g' is 9.81 in every row" in sentence(pd.DataFrame({"x": X, "g": 9.81}))


def test_missing_values():
    assert "NaN" in sentence(pd.DataFrame({"x": X, "y": np.where(X > 1.5, np.nan, X)}))


def test_groups_of_a_row():
    assert "fewer than 4 rows" in sentence(pd.DataFrame({"x": X, "y": X**2, "run": range(20)}), "run")


def test_a_constant_column_is_told_of_and_left_out():
    rows, _, notes = checked_rows(pd.DataFrame({"x": X, "g": 9.81, "y": X**2}), None, TablePolicy())
    assert rows.names == ("x", "y")
    assert notes == ("Column 'g' is 9.81 in every row and is left out, since it tells nothing.",)


@pytest.mark.parametrize(
    ("copy", "how"), [(X, "the same as 'x'"), (2.54 * X, "2.54 times 'x'"), (1.8 * X + 32.0, "1.8 times 'x' + 32")]
)
def test_a_copy_is_said_to_be_one(copy, how):
    rows, _, (note,) = checked_rows(pd.DataFrame({"x": X, "y": X**2, "copy": copy}), None, TablePolicy())
    assert rows.names == ("x", "y")
    assert f"Column 'copy' is {how} in every row: it is a copy" in note


def test_a_line_with_noise_is_no_copy():
    noisy = 2.0 * X + 1e-6 * np.random.default_rng(0).normal(size=20)
    rows, _, notes = checked_rows(pd.DataFrame({"x": X, "y": noisy}), None, TablePolicy())
    assert rows.names == ("x", "y")
    assert notes == ()


def test_rows_are_held_out_within_groups():
    table = pd.DataFrame({"x": X, "y": X**2, "run": ["a"] * 8 + ["b"] * 12})
    rows, by, _ = checked_rows(table, "run", TablePolicy())
    fit, held = rows.split(4, seed=3)
    assert by == "run"
    assert np.bincount(held.codes).tolist() == [2, 3]
    assert sorted([*fit.x[:, 0], *held.x[:, 0]]) == sorted(X)
