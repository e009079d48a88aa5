"""Scores tell right from nearly right."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ceql.bench.judge import mse, score
from ceql.bench.problems import load_problem, load_suite, sample


@pytest.mark.parametrize("problem", load_suite("paper").problems, ids=lambda p: p.name)
def test_the_truth_scores_perfectly(problem):
    result = score(problem.expression, problem, sample(problem, 0))
    assert result.exact
    assert result.equivalent
    assert result.train_mse == result.interp_mse == result.extrap_mse == 0.0


def test_node_counts_are_the_papers():
    counts = [score(p.expression, p, sample(p, 0)).node_count for p in load_suite("paper").problems]
    assert counts == [5, 8, 10, 22, 13, 14, 13, 19, 23, 23]


def test_a_wrong_constant_is_neither_exact_nor_equivalent():
    problem = load_problem("E-7")
    result = score("(0.53 - 2.94*x1)/(2.32*x1 + 1.801)", problem, sample(problem, 0))
    assert not result.exact
    assert not result.equivalent
    assert result.extrap_mse is not None
    assert 0 < result.extrap_mse < math.inf


def test_an_equal_form_is_exact():
    problem = load_problem("E-7")
    result = score("-1.2672413793103448 + 2.8110344827586207/(2.32*x1 + 1.8)", problem, sample(problem, 0))
    assert result.exact
    assert result.equivalent


def test_a_formula_undefined_where_the_truth_is_not_scores_infinity():
    problem = load_problem("E-1")
    result = score("sqrt(x1)", problem, sample(problem, 0))
    assert result.interp_mse == math.inf
    assert not result.equivalent


def test_mse_of_overflow_is_infinite():
    assert mse(np.array([1e300]), np.array([0.0])) == math.inf


def test_nuisance_columns_do_not_disturb():
    problem = load_problem("rational-2[nuisance=8]")
    assert score(problem.expression, problem, sample(problem, 0)).exact
