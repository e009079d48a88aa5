"""Fractions of polynomials are found without a search, and nothing else is taken for one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql import Dataset, Settings, discover
from ceql.closed_form import fraction, squares
from ceql.discovery import Outcome
from ceql.expression import compile_numpy
from ceql.formula import make_symbols
from ceql.search.policy import EndPolicy, SearchPolicy


def points(columns: int, seed: int = 0, rows: int = 200) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2, 2, (rows, columns))


def found(x: np.ndarray, y: np.ndarray):
    return fraction(x, y, make_symbols(tuple(f"x{k + 1}" for k in range(x.shape[1]))))


def values(expression, x: np.ndarray) -> np.ndarray:
    return compile_numpy(expression, make_symbols(tuple(f"x{k + 1}" for k in range(x.shape[1]))))(x)


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 2), st.integers(0, 2))
@settings(max_examples=25, deadline=None)
def test_every_fraction_of_low_degree_is_found(seed, columns, above, below):
    rng = np.random.default_rng(seed)
    x = points(columns, seed)

    def polynomial(degree):
        total = rng.uniform(0.5, 3.0) * np.ones(len(x))
        for _ in range(degree):
            total = total * (x @ rng.uniform(0.5, 2.0, columns) + rng.uniform(-1, 1))
        return total + x @ rng.uniform(0.5, 2.0, columns)

    y = polynomial(above) / polynomial(below)
    fresh = points(columns, seed + 1)
    formula = found(x, y)
    assert formula is not None
    rng = np.random.default_rng(seed)
    x = fresh
    wanted = polynomial(above) / polynomial(below)
    np.testing.assert_allclose(
        values(formula.expression, fresh), wanted, rtol=1e-6, atol=1e-6 * np.median(np.abs(wanted))
    )


FUNCTIONS = {
    "exp": np.exp,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "log": lambda z: np.log(2.5 + np.clip(z, -2, None)),
    "sqrt": lambda z: np.sqrt(3 + 0.4 * z),
    "abs": lambda z: np.abs(z - 0.1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("slowness", [3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.001])
def test_other_functions_are_none_however_little_they_bend(name, slowness):
    x = points(1)
    if name == "abs" and slowness < 0.05:
        pytest.skip("without its kink in the data |z| is a line")
    assert found(x, FUNCTIONS[name](slowness * x[:, 0])) is None
    assert found(x, FUNCTIONS[name](slowness * x[:, 0]) / (x[:, 0] - 0.3)) is None


def test_noise_is_none_and_few_rows_are_none():
    x = points(2)
    y = 1 / (x[:, 0] - 0.3)
    assert found(x, y + 1e-6 * np.random.default_rng(1).normal(size=len(y))) is None
    assert found(x[:5], y[:5]) is None
    assert found(points(120), points(120)[:, 0]) is None


def test_idle_terms_are_left_out():
    x = points(2)
    formula = found(x, x[:, 0] * x[:, 1] / (x[:, 0] ** 2 - 1.3))
    assert formula is not None
    assert formula.terms == 3
    assert not formula.is_linear


def test_it_ends_the_search_before_the_first_start():
    x = points(5)
    y = (x @ [1.2, -0.7, 0.4, 2.0, 1.1] + 0.3) / (x @ [0.5, 1.1, -1.4, 0.6, 0.9] - 0.8)
    discovery = discover(Dataset.of(x, y), Settings(time_limit=30))
    assert discovery.outcome is Outcome.EXACT
    assert discovery.starts == 0
    assert discovery.best.complexity <= 35


def test_rows_without_weight_do_not_count():
    x = points(1)
    y = 1.5 / (x[:, 0] - 0.4)
    weight = np.ones(len(y))
    y[:3], weight[:3] = 99.0, 0.0
    discovery = discover(Dataset.of(x, y, weight), Settings(time_limit=30))
    assert discovery.starts == 0
    assert discovery.outcome is Outcome.EXACT


def test_operators_that_cannot_make_a_fraction_are_respected():
    x = points(1)
    discovery = discover(Dataset.of(x, np.sin(2 * x[:, 0])), Settings(operators=("sin",), time_limit=20))
    assert discovery.starts > 0
    allowed = discover(Dataset.of(x, 1 / (x[:, 0] ** 2 + 1)), Settings(operators=("sin", "mul"), time_limit=2))
    assert allowed.outcome is not Outcome.EXACT


def test_a_long_fraction_is_kept_in_case_nothing_shorter_is_found():
    at_once = SearchPolicy(end=EndPolicy(rounds_with_spare=0))
    x = points(3, rows=300)
    y = 1 / (x[:, 0] - 0.9) + 2 / (x[:, 1] + 1.2) - 1.5 / (x[:, 2] - 0.4) + x[:, 0]
    discovery = discover(Dataset.of(x, y), Settings(time_limit=60, search=at_once))
    assert discovery.outcome is Outcome.EXACT
    assert discovery.best.loss < 1e-20


@pytest.mark.parametrize("function", [np.tanh, lambda z: 1 / (np.exp(z) + 1), lambda z: 2.5 / (1 - 0.3 * np.exp(-z))])
def test_an_exponential_may_fall_where_it_would_grow_too_large(function):
    x = np.random.default_rng(0).uniform(0.05, 20, (300, 1))
    discovery = discover(Dataset.of(x, function(x[:, 0])), Settings(time_limit=20))
    assert discovery.outcome is Outcome.EXACT
    assert discovery.starts == 0


def test_the_root_of_a_fraction_may_have_both_signs():
    x = np.random.default_rng(0).uniform((-5, -0.8, 0.5), (5, 0.8, 5), (200, 3))
    y = (x[:, 0] - x[:, 1] * x[:, 2]) / np.sqrt(1 - x[:, 1] ** 2)
    discovery = discover(Dataset.of(x, y), Settings(operators=("mul", "div", "sqrt"), time_limit=60))
    assert discovery.outcome is Outcome.EXACT
    fresh = np.random.default_rng(1).uniform((-5, -0.8, 0.5), (5, 0.8, 5), (50, 3))
    wanted = (fresh[:, 0] - fresh[:, 1] * fresh[:, 2]) / np.sqrt(1 - fresh[:, 1] ** 2)
    np.testing.assert_allclose(discovery.best(fresh), wanted, rtol=1e-9, atol=1e-12)


def test_fractions_of_sums_of_single_powers_have_room_for_more_columns():
    x = np.random.default_rng(1).uniform(-50, 50, (100, 5))
    y = 0.81 + 24.3 * (2 * x[:, 1] + 3 * x[:, 2] ** 2) / (4 * x[:, 3] ** 3 + 5 * x[:, 4] ** 4)
    symbols = make_symbols(tuple(f"x{k + 1}" for k in range(5)))
    scaled = x / 64.0
    assert fraction(scaled, y, symbols) is None
    formula = fraction(scaled, y, symbols, mixed=False)
    assert formula is not None
    np.testing.assert_allclose(values(formula.expression, scaled), y, rtol=1e-7)


def test_squares_of_columns_of_both_signs():
    x = np.array([[-1.0, 2.0], [3.0, 4.0]])
    first, second = squares(x, make_symbols(("x1", "x2")))
    assert first[0].tolist() == [[1.0, 2.0], [9.0, 4.0]]
    assert second[0].tolist() == [[1.0, 4.0], [9.0, 16.0]]
    assert [str(symbol) for symbol in first[1]] == ["x1**2", "x2"]


def test_an_even_function_is_found_in_the_squares():
    x = points(2, rows=400)
    table = Dataset.of(x, sum(1.0 / (1.0 + column**-4.0) for column in x.T))
    found = discover(table, Settings(max_starts=0))
    assert found.outcome is Outcome.EXACT
