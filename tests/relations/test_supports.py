"""Sets of terms: eigenvalues by closed forms, and what distances may not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh

from ceql.expression.prices import PRICES
from ceql.relations.candidates import sums_of_terms
from ceql.relations.policy import POLICY
from ceql.relations.rows import Rows
from ceql.relations.supports import Moments, moments_of
from ceql.relations.terms import dictionary_of, make_terms


def moments_from(values: np.ndarray, slopes: np.ndarray) -> Moments:
    return Moments(values[None], slopes[None], np.zeros(len(values)), 10, POLICY.supports)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_the_least_distance_is_the_least_eigenvalue(size, seed):
    rng = np.random.default_rng(seed)
    one, two = (part.T @ part for part in rng.normal(size=(2, size + 3, size)))
    found = moments_from(one, two).distances(np.arange(size)[None], 0)[0]
    assert found == pytest.approx(eigh(one, two, eigvals_only=True)[0], rel=1e-2)


def circle(noise: float, seed: int = 0, scale: float = 1.0) -> Rows:
    rng = np.random.default_rng(seed)
    turn = rng.uniform(0.0, 2.0 * np.pi, 120)
    x = np.column_stack([3.0 * np.cos(turn) + 1.0, 2.0 * np.sin(turn)])
    x += noise * x.std(axis=0) * rng.normal(size=x.shape)
    return Rows.of(x * np.array([scale, 1.0]), ("x", "y"))


def distance_of(rows: Rows, *texts: str) -> float:
    terms = [t for t in make_terms(rows.x, rows.symbols, POLICY.vocabulary) if str(t.expression) in texts]
    dictionary = dictionary_of(terms, rows)
    moments = moments_of(dictionary, rows.codes, PRICES, POLICY.supports)
    return float(moments.distances(np.arange(len(texts))[None], 0)[0])


@pytest.mark.parametrize("noise", [0.003, 0.01, 0.03])
def test_the_distance_of_the_true_terms_is_the_noise(noise):
    assert distance_of(circle(noise), "x", "x**2", "y**2") == pytest.approx(noise**2, rel=0.4)


def test_distances_do_not_depend_on_units():
    plain, in_other_units = circle(0.01), circle(0.01, scale=1000.0)
    texts = ("x", "x**2", "y**2")
    assert distance_of(in_other_units, *texts) == pytest.approx(distance_of(plain, *texts), rel=1e-6)


def test_what_varies_little_is_not_near():
    """Square and logarithm of a column in a narrow range are nearly a straight line, and that is no relation."""
    rng = np.random.default_rng(1)
    rows = Rows.of(np.column_stack([rng.uniform(300.0, 310.0, 100), rng.uniform(1.0, 2.0, 100)]), ("T", "y"))
    assert distance_of(rows, "T", "T**2", "log(T)") > 1e-3


def test_the_best_sum_comes_first():
    best = sums_of_terms(circle(0.01), POLICY)[0]
    assert {str(term) for term in best.terms} == {"x", "x**2", "y**2"}


def test_terms_that_are_given_are_not_used_again():
    rows = circle(0.0)
    (given,) = [t for t in make_terms(rows.x, rows.symbols, POLICY.vocabulary) if str(t.expression) == "x**2"]
    found = sums_of_terms(rows, POLICY, [given])
    assert not any(str(term).startswith("x**2") for draft in found for term in draft.terms)
