"""What is drawn, as numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from ceql import Dataset
from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols
from ceql.output.curves import (
    borders_around,
    by_relevance,
    drawable_losses,
    goodness,
    in_pieces,
    shown_range,
    slice_along,
    used_columns,
)
from ceql.output.report.chart import Axis, log_axis


def case(text: str, x: np.ndarray) -> tuple[Formula, Dataset]:
    names = tuple(f"x{k + 1}" for k in range(x.shape[1]))
    formula = Formula(parse_formula(text, names), make_symbols(names), 0.0)
    return formula, Dataset(x, formula(x), np.ones(len(x)), names)


BOX = np.random.default_rng(0).uniform(1, 2, (60, 3))


def test_relevance_ranks_by_effect_and_leaves_out_the_unused():
    formula, data = case("x1 + 10*x3", BOX)
    assert used_columns(formula) == [0, 2]
    assert by_relevance(formula, data) == [2, 0]


def test_goodness_of_an_exact_and_of_a_constant_formula():
    formula, data = case("x1*x2", BOX)
    assert goodness(formula, data).r2 == 1.0
    flat, constant = case("2.5", BOX)
    assert np.isnan(goodness(flat, constant).r2)
    assert goodness(flat, constant).rmse == 0.0


def test_a_slice_holds_the_others_at_their_medians_and_breaks_at_poles():
    formula, data = case("x2/(x1 - 1.5)", BOX)
    piece = slice_along(formula, data, 0)
    assert [border.location for border in piece.borders] == pytest.approx([1.5])
    assert piece.held == (("x2", float(np.median(BOX[:, 1]))),)
    regular = np.isfinite(piece.y)
    assert not regular[np.isclose(piece.x, 1.5, rtol=0, atol=1e-12)].any()
    np.testing.assert_allclose(piece.y[regular], np.median(BOX[:, 1]) / (piece.x[regular] - 1.5))
    span = piece.upper - piece.lower
    assert (piece.x[0], piece.x[-1]) == pytest.approx((piece.lower - span / 2, piece.upper + span / 2))


def test_a_slice_of_a_column_that_does_not_vary():
    formula, data = case("x1 + x2", np.column_stack([np.full(9, 3.0), np.arange(9.0)]))
    piece = slice_along(formula, data, 0)
    assert np.isfinite(piece.y).all()
    assert piece.x[0] < 3.0 < piece.x[-1]


def test_borders_are_looked_for_around_the_data():
    formula, data = case("1/(x1 - 2.2) + sqrt(x2 - 0.8) + log(x3)", BOX)
    assert {(border.kind, str(border)) for border in borders_around(formula, data)} == {
        ("pole", "x1 = 2.2"),
        ("edge of the domain", "x2 = 0.8"),
    }
    assert borders_around(formula, data, share=0.0) == []


def test_poles_of_the_tangent_and_edges_of_the_arc_sine():
    formula, data = case("tan(x1) + asin(x2)", BOX)
    found = {(border.kind, round(border.location or 0, 6)) for border in borders_around(formula, data)}
    assert found == {("pole", round(np.pi / 2, 6)), ("edge of the domain", 1.0)}


@settings(max_examples=60, deadline=None)
@given(npst.arrays(float, st.integers(1, 40), elements=st.floats(-1e9, 1e9)))
def test_a_range_is_proper_and_within_reach_of_the_values(values):
    low, high = shown_range(values)
    assert low < high
    assert low <= np.median(values) <= high
    places = [place for place, _ in Axis(low, high, "").ticks()]
    assert places == sorted(set(places))
    room = 1e-9 * (high - low) + 1e-12 * max(abs(low), abs(high))  # a tick at the end may be rounded beyond it
    assert all(low - room <= place <= high + room for place in places)


def test_one_wild_value_does_not_squeeze_the_others():
    low, high = shown_range(np.append(np.linspace(0, 1, 100), 1e6))
    assert low > -5
    assert high < 5


def test_no_line_joins_the_sides_of_a_pole():
    y = in_pieces(np.array([1.0, 5.0, 400.0, -400.0, -5.0, -1.0]), (-2.0, 2.0))
    assert np.isnan(y[2])
    assert np.nanmax(y) == 5.0
    assert np.nanmin(y) == -6.0


def test_a_loss_of_zero_is_drawn_below_the_others():
    drawn = drawable_losses(np.array([1.0, 1e-40, 0.0]))
    assert (drawn > 0).all()
    assert drawn[2] < drawn[1]
    axis = log_axis(drawn, "loss")
    assert ((axis.share(drawn) > 0) & (axis.share(drawn) < 1)).all()


@settings(max_examples=80, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-5, 1e6))
def test_ticks_are_few_distinct_and_inside(low, share):
    span = share * max(1.0, abs(low))
    axis = Axis(low, low + span, "")
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 12
    assert len({text for _, text in ticks}) == len(ticks)
    for value, text in ticks:
        assert -1e-6 <= float(axis.share(value)) <= 1 + 1e-6
        assert float(text.replace("−", "-")) == pytest.approx(value, abs=span / 20)
