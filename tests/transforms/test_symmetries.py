"""Columns that are rescaled, shifted or added together are seen in the slopes of y; small corrections when alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ceql.data.dataset import Dataset
from ceql.expression import compile_numpy
from ceql.formula import make_symbols
from ceql.transforms import TransformedTarget, flattened, independent_parts, is_curve, plain, symmetric

NAMES = ("a", "b", "c", "d", "e")


def target_of(formula, low=1.0, high=3.0, rows=1000):
    columns = formula.__code__.co_argcount
    x = np.random.default_rng(0).uniform(low, high, (rows, columns))
    names = NAMES[:columns]
    return plain(Dataset.of(pd.DataFrame(x, columns=names), formula(*x.T)), make_symbols(names))


def assert_leads_back(shorter: TransformedTarget, start: TransformedTarget) -> None:
    z = make_symbols(("z",))[0]
    columns = np.column_stack([start.x, shorter.y])
    back = compile_numpy(shorter.back(z), [*start.symbols, z])(columns)
    np.testing.assert_allclose(back, start.y, rtol=1e-10)
    for column, symbol in zip(shorter.x.T, shorter.symbols, strict=True):
        np.testing.assert_allclose(compile_numpy(symbol, start.symbols)(start.x), column, rtol=1e-10)


@pytest.mark.parametrize(
    ("formula", "left"),
    [
        (lambda a, b, c, d: a * np.exp(-b * c / d), 1),
        (lambda a, b, c, d: (a - b * c / d**2) / np.sqrt(1.0 + (c / d) ** 2), 2),
        (lambda a, b, c, d, e: a / ((b - c) ** 2 + (d - e) ** 2 + 4.0), 2),
        (lambda a, b, c, d: np.sqrt((a * b) ** 2 + (c * d) ** 2) + a * d, 2),
    ],
)
def test_symmetries_leave_few_variables(formula, left):
    start = target_of(formula)
    shorter = symmetric(start)
    assert shorter is not None
    assert shorter.x.shape[1] == left
    assert_leads_back(shorter, start)


def test_what_is_added_goes_where_nothing_else_does():
    start = target_of(lambda a, b, c: np.sqrt(1.3 + (a - 0.7 * b) ** 2) + c)
    shorter = symmetric(start)
    assert shorter is not None
    assert [str(symbol) for symbol in shorter.symbols] == ["a", "b"]
    assert_leads_back(shorter, start)


def test_no_symmetry_is_found_where_there_is_none():
    assert symmetric(target_of(lambda a, b: np.exp(0.4 * a * b) + np.sin(1.3 * a) + b**2)) is None


def test_a_small_correction_tells_its_variable():
    start = target_of(lambda a, b, c: a * b**2 * np.tanh(1e-3 * b / c) / (1e-3 * b / c))
    flat = flattened(start)
    assert flat is not None
    assert {str(symbol) for symbol in flat.symbols} == {"b", "c"}
    assert_leads_back(flat, start)
    assert {str(part.symbols[0]) for part in independent_parts(flat) if part.x.shape[1] == 1} <= {"b/c", "c/b"}
    assert flattened(target_of(lambda a, b: a * b**2)) is None


def test_a_curve_is_told_from_a_cloud():
    a, b = np.random.default_rng(0).uniform(1.0, 3.0, (2, 500))
    assert is_curve(a / b, np.exp(a / b))
    assert is_curve(a / b, np.sin(9.0 * a / b))
    assert not is_curve(a / b, np.exp(a))
