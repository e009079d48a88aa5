from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ceql.bench.noise import independent_constants, noise_score, with_free_integers
from ceql.bench.points import columns
from ceql.bench.problems import load_problem, sample
from ceql.expression import parse_formula, refit

PROBLEM = replace(load_problem("E-7"), noise=0.01, n_interp=500, n_extrap=10)  # (0.53 - 2.94*x1)/(2.32*x1 + 1.80)
SAMPLES = sample(PROBLEM, 0)
SYMBOLS = columns(SAMPLES.names)


def fitted(text: str):
    return refit(parse_formula(text, SAMPLES.names), SYMBOLS, SAMPLES.X_train, SAMPLES.y_train)


def judged(text: str):
    fit = fitted(text)
    return noise_score(fit.expr, list(zip(fit.values, fit.standard_errors, strict=True)), PROBLEM, SAMPLES)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("-1.27 + 1.21/(x1 + 0.776)", True),
        ("(0.53 - 2.94*x1)/(2.32*x1 + 1.8)", True),  # one constant too many to write, none too many to fit
        ("1.21/(x1 + 0.776)", False),
        ("-1.27 + 1.21/(x1 + 0.776) + 0.001*x1", False),
        ("-1.27 + 1.21/(x1 + 0.776 + 0.0001*x1**2)", False),
        ("sin(1.1*x1 + 0.3)", False),
        ("0.5", False),
    ],
)
def test_the_structure_is_right_if_it_holds_the_truth_and_nothing_more(text, right):
    assert judged(text).right is right


def test_a_wrong_whole_number_is_a_wrong_constant_and_no_wrong_structure():
    score = judged("-1 + 1.21/(x1 + 0.776)")
    assert score.right
    assert (score.constants, score.covered) == (3, pytest.approx(0, abs=2))
    assert score.covered < 3


def test_error_bars_of_the_right_formula_cover_the_truth():
    score = judged("-1.27 + 1.21/(x1 + 0.776)")
    assert score.constants == 3
    assert score.covered >= 2
    none = noise_score(fitted("-1.27 + 1.21/(x1 + 0.776)").expr, [(v, 0.0) for v in (1, 2, 3)], PROBLEM, SAMPLES)
    assert none.covered == 0


def test_errors_are_in_units_of_the_noise():
    score = judged("-1.27 + 1.21/(x1 + 0.776)")
    assert 0.0 < score.train_error < 0.5  # three constants from 128 points: about sqrt(3/128)
    assert score.median_error <= score.interp_error
    assert score.undefined == 0.0
    worse = judged("0.5")
    assert worse.train_error == pytest.approx(100, rel=0.1)  # the spread of y itself


def test_where_the_formula_is_undefined_is_counted_apart():
    score = judged("sqrt(x1 + 1.0) + 0.1*log(x1 + 1.5)")
    assert 0.0 < score.undefined < 0.5
    assert np.isfinite(score.interp_error)


def test_independent_constants_are_counted_by_rank():
    x = SAMPLES.X_interp
    assert independent_constants(parse_formula(PROBLEM.expression, SAMPLES.names), SYMBOLS, x) == 3
    assert independent_constants(parse_formula("x1 + 1", SAMPLES.names), SYMBOLS, x) == 0


def test_whole_numbers_are_freed_but_for_exponents_and_signs():
    freed = with_free_integers(parse_formula("3*x1**2 - x1 + 2", SAMPLES.names))
    assert freed == parse_formula("3.0*x1**2 - x1 + 2.0", SAMPLES.names)


def test_constants_of_a_formula_without_derivatives_all_count():
    overflowing = parse_formula("1.5/(2.5*exp(9000.5*(x1**2 + 1)) + 1)", SAMPLES.names)
    assert independent_constants(overflowing, SYMBOLS, SAMPLES.X_interp) == 3
