"""What columns and products of columns say about a goal, against NumPy's own correlations."""

from __future__ import annotations

import numpy as np

from ceql.data.correlations import best_products, explained


def test_a_column_explains_the_square_of_its_correlation():
    random = np.random.default_rng(0)
    columns, goals = random.normal(3.0, 1.0, (50, 4)), random.normal(-2.0, 5.0, (50, 2))
    expected = [max(np.corrcoef(column, goal)[0, 1] ** 2 for goal in goals.T) for column in columns.T]
    np.testing.assert_allclose(explained(columns, goals), expected, rtol=1e-10)


def test_constants_and_infinities_explain_nothing():
    columns = np.column_stack([np.full(20, 7.3), np.arange(20.0), np.where(np.arange(20) == 3, np.inf, 1.0)])
    assert explained(columns, np.arange(20.0)[:, None]).tolist()[::2] == [0.0, 0.0]


def test_the_best_products_are_those_of_all_pairs_by_weighted_correlation():
    random = np.random.default_rng(1)
    left, right, goal = random.normal(size=(40, 7)), random.uniform(1, 2, (40, 5)), random.normal(size=40)
    weight = random.uniform(0.1, 3.0, 40)
    shares = {}
    for i, j in np.ndindex(7, 5):
        (a, b), (_, c) = np.cov(left[:, i] * right[:, j], goal, aweights=weight**2)
        shares[i, j] = b**2 / (a * c)
    found = list(zip(*best_products(left, right, goal[:, None], 6, weight), strict=True))
    assert found == sorted(shares, key=lambda pair: -shares[pair])[:6]


def test_a_product_without_any_effect_of_its_factors_is_found_among_half_a_million():
    random = np.random.default_rng(2)
    x = random.normal(size=(60, 1000))
    goal = (x[:, 17] * x[:, 900])[:, None]
    i, j = best_products(x, x, goal, 50)
    assert (i[0], j[0]) == (17, 900)
    assert (i <= j).all()
    assert len(set(zip(i.tolist(), j.tolist(), strict=True))) == 50


def test_where_there_are_fewer_products_than_wanted_all_are_given():
    x = np.random.default_rng(3).normal(size=(30, 3))
    i, j = best_products(x, x, x[:, :1], 100)
    assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
