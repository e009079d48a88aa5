"""Sums as tapes: what is put together from terms that are written once has the values of the sums."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import symbols

from ceql.engine import fit
from ceql.sums import SumSearchPolicy, make_table
from ceql.sums.table import Table
from ceql.sums.terms import Factor, Real, Sum, Term
from ceql.sums.vocabulary import KINDS


@pytest.fixture(scope="module")
def table() -> Table:
    rng = np.random.default_rng(3)
    x = rng.uniform(0.5, 3.0, (20, 2))
    return make_table(x, x[:, 0] + x[:, 1], symbols("a b"), rng.uniform(0.5, 1.5, 20), SumSearchPolicy())


def factor_with(numbers: int, inner: int, columns: int = 1) -> Factor:
    kinds = (k for k, kind in enumerate(KINDS) if k and len(kind.names) == numbers and len(kind.columns) == columns)
    return Factor(next(kinds), inner, tuple(Real(0.7 + 0.1 * k) for k in range(numbers)))


def weighted(one: Sum) -> Sum:
    columns = sum(term.columns for term in one.terms)
    return Sum(one.terms, tuple(Real(0.4 - 0.3 * k) for k in range(columns)))


def test_every_sum_on_a_tape_has_its_own_values(table: Table) -> None:
    pole, wave = Term((0, 1), (factor_with(2, 0, columns=2),)), Term((2,), (factor_with(1, 1, columns=2),))
    both, plain = Term((1,), (factor_with(1, 0), factor_with(0, 1))), Term((1,))
    sums = [weighted(Sum(terms)) for terms in ((plain,), (pole, plain), (both, wave), (wave, pole, both))]
    written = table.writer.written(sums)
    places = zip(sums, written.numbers, written.weights, strict=True)
    for one, numbers, weights in places:
        params, mask = np.zeros((1, written.tape.n_params)), np.zeros((1, written.tape.n_params), np.uint8)
        params[0, numbers], params[0, weights] = one.numbers, one.weights
        mask[0, numbers.start : weights.stop] = 1
        expected = table.columns_of(one)[0] @ one.weights / table.root_weight
        values = fit.values(written.tape, table.samples, params[0], mask)[0]
        np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-12)


def test_what_is_fitted_keeps_what_was_worked_out_of_its_structure(table: Table) -> None:
    begun = Sum((Term((1,), (factor_with(1, 0),)), Term((0,))))
    price = table.price_of(begun)
    made = begun.fitted([1.25], [2.0, -1.0], 0.5)
    assert (made.numbers, made.weights, made.misfit) == ([1.25], (2.0, -1.0), 0.5)
    assert (made.key, made.size, made.structure) == (begun.key, begun.size, begun.structure)
    assert table.price_of(made) == price == sum(table.price(term) for term in made.terms)
