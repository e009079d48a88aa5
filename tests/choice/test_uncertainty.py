from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ceql.choice.uncertainty import uncertain
from ceql.data.dataset import Dataset
from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols, mean_square


def formula(text, data):
    expression, symbols = parse_formula(text, data.names), make_symbols(data.names)
    return Formula(expression, symbols, mean_square(Formula(expression, symbols, 0.0)(data.x) - data.y, data.weight))


def lines(rows, noise=0.2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 4.0, (rows, 1))
    y = 1.5 + 0.7 * x[:, 0] + noise * rng.standard_normal(rows)
    slope, start = np.polyfit(x[:, 0], y, 1)
    data = Dataset(x, y, np.ones(rows), ("x1",))
    return data, formula(f"{start!r} + {slope!r}*x1".replace("np.float64", ""), data)


NEW = np.array([[0.5], [2.0], [4.0], [8.0], [40.0]])


def test_a_line_has_the_interval_of_the_textbook():
    """Its own straight line is all that could be left over, so nothing is added to it."""
    data, line = lines(12)
    known = uncertain(line, [line], (1.0,), data, NEW)
    design, there = (np.column_stack([np.ones(len(x)), x]) for x in (data.x, NEW))
    noise = float(np.sum((line(data.x) - data.y) ** 2)) / 10
    variance = noise * (1.0 + np.sum((there @ np.linalg.inv(design.T @ design)) * there, axis=1))
    assert known.deviation == pytest.approx(np.sqrt(variance), rel=1e-9)
    lower, upper = known.interval(0.95)
    assert (upper - lower) / 2 == pytest.approx(stats.t.ppf(0.975, 10) * np.sqrt(variance), rel=1e-9)


def test_formulas_that_disagree_widen_it_where_they_part():
    data, line = lines(60)
    bent = formula("1.5 + 0.7*x1 + 0.01*x1**3", data)
    alone = uncertain(line, [line, bent], (1.0, 0.0), data, NEW).deviation
    beside = uncertain(line, [line, bent], (0.7, 0.3), data, NEW).deviation
    assert (beside[-2:] > 1.5 * alone[-2:]).all()
    assert beside[0] < 1.1 * alone[0]


def test_it_grows_outside_the_data_also_without_constants():
    rng = np.random.default_rng(0)
    x = rng.uniform(1.0, 2.0, (50, 2))
    data = Dataset(x, x[:, 0] * x[:, 1] + 0.1 * rng.standard_normal(50), np.ones(50), ("x1", "x2"))
    product = formula("x1*x2", data)
    deviation = uncertain(product, [product], (1.0,), data, np.array([[1.5, 1.5], [2.5, 1.5], [10.0, 10.0]])).deviation
    assert deviation[0] == pytest.approx(np.sqrt(product.loss), rel=0.05)
    assert 1.02 * deviation[0] < deviation[1] < deviation[2]


def test_an_exact_fit_leaves_nothing_open():
    x = np.linspace(1.0, 2.0, 30)[:, None]
    data = Dataset(x, 2.5 / (x[:, 0] + 0.3), np.ones(30), ("x1",))
    exact = formula("2.5/(x1 + 0.3)", data)
    assert (uncertain(exact, [exact], (1.0,), data, np.array([[1.5], [9.0]])).deviation < 1e-12).all()


def test_constants_that_no_row_determines_leave_everything_open():
    x = np.column_stack([np.linspace(0.0, 1.0, 20), np.zeros(20)])
    y = x[:, 0] + 0.1 * np.random.default_rng(0).standard_normal(20)
    data = Dataset(x, y, np.ones(20), ("x1", "x2"))
    blind = formula("1.1*x1 + 0.7*x2", data)
    deviation = uncertain(blind, [blind], (1.0,), data, np.array([[0.5, 0.0], [0.5, 1.0]])).deviation
    assert np.isfinite(deviation[0])
    assert np.isinf(deviation[1])


def test_constants_in_two_places_of_one_product_are_no_reason_to_despair():
    """a*b*x has a direction in its constants that changes nothing, anywhere."""
    data, _ = lines(30)
    twice = formula("1.5 + 0.5*(1.4*x1)", data)
    twice = twice.with_expression(parse_formula("1.5 + 0.7*x1*exp(0.1)/1.1", ("x1",)))
    assert np.isfinite(uncertain(twice, [twice], (1.0,), data, NEW).deviation).all()


def test_a_rival_without_a_value_says_nothing():
    data, line = lines(40)
    rival = formula("1.4 + 0.8*sqrt(5.0 - x1)", data)
    known = uncertain(line, [line, rival], (0.6, 0.4), data, NEW)
    assert np.isfinite(known.deviation).all()


def test_more_rows_than_are_looked_at_know_more():
    data, line = lines(30_000)
    spread = uncertain(line, [line], (1.0,), data, np.array([[400.0]])).deviation[0]
    design, there = np.column_stack([np.ones(30_000), data.x]), np.array([1.0, 400.0])
    noise = float(np.sum((line(data.x) - data.y) ** 2)) / 29_998
    assert spread == pytest.approx(np.sqrt(noise * (1.0 + there @ np.linalg.inv(design.T @ design) @ there)), rel=0.02)
