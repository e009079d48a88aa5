from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Float, Symbol

from ceql.expression import compile_numpy, parametrise, parse_formula, refit, round_to_errors
from ceql.expression.algebra.decimals import significant_digits
from ceql.expression.constants.rounding import bounded_covariance, rounded_together, to_digits_of_error

NAMES = ("x1", "x2")
SYMBOLS = [Symbol(name, real=True) for name in NAMES]
X = np.random.default_rng(3).uniform(-2.0, 2.0, (150, 2))
TEXTS = [
    "1.35/(x1 - 0.52) + 0.71",
    "(2.2*x1 - 0.75*x2 + 0.9)/(1.3*x1 + x2 - 1.1)",
    "1.62*log(2.3*x1**2 + 1.24*x1 + 1.7)",
    "2.4*exp(-0.73*x1) + 0.6*x2",
    "23.9*cos(0.117*x1 + 0.446) - 21.4",  # amplitude and offset are known only together
    "3.1e-7*x1 + 2.7e8*x2",
]


def read(text: str):
    return parse_formula(text, NAMES)


def noisy(expr, level: float, seed: int = 0) -> np.ndarray:
    y = compile_numpy(expr, SYMBOLS)(X)
    return y + level * y.std() * np.random.default_rng(seed).standard_normal(len(y))


def shown_digits(expr) -> list[int]:
    return [significant_digits(float(value)) for value in parametrise(expr).values]


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [(1.23456, 0.012, 1.235), (1.23456, 0.098, 1.235), (123456.0, 1200.0, 123500.0), (-0.0123456, 3.4e-5, -0.012346)],
)
def test_two_digits_of_the_error_are_kept(value, error, shown):
    assert to_digits_of_error(value, error, 2) == pytest.approx(shown, rel=1e-12)


@pytest.mark.parametrize("error", [0.0, np.inf, np.nan])
def test_an_error_that_says_nothing_rounds_nothing(error):
    assert to_digits_of_error(1.23456, error, 2) == 1.23456


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.sampled_from(TEXTS), st.floats(1e-4, 0.3), st.integers(0, 1000))
def test_the_rounded_formula_fits_as_well(text, level, seed):
    y = noisy(read(text), level, seed)
    best = refit(read(text), SYMBOLS, X, y)
    shown = round_to_errors(best.expr, SYMBOLS, X, y)
    after = refit(shown, SYMBOLS, X, y, max_iterations=0)
    p = len(best.values)
    assert after.misfit <= best.misfit * (1 + 0.06 * p / (len(y) - p))
    assert len(parametrise(shown).symbols) == p  # a constant that happens to become 2 is still a decimal with an error


@pytest.mark.parametrize("text", TEXTS[:4])
@pytest.mark.parametrize("level", [1e-3, 1e-2, 1e-1])
def test_constants_that_are_known_on_their_own_are_short(text, level):
    y = noisy(read(text), level)
    best = refit(read(text), SYMBOLS, X, y)
    shown = round_to_errors(best.expr, SYMBOLS, X, y)
    for value, error, digits in zip(best.values, best.standard_errors, shown_digits(shown), strict=True):
        supported = np.ceil(np.log10(max(abs(value) / error, 1.0))) + 2
        assert digits <= supported + 1  # one more at most, to make up for the others


def test_an_exact_fit_keeps_its_digits():
    expr = read("1.23456789012*x1 + 0.7182818284")
    assert round_to_errors(expr, SYMBOLS, X, compile_numpy(expr, SYMBOLS)(X)) == expr


def test_round_numbers_stay():
    y = noisy(read("1.5*x1 + 0.25*x2 + 0.7137"), 1e-3)
    shown = round_to_errors(read("1.5*x1 + 0.25*x2 + 0.71371234"), SYMBOLS, X, y)
    assert {1.5, 0.25} <= set(parametrise(shown).values)


def test_what_cannot_be_judged_is_left_alone():
    assert round_to_errors(SYMBOLS[0] + 1, SYMBOLS, X, X[:, 0]) == SYMBOLS[0] + 1
    many = read("1.2345*x1 + 2.3456*x2 + 0.1234")
    assert round_to_errors(many, SYMBOLS, X[:3], np.array([1.0, 2.0, 4.0])) == many


def test_redundant_constants_are_rounded_too():
    y = noisy(read("(0.53 - 2.94*x1)/(2.32*x1 + 1.8)"), 1e-2)
    best = refit(read("(0.53 - 2.94*x1)/(2.32*x1 + 1.8)"), SYMBOLS, X, y)
    assert np.isinf(best.standard_errors).all()
    assert max(shown_digits(round_to_errors(best.expr, SYMBOLS, X, y))) < 9


@pytest.mark.parametrize("entry", [2.0**40, np.inf])
def test_constants_that_no_bound_tells_apart_have_no_covariance(entry):
    problem: Any = SimpleNamespace(linearise=lambda _: (None, np.full((4, 2), entry)))
    assert bounded_covariance(problem, np.ones(2), 1.0) is None


def test_later_constants_make_up_for_earlier_ones():
    """Only the sum is known well, so the second constant must follow the first."""
    covariance = np.array([[1.0, -0.9999], [-0.9999, 1.0]])
    first, second = rounded_together(np.array([1.23456, 7.65432]), covariance, 2)
    assert first == pytest.approx(1.2)
    assert first + second == pytest.approx(1.23456 + 7.65432, abs=1e-3)


def test_a_lone_constant_is_rounded():
    y = np.random.default_rng(0).normal(7.9, 38.0, 60)
    shown = round_to_errors(Float(float(y.mean())), SYMBOLS, X[:60], y)
    assert abs(float(shown) - y.mean()) < 0.05 * y.std() / np.sqrt(60) * 1.1


# ---- standard errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS[:4])
def test_standard_errors_agree_with_repeated_experiments(text):
    """The spread of the fitted constants over many draws of the noise is what a single fit says it is."""
    truth = refit(read(text), SYMBOLS, X, compile_numpy(read(text), SYMBOLS)(X))
    fits = [refit(read(text), SYMBOLS, X, noisy(read(text), 0.02, seed)) for seed in range(200)]
    known = np.isfinite(fits[0].standard_errors)
    spread = np.std([f.values[known] for f in fits], axis=0)
    claimed = np.median([f.standard_errors[known] for f in fits], axis=0)
    assert claimed == pytest.approx(spread, rel=0.2)
    within = np.mean([np.abs(f.values - truth.values)[known] <= 2 * f.standard_errors[known] for f in fits])
    assert 0.92 < within < 0.98
