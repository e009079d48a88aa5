"""Terms: their slopes are derivatives, and columns get only the functions that they suit."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.expression import compile_numpy
from ceql.relations.policy import VocabularyPolicy
from ceql.relations.rows import Rows
from ceql.relations.terms import RADIAL, SHAPES, Factor, dictionary_of, make_terms, values_and_slopes

POLICY = VocabularyPolicy()
NAMES = ("x", "y", "z")


def rows_of(seed: int = 0, count: int = 30) -> Rows:
    return Rows.of(np.random.default_rng(seed).uniform(0.5, 3.0, (count, 3)), NAMES)


def test_values_are_those_of_the_formula_that_is_shown():
    rows = rows_of()
    terms = make_terms(rows.x, rows.symbols, POLICY)
    known = values_and_slopes(terms, rows)
    for k, term in enumerate(terms):
        np.testing.assert_allclose(known.values[:, k], compile_numpy(term.expression, rows.symbols)(rows.x), rtol=1e-12)


def test_slopes_are_differences_in_standard_deviations():
    rows, step = rows_of(), 1e-6
    terms = make_terms(rows.x, rows.symbols, POLICY)
    slopes = values_and_slopes(terms, rows).slopes
    for column in range(3):
        move = np.zeros(3)
        move[column] = step * rows.scale[column]
        up, down = (values_and_slopes(terms, rows.at(rows.x + sign * move)).values for sign in (1, -1))
        np.testing.assert_allclose(slopes[column], (up - down) / (2.0 * step), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("factor", [*(Factor((0,), s) for s in SHAPES), *(Factor((0, 1), s) for s in RADIAL)])
def test_a_term_depends_on_its_columns_alone(factor):
    assert set(factor.slopes(rows_of().x)) == set(factor.columns)


def test_a_column_of_both_signs_has_neither_logarithm_nor_pole():
    x = np.column_stack([np.linspace(-1.0, 1.0, 20), np.linspace(1.0, 2.0, 20)])
    rows = Rows.of(x, ("x", "y"))
    texts = {str(term.expression) for term in make_terms(rows.x, rows.symbols, POLICY)}
    assert {"log(y)", "1/y", "sqrt(y)"} <= texts
    assert not {"log(x)", "1/x", "sqrt(x)"} & texts


def test_the_sine_of_a_temperature_is_no_term():
    x = np.column_stack([np.linspace(280.0, 350.0, 20), np.linspace(0.0, 3.0, 20)])
    rows = Rows.of(x, ("T", "angle"))
    texts = {str(term.expression) for term in make_terms(rows.x, rows.symbols, POLICY)}
    assert "sin(angle)" in texts
    assert not {"sin(T)", "exp(T)"} & texts


def test_terms_without_a_value_are_left_out():
    rows = rows_of()
    terms = make_terms(rows.x, rows.symbols, POLICY)
    there = rows.at(rows.x * np.array([0.0, 1.0, 1.0]))  # x vanishes: 1/x has no value, and x is constant
    kept = {str(term.expression) for term in dictionary_of(terms, there).terms}
    assert "1/x" not in kept
    assert "x" not in kept
    assert "y*z" in kept


def test_of_many_terms_the_cheapest_are_kept():
    rows = rows_of()
    few = make_terms(rows.x, rows.symbols, VocabularyPolicy(most_terms=10, most_in_pairs=0))
    every = make_terms(rows.x, rows.symbols, POLICY)
    assert len(few) == 10
    assert max(term.price for term in few) <= sorted(term.price for term in every)[9]


def test_only_columns_of_like_size_have_a_common_radius():
    x = np.random.default_rng(0).uniform(1.0, 2.0, (30, 3)) * np.array([1.0, 3.0, 1e5])
    rows = Rows.of(x, NAMES)
    radial = {term.columns for term in make_terms(x, rows.symbols, POLICY) if len(term.factors[0].columns) == 2}
    assert radial == {frozenset({0, 1})}
