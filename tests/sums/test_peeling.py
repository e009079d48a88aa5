"""Sums taken apart: what is projected out, what stands out beside it, and the columns one after the other."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from ceql.operators.program import compile_numpy
from ceql.sums import Known, SumSearchPolicy, Table, begun, exact, expression, make_table, next_rung, plain_view, tidied
from ceql.sums.fitting import fitted
from ceql.sums.moves import over_poles, surroundings
from ceql.sums.peeling import Peeled, Rung, explored, joined, leaders, parts_left_out, pruned, rung_view, trimmed
from ceql.sums.search import merged, most_promising, ranked, standing_out
from ceql.sums.terms import NOTHING, Factor, Real, Sum, Term
from ceql.sums.view import functions_of, smooth_functions, spanned, view_beside
from ceql.sums.vocabulary import KINDS

X, Z, U, V = SYMBOLS = sympy.symbols("x z u v", real=True)
POLICY = SumSearchPolicy()


def table_of(function, count: int, rows: int = 160, low: float = 0.2) -> Table:
    x = np.random.default_rng(count).uniform(low, 6.0, (rows, count))
    y = function(*x.T)
    weight = 1.0 / np.hypot(y, np.median(np.abs(y)))
    return make_table(x, y, SYMBOLS[:count], weight, POLICY, combined=count > 1)


def kind_of(text: str) -> int:
    return next(k for k, kind in enumerate(KINDS) if kind.columns[0] == text)


def test_what_is_projected_out_leaves_nothing_of_itself() -> None:
    table = table_of(lambda x, z: x**3 - 2.0 * z * x + 1.0, 2)
    view = view_beside(table, functions_of(table.x, [0, 1], 40))
    np.testing.assert_allclose(view.nuisance.T @ view.nuisance, np.eye(view.nuisance.shape[1]), atol=1e-12)
    assert view.left < 1e-25
    assert all(not shelf.directions.any() or shelf.places.size for shelf in view.shelves)
    near = surroundings(NOTHING, plain_view(table))
    assert near is not None


def test_a_basis_of_dependent_columns_spans_them_all() -> None:
    columns = np.random.default_rng(0).normal(size=(30, 6))
    columns = np.column_stack([columns[:, :3], columns[:, 0], columns[:, 1] + columns[:, 2], columns[:, 3:]])
    basis = spanned(columns, 1e-11)
    assert basis.shape == (30, 6)
    np.testing.assert_allclose(basis @ (basis.T @ columns), columns, atol=1e-12)


def test_a_term_stands_out_beside_smooth_functions() -> None:
    table = table_of(lambda x: 0.7 * np.abs(x) ** 0.37 + np.sin(0.9 * x) + 2.0 * np.exp(-0.3 * x), 1, low=1e-3)
    view = rung_view(table, Rung((0,), 18))
    known = explored(view, [NOTHING], 2)
    found = standing_out(table, known, view.left)
    assert found is not None
    numbers = [number for term in found.terms for factor in term.factors for number in factor.numbers]
    assert any(abs(number - 0.37) < 1e-6 for number in numbers)


def test_only_terms_of_the_columns_asked_for_are_seen() -> None:
    table = table_of(lambda x, z: x * np.exp(-z), 2)
    view = rung_view(table, Rung((0,), 0, (1,)))
    for shelf in view.shelves:
        for m, f in shelf.places[:200].tolist():
            factor = shelf.block.factors[f]
            inner = table.inners.written[factor.inner] if factor.kind else sympy.Integer(1)
            assert X in inner.free_symbols | getattr(table.monomials.written[m], "free_symbols", set())


def test_a_fit_beside_is_that_of_the_rest_alone() -> None:
    table = table_of(lambda x: 2.0 * np.exp(-0.7 * x) + 0.1 * x**2 - x, 1)
    view = view_beside(table, smooth_functions(table.x[:, 0], 2))
    nearby = Sum((Term((0,), (Factor(kind_of("exp(p*u)"), 0, (Real(-0.8),)),)),))
    [found] = fitted([nearby], view)
    assert found.misfit < 1e-24
    assert found.numbers == pytest.approx([-0.7], rel=1e-9)
    assert found.weights == pytest.approx((2.0,), rel=1e-9)


def test_leaders_leave_different_rests_and_parts_can_be_left_out() -> None:
    one = Sum((Term((0, 1), (Factor(kind_of("exp(p*u)"), 0, (Real(-0.7),)),)), Term((0,))), misfit=1e-9)
    table = table_of(lambda x: np.exp(-x), 1)
    same = Sum((Term((1, 2), (Factor(kind_of("exp(p*u)"), 0, (Real(-0.7),)),)), Term((0,))), misfit=1e-9)
    assert len(leaders(table, [one, same])) == 1
    assert sorted(part.size for part in parts_left_out(one)) == [1, 3, 3, 3]
    assert joined(NOTHING, NOTHING) == NOTHING


def test_what_explains_next_to_nothing_is_trimmed() -> None:
    table = table_of(lambda x: 2.0 * np.exp(-0.7 * x), 1)
    decay = Factor(kind_of("exp(p*u)"), 0, (Real(-0.7),))
    needless = Sum((Term((0,), (decay, Factor(kind_of("u**p"), 0, (Real(0.1),)))), Term((2,))))
    view = plain_view(table)
    [found] = fitted([needless], view)
    [term] = trimmed(view, found).terms
    assert term.key == Term((0,), (decay,)).key


def test_what_noise_does_not_tell_is_left_out() -> None:
    noise = np.random.default_rng(3).normal(0.0, 0.01, 200)
    table = table_of(lambda x: 1.07 * np.exp(-0.53 * x) + noise, 1, rows=200)
    decay = Term((0, 1), (Factor(kind_of("exp(p*u)"), 0, (Real(-0.5),)),))
    view = plain_view(table)
    larger = fitted([Sum((decay, Term((2,))))], view)
    known = pruned(view, Known(tuple(larger)))
    [term] = ranked(table, known.sums, len(table.y) / 2.0)[0].terms
    assert (term.monomials, term.numbers) == ((0,), 1)
    assert larger[0] in known.sums


@pytest.mark.parametrize("monomial", [0, 1])  # the pole may be known as 1/(x - p) or as x/(x - p)
def test_a_function_over_a_known_pole_is_seen_beside_it(monomial: int) -> None:
    table = table_of(lambda x: 4.6 * np.sin(0.84 * x) / (x - 3.67), 1)
    pole = Term((monomial,), (Factor(kind_of("1/(u - p)"), 0, (Real(3.67),)),))
    view = rung_view(table, Rung((0,)), Sum((pole,), (Real(0.3),)))
    near = surroundings(NOTHING, view)
    assert near is not None
    _, best = max(over_poles(view, NOTHING, near), key=lambda proposal: proposal[0])
    [found] = fitted([best], view)
    assert found.misfit < 1e-20 * view.left
    assert kind_of("sin(p*u)") in [factor.kind for factor in found.terms[0].factors]
    assert not list(over_poles(plain_view(table), NOTHING, near))


def test_the_most_promising_sum_leaves_least_for_its_constants() -> None:
    table = table_of(lambda x: np.exp(-x), 1)
    sizes = [Sum((Term((0,)),), (Real(1.0),), 1e-1), Sum((Term((0,)), Term((1,))), (Real(1.0), Real(1.0)), 1e-6)]
    decades, best = most_promising(table, Known(tuple(sizes)), 1.0)
    assert best == sizes[1]
    assert decades == pytest.approx(5.0)


@pytest.mark.parametrize(("misfit", "is_exact"), [(1e-25, False), (5e-32, True)])
def test_a_sum_of_many_constants_must_leave_less(misfit: float, is_exact: bool) -> None:
    table = table_of(lambda x: np.exp(-x), 1)
    decays = tuple(Term((0,), (Factor(kind_of("exp(p*u)"), 0, (Real(-0.1 * k),)),)) for k in range(1, 8))
    many = Sum(decays, (Real(1e-3),) * 7, misfit)
    assert many.size == 14
    assert (exact(table, Known((many,))) is not None) == is_exact


FOUND = {
    "two decays and a line": (1, lambda x: 3.1 * np.exp(-0.7 * x) + 1.2 * np.exp(-0.3 * x) + 0.4 * x),
    "five terms": (1, lambda x: np.cbrt(x) + 0.4 * np.sin(1.7 * x) + 2 / (1 + x**2) - 0.1 * x**2 - np.exp(-0.6 * x)),
    "a step and a pole": (1, lambda x: np.log(np.abs(x - 2.71)) - 8.7 / (1 + np.exp((3.62 - x) / 0.334)) + x**2),
    "two pairs of columns": (4, lambda x, z, u, v: 0.5 * np.hypot(x - u, 3.46) - 3.3 * np.sin(z - v)),
    "two columns": (2, lambda x, z: z / (x + 3.01) + 0.29 * np.abs(x - z) - 5 / x + 6 * np.tanh(z / 1.7)),
}


@pytest.mark.parametrize("name", FOUND)
def test_sums_are_taken_apart_and_put_together(name: str) -> None:
    count, function = FOUND[name]
    table = table_of(function, count, rows=200)
    peeled, known = begun(table), Known()
    while peeled.waiting and exact(table, known) is None:
        peeled, tries = next_rung(table, peeled)
        known = merged(table, known, explored(plain_view(table), tries, 0 if peeled.waiting else 6).sums)
    found = exact(table, known)
    assert found is not None
    fresh = np.random.default_rng(9).uniform(0.3, 5.9, (40, count))
    written = compile_numpy(expression(tidied(plain_view(table), found), table), SYMBOLS[:count])
    np.testing.assert_allclose(written(fresh), function(*fresh.T), rtol=1e-7)


@pytest.mark.parametrize("kinked", [np.abs, np.cbrt, lambda x: x * np.abs(x)])
def test_kinks_at_zero_are_projected_out_too(kinked) -> None:
    table = table_of(lambda x: kinked(x) + 0.3 * x**2, 1, low=-2.0)
    assert view_beside(table, smooth_functions(table.x[:, 0], 23)).left > 1e-9
    assert view_beside(table, functions_of(table.x, [0], 24)).left < 1e-25


def test_the_second_look_at_a_column_takes_nothing_of_it_for_known() -> None:
    noise = np.random.default_rng(0).normal(size=1000)
    table = table_of(lambda x, z: noise[: len(x)], 2)
    of_first, of_second = (Term((0,), (Factor(kind_of("exp(-u)"), column),)) for column in (0, 1))
    known = Sum((of_first, of_second), (Real(1.0), Real(2.0)))
    last = Peeled(left=(0,), waiting=(0,), base=known, rung=len(POLICY.degrees) - 1)
    after, _ = next_rung(table, last)
    assert after.is_second
    assert after.waiting == (0,)
    assert after.base == Sum((of_second,), (Real(2.0),))


def test_a_power_near_zero_becomes_a_logarithm() -> None:
    table = table_of(lambda x: 0.8 * np.log(x + 0.5) + 0.1 * x**2, 1)
    view = rung_view(table, Rung((0,), 2))
    power = Term((0,), (Factor(kind_of("(u - p)**q"), 0, (Real(-0.52), Real(0.01))),))
    [beginning] = fitted([Sum((power,))], view)
    found = trimmed(view, beginning)
    assert [KINDS[factor.kind].columns[0] for term in found.terms for factor in term.factors] == ["log(u - p)"]
    assert found.numbers == pytest.approx([-0.5], rel=1e-6)
