"""Sums of terms: the vocabulary, what is proposed, fits, exactness, and the formula that comes out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.expression.text.parse import parse_formula
from ceql.operators.program import compile_numpy
from ceql.sums import Known, SumSearchPolicy, Table, exact, expression, make_table, plain_view, stretch, tidied
from ceql.sums.fitting import fitted
from ceql.sums.moves import Foremost, Scan, beside_each, multiplied, surroundings, swapped
from ceql.sums.search import is_sound, ranked, with_numbers_freed
from ceql.sums.terms import Factor, Real, Sum, Term
from ceql.sums.view import View, smooth_functions, view_beside
from ceql.sums.vocabulary import FREED, KINDS, ON_AXIS, PARAMETRIC, SAME_POLE, Span

POLICY = SumSearchPolicy()
X, Z = sympy.symbols("x z", real=True)


def table_of(x: np.ndarray, y: np.ndarray, combined: bool = False, functions: set[str] | None = None) -> Table:
    symbols = [X, Z][: x.shape[1]]
    return make_table(x, y, symbols, 1.0 / np.hypot(y, np.median(np.abs(y))), POLICY, combined, functions)


def columns(count: int, low: float = 0.2, high: float = 6.0, rows: int = 120) -> np.ndarray:
    return np.random.default_rng(count).uniform(low, high, (rows, count))


def kind_of(text: str) -> int:
    return next(k for k, kind in enumerate(KINDS) if kind.columns[0] == text)


def found_in(table: Table, expansions: int) -> Sum | None:
    view = plain_view(table)
    found = exact(table, stretch(view, Known(), expansions))
    return None if found is None else tidied(view, found)


# ---- the vocabulary -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PARAMETRIC, ids=lambda kind: kind.columns[0])
def test_slopes_are_derivatives(kind) -> None:
    u = np.linspace(0.4, 3.1, 13)
    begins = kind.begin(Span.of(u)) or [(1.3,)]
    numbers = np.array(begins, float)[:3]
    values, slopes = kind.values(u, numbers)
    assert values.shape == (13, len(numbers), len(kind.columns))
    for k in range(len(kind.names)):
        step = np.zeros(len(kind.names))
        step[k] = 1e-6 * max(1.0, float(np.abs(numbers[:, k]).max()))
        above, below = kind.values(u, numbers + step)[0], kind.values(u, numbers - step)[0]
        by_difference = (above - below) / (2.0 * step[k])
        near = np.isfinite(by_difference) & (np.abs(values) < 1e6)
        assert near.any()
        np.testing.assert_allclose(slopes[..., k][near], by_difference[near], rtol=1e-3, atol=1e-4)


def test_a_free_kind_is_a_case_of_the_one_that_frees_it() -> None:
    u = np.linspace(0.4, 3.1, 9)
    for free, (kind, numbers) in FREED.items():
        values = KINDS[free].values(u, np.zeros((1, 0)))[0][:, 0, 0]
        columns = KINDS[kind].values(u, np.array([numbers]))[0][:, 0]
        with_constant = np.column_stack([columns, np.ones(len(u))])
        left = values - with_constant @ np.linalg.lstsq(with_constant, values, rcond=None)[0]
        assert np.abs(left).max() < 1e-10, KINDS[free].columns


def test_a_kind_off_the_axis_becomes_one_on_it() -> None:
    u = np.array([0.5, 1.0, 2.5, 4.0])
    for off, on in ON_AXIS.items():
        first = KINDS[off].values(u, np.array([[1.7, 1e-9]]))[0][:, 0, 0]
        second = KINDS[on].values(u, np.array([[1.7]]))[0][:, 0, 0]
        scale = float(first @ second) / float(second @ second)
        np.testing.assert_allclose(first, scale * second, rtol=1e-6)


def test_functions_that_stand_in_for_a_complex_pole_have_it_in_the_same_place() -> None:
    for _, others in SAME_POLE.items():
        for index, numbers_of in others:
            kind, (p, q) = KINDS[index], (1.3 if len(KINDS[index].names) == 2 else 0.0, 0.7)
            numbers: dict[str, float] = dict(zip(("p", "q"), numbers_of(p, q), strict=False))
            formula = parse_formula(kind.columns[0], ("u", "p", "q"))
            value = sympy.lambdify(sympy.symbols("u", real=True), formula.subs(numbers_for(formula, numbers)), "numpy")
            beside = p + 1j * q + 1e-6 * np.exp(1j * np.arange(4))
            assert (np.abs(value(beside)) > 1e4).all()
            assert (np.abs(value(beside + 0.3)) < 1e2).all()


def numbers_for(formula, numbers: dict[str, float]) -> dict:
    return {symbol: numbers[symbol.name] for symbol in formula.free_symbols if symbol.name in numbers}


def test_poles_inside_the_data_begin_on_the_axis_where_nothing_is_complex() -> None:
    x = columns(1)
    table = make_table(x, np.sin(x[:, 0]), [X], np.ones(len(x)), replace(POLICY, complex_poles=False))
    kinds = [factor for block in table.blocks for factor in block.factors]
    assert not any(factor.kind in ON_AXIS for factor in kinds)
    inside = [f for f in kinds if f.kind == kind_of("1/(u - p)") and x.min() < f.numbers[0] < x.max()]
    assert len(inside) > 20


def test_only_the_functions_that_are_allowed() -> None:
    x = columns(1)
    table = table_of(x, x[:, 0], functions={"exp"})
    used = {name for block in table.blocks for factor in block.factors for name in KINDS[factor.kind].functions}
    assert used == {"exp"}
    assert all(sympy.fraction(monomial)[1] == 1 for monomial in map(sympy.sympify, table.monomials.written))


# ---- what is proposed -----------------------------------------------------------------------------------------------


MOVES = {
    "single terms": lambda scan: list(scan.single_terms()),
    "groups": lambda scan: list(scan.groups()),
    "pairs": lambda scan: [proposal for pairs in scan.pairs() for proposal in pairs],
    "free pairs": lambda scan: list(scan.free_pairs()),
}


def smooth_view(table: Table) -> View:
    return view_beside(table, smooth_functions(table.x[:, 1], 5))


@pytest.mark.parametrize("view_of", [plain_view, smooth_view])
@pytest.mark.parametrize("move", MOVES)
def test_the_gain_is_no_less_than_what_is_explained_on_the_grid(move: str, view_of) -> None:
    x = columns(2)
    y = 2.0 * np.exp(-0.7 * x[:, 0]) + x[:, 1] ** 0.4 + 0.3 * np.sin(x[:, 0] * x[:, 1])
    view = view_of(table_of(x, y))
    begun = Sum((Term((0,)), Term((1,))))
    near = surroundings(begun, view)
    assert near is not None
    proposals = sorted(MOVES[move](Scan(view, begun, near)), key=lambda p: -p[0])[:5]
    assert proposals
    for gain, found in proposals:
        matrix = view.beside(view.table.columns_of(found)[0])
        matrix = matrix / np.maximum(np.linalg.norm(matrix, axis=0), 1e-12)
        left = near.rest - matrix @ np.linalg.lstsq(matrix, near.rest, rcond=None)[0]
        assert 1.0 - float(left @ left) <= gain + 1e-3  # the slopes explain more
        assert gain <= 1.01


@pytest.mark.parametrize("view_of", [plain_view, smooth_view])
def test_the_gain_of_monomials_that_share_a_factor_is_what_they_explain_without_slopes(view_of) -> None:
    x = columns(2)
    view = view_of(table_of(x, x[:, 1] * np.sin(3.0 * x[:, 0]) + np.exp(-x[:, 0]) * (1.0 + x[:, 1])))
    begun = Sum((Term((0,)), Term((1,))))
    near = surroundings(begun, view)
    assert near is not None
    proposals = list(Scan(view, begun, near).groups())
    assert {len(found.terms[-1].factors[0].numbers) for _, found in proposals} == {1, 2}
    for gain, found in sorted(proposals, key=lambda p: -p[0])[:12]:
        matrix = view.beside(view.table.columns_of(found)[0])
        matrix = matrix / np.linalg.norm(matrix, axis=0)
        left = near.rest - matrix @ np.linalg.lstsq(matrix, near.rest, rcond=None)[0]
        # The products are in single precision, and some of these terms are nearly in the sum.
        assert gain == pytest.approx(1.0 - float(left @ left), abs=5e-3)


def test_a_shelf_beside_several_sums_at_once_is_that_beside_each() -> None:
    x = columns(2)
    view = plain_view(table_of(x, np.exp(-x[:, 0]) + np.sqrt(x[:, 1])))
    sums = [Sum(()), Sum((Term((0,)),)), Sum((Term((1,)), Term((2,))))]
    near = [one for found in sums if (one := surroundings(found, view)) is not None]
    assert len(near) == 3
    for shelf in view.shelves:
        for one, alone in zip(beside_each(shelf, near), (beside_each(shelf, [n])[0] for n in near), strict=True):
            np.testing.assert_allclose(one.against, alone.against, atol=1e-5)  # in single precision
            np.testing.assert_allclose(one.rest_along, alone.rest_along, atol=1e-5)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.integers(1, 6), st.integers(1, 40), st.integers(1, 12), st.integers(0, 99))
def test_the_foremost_of_all_pieces_are_those_of_the_whole(pieces: int, width: int, most: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    gain, prices = rng.uniform(0.0, 1.0, (pieces, width)), rng.uniform(0.0, 30.0, (pieces, width))
    foremost = Foremost(most, 25.0)
    for k in range(pieces):
        foremost.look_at(gain[k], prices[k], k * width)
    score = prices.ravel() + 25.0 * np.log(1.0 - gain.ravel())
    expected = {*np.argsort(-gain.ravel())[:most].tolist(), *np.argsort(score)[:most].tolist()}
    assert {place for _, place in foremost.found} == expected
    assert all(g == gain.ravel()[place] for g, place in foremost.found)


def test_swaps_and_products_keep_the_other_terms() -> None:
    x = columns(1)
    view = plain_view(table_of(x, np.exp(-x[:, 0]) + np.sqrt(x[:, 0])))
    found = Sum((Term((0,), (Factor(kind_of("exp(-u)"), 0),)), Term((1,))))
    for _, other in [*list(swapped(view, found))[:20], *list(multiplied(view, found))[:20]]:
        assert any(term in found.terms for term in other.terms)
    freed = list(with_numbers_freed(found))
    assert [s.size for s in freed] == [found.size + 1] * 2


# ---- fits and what is exact -----------------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(st.floats(0.3, 2.0), st.floats(0.5, 3.0), st.floats(-4.0, 4.0).filter(lambda a: abs(a) > 0.1))
def test_a_fit_from_nearby_recovers_numbers_and_weights(rate: float, frequency: float, weight: float) -> None:
    x = columns(1)
    y = weight * np.exp(-rate * x[:, 0]) + np.sin(frequency * x[:, 0])
    begun = Sum(
        (
            Term((0,), (Factor(kind_of("exp(p*u)"), 0, (Real(-1.1 * rate),)),)),
            Term((0,), (Factor(kind_of("sin(p*u)"), 0, (Real(1.02 * frequency),)),)),
        )
    )
    [found] = fitted([begun], plain_view(table_of(x, y)))
    assert found.misfit < 1e-24
    np.testing.assert_allclose(sorted(found.numbers), sorted([-rate, frequency]), rtol=1e-6)


def test_a_sum_of_large_terms_that_cancel_proves_nothing() -> None:
    x = columns(1)
    table = table_of(x, x[:, 0])
    slow = Term((0,), (Factor(kind_of("exp(p*u)"), 0, (Real(1e-6),)),))
    [found] = fitted([Sum((Term((0,)), slow))], plain_view(table))
    assert found.misfit < 1e-9
    assert not is_sound(table, found)


def test_smaller_sums_must_be_far_worse() -> None:
    x = columns(1)
    table = table_of(x, np.sqrt(x[:, 0]) + 1.0)
    [right] = fitted([Sum((Term((0,)), Term((0,), (Factor(kind_of("sqrt(u)"), 0),))))], plain_view(table))
    assert exact(table, Known((right,))) is right
    nearly = Sum((Term((1,)),), (Real(1.0),), 1e-23)  # smaller and nearly as good: neither is proven
    assert exact(table, Known((nearly, replace(right, misfit=1e-26)))) is None


# ---- formulas -------------------------------------------------------------------------------------------------------

FOUND = {
    "two roots": (1, lambda x: 0.341 * np.cbrt(x) - 0.325 * np.sqrt(x)),
    "a cosine of a logarithm": (1, lambda x: -0.195 * x + 0.09 * np.cos(np.log(x + 1.0))),
    "a pole inside and a wave": (1, lambda x: 2.3 / (x - 3.37) + 0.8 * np.sin(1.9 * x + 0.4)),
    "two columns": (2, lambda x, z: -0.31 * np.exp(-0.43 * x) * z + 0.72 * np.sin(1.37 * x)),
    "a pole of a square": (1, lambda x: 2.3 / (x**2 - 7.31) - 0.4 * x),
    "a logarithm of a square": (1, lambda x: 0.7 * np.log(np.abs(x**2 - 5.9)) + 0.3 * np.exp(-0.8 * x)),
}


@pytest.mark.parametrize("name", FOUND)
def test_sums_are_found_and_written(name: str) -> None:
    count, function = FOUND[name]
    x = columns(count, rows=160)
    table = table_of(x, function(*x.T))
    found = found_in(table, 12)
    assert found is not None
    fresh = np.random.default_rng(9).uniform(0.3, 5.9, (40, count))
    written = compile_numpy(expression(found, table), [X, Z][:count])
    np.testing.assert_allclose(written(fresh), function(*fresh.T), rtol=1e-8)


def test_the_same_for_any_number_of_threads_and_stretches() -> None:
    x = columns(1)
    table = table_of(x, np.exp(-0.7 * x[:, 0]) + np.tanh(x[:, 0]) + 0.1 * x[:, 0] ** 1.3)
    view = plain_view(table)
    one = stretch(view, Known(), 4)
    assert stretch(view, Known(), 4, threads=2) == one
    assert stretch(view, one, 3, stop=lambda: True) == one  # a stop leaves no trace
    assert ranked(table, one.sums, 1e9)[0].misfit == min(found.misfit for found in one.sums)
