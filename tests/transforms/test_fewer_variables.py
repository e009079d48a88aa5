"""Factors, pairings and columns that do not matter are seen in the data before any formula is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ceql.data.dataset import Dataset
from ceql.formula import make_symbols
from ceql.transforms import independent_parts, plain, promising, reduced, relevant, smooth_error
from ceql.transforms.smoothness import distances, on_circle, unexplained, unexplained_by_neighbour

NAMES = ("a", "b", "c", "d")


def target_of(formula, low=0.5, high=3.0, columns=3, rows=256, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(low, high, (rows, columns))
    y = formula(*x.T)
    y = y + noise * np.std(y) * rng.normal(size=rows)
    names = NAMES[:columns]
    return plain(Dataset.of(pd.DataFrame(x, columns=names), y), make_symbols(names))


@pytest.mark.parametrize(
    ("formula", "left", "whole"),
    [
        (lambda a, b, c: a / (np.exp(b / c) - 1), {"b/c"}, "a*z"),
        (lambda a, b, c: a * b**2 / np.sqrt(c**2 + 1.7), {"c"}, "a*b**2*z"),
        (lambda a, b, c: np.sin(b * c) / a, {"b*c"}, "z/a"),
        (lambda a, b, c: np.sqrt(a) * np.log(b - c + 3), {"b - c"}, "sqrt(a)*z"),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_reduction_finds_factors_and_pairings(formula, left, whole, seed):
    shorter = reduced(target_of(formula, seed=seed))
    assert shorter is not None
    assert {str(symbol) for symbol in shorter.symbols} == left
    assert str(shorter.back(make_symbols(("z",))[0])) == whole


def test_a_pole_that_moves_is_no_obstacle():
    shorter = reduced(target_of(lambda a, b, c: a / (b / c - 1.2), rows=300))
    assert shorter is not None
    assert [str(symbol) for symbol in shorter.symbols] in (["b/c"], ["c/b"])


def test_nothing_is_reduced_where_all_variables_enter_apart():
    apart = target_of(lambda a, b, c: (a - 1.2 * b + 0.7 * c) / (0.8 * a + 1.4 * b - 2 * c + 0.6), -2, 2)
    assert reduced(apart) is None
    assert reduced(target_of(lambda a: np.sin(a), columns=1)) is None


@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_relevant_columns_are_found_among_many(columns, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (256, 30))
    places = rng.choice(30, columns, replace=False)
    weights = rng.choice([-1, 1], (2, columns)) * rng.uniform(0.6, 2.0, (2, columns))
    y = (x[:, places] @ weights[0] + 0.9) / (x[:, places] @ weights[1] - 0.7)
    assert set(places) <= set(relevant(x, y, 8))


def test_constant_columns_never_matter():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (64, 12))
    x[:, 3] = 1.0
    assert 3 not in relevant(x, x[:, 0] * x[:, 1], 8)
    x[:] = 1.0
    assert relevant(x, rng.normal(size=64), 8) == []


def test_both_sides_of_a_pole_meet_on_the_circle():
    y = np.array([1e8, -1e8, 1.0, -1.0, 0.5])
    points = on_circle(y)
    assert np.linalg.norm(points[0] - points[1]) < 1e-6
    np.testing.assert_allclose(on_circle(y * 1e-30), points, atol=1e-12)
    assert np.isfinite(on_circle(np.array([1e300, -1e-300, 0.0]))).all()
    assert np.isfinite(on_circle(np.zeros(4))).all()


def test_smooth_functions_are_explained_and_noise_is_not():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 200)
    apart = distances(x)
    assert unexplained(apart, on_circle(1 / (x - 0.3))) < 1e-3
    assert unexplained(apart, on_circle(rng.normal(size=200))) > 0.5
    assert unexplained_by_neighbour(apart, on_circle(np.sin(x))) < 0.01


def test_the_smooth_error_is_no_less_than_the_noise():
    target = target_of(lambda a, b: a * b, columns=2, noise=0.1)
    assert 0.003 < smooth_error(target) < 0.1
    assert smooth_error(target_of(lambda a, b: a * b, columns=2)) < 1e-3


def test_differences_of_columns_of_both_signs_are_no_products():
    rng = np.random.default_rng(0)
    size = np.exp(rng.uniform(0, np.log(10), (2000, 6)))
    x = np.column_stack([np.exp(rng.uniform(0, 5, 2000)), rng.choice([-1, 1], size.shape) * size])
    y = x[:, 0] / ((x[:, 1] - x[:, 2]) ** 2 + (x[:, 3] - x[:, 4]) ** 2 + (x[:, 5] - x[:, 6]) ** 2)
    names = tuple("mabcdef")
    parts = independent_parts(plain(Dataset.of(pd.DataFrame(x, columns=list(names)), y), make_symbols(names)))
    _, a, b, c, d, e, f = make_symbols(names)
    assert {abs(symbol) for symbol in parts[-1].symbols} == {abs(a - b), abs(c - d), abs(e - f)}


@pytest.mark.parametrize(
    "law",
    [
        lambda a, b, c: 3.0 * a + b**2 - np.sqrt(c),
        lambda a, b, c: a**2 * b + 0.3 * c,
        lambda a, b, c: a**3 + 2.0 * b + 0.5 * np.cos(3.0 * c),
    ],
)
def test_a_column_that_says_little_is_found_among_a_thousand(law):
    rng = np.random.default_rng(101)
    x = rng.uniform(0.5, 3.0, (500, 1000))
    y = law(*x[:, [7, 400, 901]].T)
    y = y + 0.01 * np.std(y) * rng.normal(size=500)
    few = promising(x, y, 40)
    assert {few[k] for k in relevant(x[:, few], y, 8)} == {7, 400, 901}


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_a_product_shows_in_few_rows_of_many_columns(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(30, 1000))
    y = x[:, 0] * x[:, 1] + 0.1 * rng.normal(size=30)
    few = promising(x, y, 40)
    assert {0, 1} <= {few[k] for k in relevant(x[:, few], y, 8)}


def test_the_order_of_the_rows_says_nothing_about_columns_of_two_values():
    rng = np.random.default_rng(0)
    y = np.sort(rng.normal(size=200))
    telling = y[:, None] + 1.5 * rng.normal(size=(200, 2))
    x = np.column_stack([rng.integers(0, 2, (200, 60)), telling])
    assert {60, 61} <= set(promising(x, y, 6))
