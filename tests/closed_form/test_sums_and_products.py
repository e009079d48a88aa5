"""Sums of few terms and products, found by linear algebra alone."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql import CEQLRegressor
from ceql.closed_form import noisy_forms, product, sparse_sum
from ceql.expression import compile_numpy

FUNCTIONS = ("log", "sin", "cos", "exp")
SYMBOLS = sympy.symbols("a b c", real=True)


def table(low: float, high: float, n: int = 300, seed: int = 0) -> np.ndarray:
    return np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), (n, len(SYMBOLS))))


def values(expression: sympy.Expr, x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(compile_numpy(expression, SYMBOLS)(x), (len(x),)).astype(float)


def agrees(found: sympy.Expr | None, expression: sympy.Expr) -> bool:
    """On points that the method has not seen."""
    fresh = table(0.5, 6.0, seed=1)
    truth = values(expression, fresh)
    return found is not None and np.allclose(values(found, fresh), truth, rtol=1e-8, atol=1e-8 * np.abs(truth).max())


powers = st.tuples(*[st.integers(-2, 2)] * 3).filter(lambda p: 0 < sum(map(abs, p)) <= 4)
constants = st.floats(0.2, 5.0).flatmap(lambda c: st.sampled_from((c, -c)))


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(powers, constants, min_size=1, max_size=3))
def test_a_sum_of_powers_is_found(terms):
    parts = (c * sympy.prod(s**p for s, p in zip(SYMBOLS, e, strict=True)) for e, c in terms.items())
    expression = sympy.Add(*parts)
    x = table(0.05, 20.0)
    assert agrees(sparse_sum(x, values(expression, x), SYMBOLS, ()), expression)


exponents = st.integers(-8, 8).map(lambda k: k / 2) | st.floats(-3, 3)


@settings(max_examples=40, deadline=None)
@given(constants, st.tuples(exponents, exponents, exponents).filter(lambda e: max(map(abs, e)) > 0.1))
def test_a_product_of_any_powers_is_found(c, e):
    expression = c * sympy.prod(s**p for s, p in zip(SYMBOLS, e, strict=True))
    x = table(0.05, 20.0)
    found = product(x, values(expression, x), SYMBOLS, FUNCTIONS)
    # The sign of y is no matter of its logarithm; the constants are refitted to y afterwards.
    assert agrees(found if c > 0 or found is None else -found, expression)


A, B, C = SYMBOLS


@pytest.mark.parametrize(
    "expression",
    [
        A * sympy.cos(B) + 2 * sympy.log(A),
        0.3 * sympy.exp(A) / B - C,
        A**2 + B**2 - 2 * A * B * sympy.cos(C),
        1.5 + A * sympy.sin(B) ** 2,
    ],
)
def test_functions_of_a_column_may_be_part_of_a_term(expression):
    x = table(0.5, 6.0)
    assert agrees(sparse_sum(x, values(expression, x), SYMBOLS, FUNCTIONS), expression)


@pytest.mark.parametrize(
    "expression",
    [
        A * B * sympy.sin(C),
        3 * B * sympy.exp(-A * B / C),
        (A - B) * C**2 / (A**2 + C**2),
        A * sympy.sqrt(B + C) / sympy.log(1 + 0 * A + 7.0),
    ],
)
def test_factors_may_be_more_than_powers(expression):
    x = table(0.5, 6.0)
    assert agrees(product(x, values(expression, x), SYMBOLS, FUNCTIONS), expression)


@pytest.mark.parametrize(
    "expression", [sympy.log(A + B), sympy.exp(0.3 * A) + B, 1 / (A + 1.3 * B), sympy.sqrt(A + B * C)]
)
def test_what_is_no_short_sum_is_refused(expression):
    x = table(0.5, 6.0)
    assert sparse_sum(x, values(expression, x), SYMBOLS, FUNCTIONS) is None


@pytest.mark.parametrize("expression", [sympy.log(A + B), sympy.exp(0.3 * A) + B, 1 / (A + 1.3 * B)])
def test_what_is_no_product_is_refused(expression):
    x = table(0.5, 6.0)
    assert product(x, values(expression, x), SYMBOLS, FUNCTIONS) is None


@pytest.mark.parametrize("method", [sparse_sum, product])
@pytest.mark.parametrize("rows", [2, 5, 20, 300])
def test_noise_is_refused(method, rows):
    rng = np.random.default_rng(3)
    assert method(rng.uniform(1, 3, (rows, 3)), rng.normal(5.0, 0.5, rows), SYMBOLS, FUNCTIONS) is None


def test_a_factor_is_taken_out_before_any_search():
    x = table(0.5, 6.0)
    model = CEQLRegressor(verbose=False).fit(x, x[:, 0] * np.sin(x[:, 1]) / np.sqrt(x[:, 2]))
    assert str(model.sympy()) in ("x1*sin(x2)/sqrt(x3)", "x1*sin(x2)*x3**(-0.5)")
    assert model.discovery_.starts == 0


@pytest.mark.parametrize(
    "expression",
    [A * B / C**2, 2 * sympy.sqrt(A) / B, A * (B**2 + C**2) / 2, A * B + 3 * C, A * B + A * B * C],
)
def test_noise_leaves_the_formula_among_the_proposals(expression):
    x = table(1.0, 5.0, n=1000)
    y = values(expression, x)
    noisy = y + 0.01 * np.sqrt(np.mean(y**2)) * np.random.default_rng(2).standard_normal(len(y))
    fresh = table(1.0, 5.0, seed=1)
    errors = [
        np.abs(values(found, fresh) / values(expression, fresh) - 1).max()
        for found in noisy_forms(x, noisy, SYMBOLS, FUNCTIONS)
    ]
    assert min(errors) < 0.02
    model = CEQLRegressor(time_limit=0.5, verbose=False).fit(x, noisy)
    assert np.abs(model.predict(fresh) / values(expression, fresh) - 1).max() < 0.05


@pytest.mark.parametrize(
    "expression",
    [(A * B + C) / (1 + 0.7 * B), (A + B * C) / (1 + 0.5 * C), A / (B * C + 1.5)],
)
def test_fractions_are_among_the_proposals(expression):
    x = table(1.0, 5.0, n=1000)
    y = values(expression, x)
    noisy = y + 0.01 * np.sqrt(np.mean(y**2)) * np.random.default_rng(2).standard_normal(len(y))
    fresh = table(1.0, 5.0, seed=1)
    truth = values(expression, fresh)
    errors = [np.abs(values(found, fresh) / truth - 1).max() for found in noisy_forms(x, noisy, SYMBOLS, ())]
    assert min(errors) < 0.05


@pytest.mark.parametrize("expression", [A * B / (A + 2 * B), A**2 / (1 + A * B / 2)])
def test_a_tenth_of_noise_does_not_make_denominators_vanish(expression):
    """y = P - y*Q has noise on both sides, which speaks for Q = -1."""
    x = table(1.0, 3.0, n=2000)
    y = values(expression, x)
    noisy = y + 0.1 * np.sqrt(np.mean(y**2)) * np.random.default_rng(2).standard_normal(len(y))
    fresh = table(1.0, 3.0, seed=1)
    truth = values(expression, fresh)
    fractions = [
        found for found in noisy_forms(x, noisy, SYMBOLS, ()) if sympy.fraction(sympy.together(found))[1].is_Add
    ]
    errors = [np.sqrt(np.mean((values(found, fresh) - truth) ** 2) / np.mean(truth**2)) for found in fractions]
    assert min(errors) < 0.02


def test_rows_count_as_far_as_noise_leaves_them_alone():
    """The reciprocal of noisy values says little where they are small."""
    x = table(1.0, 5.0, n=1000)
    y = values(1 / (0.3 * A**2 + 0.1 * B), x)
    noisy = y + 0.05 * np.sqrt(np.mean(y**2)) * np.random.default_rng(2).standard_normal(len(y))
    fresh = table(1.0, 5.0, seed=1)
    truth = values(0.3 * A**2 + 0.1 * B, fresh)

    def least_error(spread) -> float:
        some = noisy_forms(x, 1 / noisy, SYMBOLS, (), spread)[:4]  # the power law and sums
        return min(np.abs(values(found, fresh) / truth - 1).max() for found in some)

    assert 1.5 * least_error(1 / noisy**2) < least_error(1.0)


def test_rows_without_a_meaningful_spread_are_left_out():
    x = table(1.0, 5.0, n=50)
    assert noisy_forms(x, values(A * B, x), SYMBOLS, (), np.full(50, np.nan)) == []


@pytest.mark.parametrize(
    "expression",
    [
        (1 - sympy.cos(A * B)) / (1 - sympy.cos(B)),
        3.0 * A * (1 + sympy.sin(B / C)) ** 2,
        C * sympy.sin(A * B) ** 2 / A,
    ],
)
def test_a_product_with_sines_of_products_and_ratios_beside_one_is_found(expression):
    x = np.random.default_rng(0).uniform(0.5, 6.0, (400, 3))
    found = product(x, values(expression, x), SYMBOLS, FUNCTIONS)
    assert found is not None
    np.testing.assert_allclose(values(found, x), np.abs(values(expression, x)), rtol=1e-8)


def test_sizes_of_columns_with_both_signs_are_used():
    x = np.random.default_rng(0).uniform(-6.0, 6.0, (200, 3))
    functions = (*FUNCTIONS, "sqrt", "abs")
    y = 6.87 + 11.0 * np.sqrt(np.abs(x[:, 0] * x[:, 2]))
    np.testing.assert_allclose(values(sparse_sum(x, y, SYMBOLS, functions), x), y, rtol=1e-9)
    y = np.sqrt(np.abs(x[:, 0])) / np.log(np.abs(x[:, 1])) * np.exp(x[:, 2])
    np.testing.assert_allclose(values(product(x, y, SYMBOLS, functions), x), y, rtol=1e-9)


def test_two_terms_are_found_though_many_are_alike():
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 1))
    y = np.sin(x[:, 0] ** 2) * np.cos(x[:, 0]) - 0.75
    found = sparse_sum(x, y, (A,), FUNCTIONS)
    np.testing.assert_allclose(
        compile_numpy(found, (A,))(x + 1.0), np.sin((x[:, 0] + 1) ** 2) * np.cos(x[:, 0] + 1) - 0.75
    )
