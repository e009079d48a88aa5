"""Sentences about shapes: what is read comes back, and what makes no sense is answered with the place."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ceql import Constraints, InputError
from ceql.shapes.grammar import read_shape
from ceql.shapes.shape import Kind, Shape

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False).map(lambda number: float(f"{number:.12g}"))
COLUMNS = st.text(st.characters(exclude_characters='"', exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1)


@st.composite
def shapes(draw) -> Shape:
    kind = draw(st.sampled_from(Kind))
    column, value, place = draw(COLUMNS), draw(NUMBERS), draw(NUMBERS)
    low = draw(st.floats(-1e3, 1e3).map(lambda number: float(f"{number:.6g}")))
    ranges = draw(st.sampled_from([(), ((draw(COLUMNS), low, low + 2.5),)]))
    named = [name for name, *_ in ranges]
    if kind in (Kind.ABOVE, Kind.BELOW):
        return Shape(kind, value=value, strict=draw(st.booleans()), ranges=ranges)
    if kind is Kind.POINT:
        return Shape(kind, value=value, point=((column, place),), ranges=() if column in named else ranges)
    if kind is Kind.NO_POLES:
        return Shape(kind, ranges=ranges)
    ranges = () if column in named else ranges
    if kind is Kind.LIMIT:
        where = draw(st.sampled_from([place, math.inf, -math.inf]))
        return Shape(kind, (column,), draw(st.sampled_from([value, math.nan, math.inf])), where, ranges=ranges)
    if kind is Kind.POLE:
        return Shape(kind, (column,), place=place, ranges=ranges)
    if kind is Kind.SYMMETRIC:
        return Shape(kind, (column, column + "'"), ranges=ranges)
    return Shape(kind, (column,), ranges=ranges)


@given(shapes())
def test_what_is_written_is_read_again(shape):
    again = read_shape(str(shape))
    assert again == shape
    assert hash(again) == hash(shape)
    assert (again.kind, again.columns, again.point, again.ranges) == (
        shape.kind,
        shape.columns,
        shape.point,
        shape.ranges,
    )


@given(st.text())
def test_any_text_is_read_or_refused_in_a_sentence(text):
    try:
        shape = read_shape(text)
    except InputError:
        with pytest.raises(InputError, match="shape"):
            read_shape(text)
    else:
        assert read_shape(str(shape)) == shape


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rising in x", "Did you mean 'increasing'"),
        ("increasing", "it ends where 'in' should be"),
        ("increasing in", "the name of a column"),
        ("increasing in x for x in [3, 1]", "the lower first"),
        ("increasing in x for x in [0, inf]", "two finite ends"),
        ("increasing in x for x in [0, 1] and x in [0, 2]", "names a column twice"),
        ("convex in x; import os", "cannot be read from '; import os'"),
        ("concave in x y", "'y' stands where its end should be"),
        ("positive in x", "'in' stands where its end should be"),
        ("negative for 3", "the name of a column"),
        ("f = 2", "'=' stands where"),
        ("f > x", "a number should be"),
        ("f >= inf", "infinity may stand in a limit alone"),
        ("f -> big as x -> 0", "a number or 'finite'"),
        ("f -> 0 as x", "it ends where '->'"),
        ("f -> 0 as x -> 0 for x in [0, 1]", "cannot have a range"),
        ("f(x) = 2", "stands where '='"),
        ("f(x=0, x=1) = 2", "names a column twice"),
        ("f(x=inf) = 1", "infinity may stand in a limit alone"),
        ("symmetric in x and x", "two different columns"),
        ("even in x for x in [0, 1]", "as far down as up"),
        ("odd of x", "'in' should be"),
        ("pole in x = 2", "'at' should be"),
        ("pole at x = inf", "infinity"),
        ("no pole", "'poles' should be"),
        ("x" * 5000, "too long"),
        (3, "A shape is a text"),
    ],
)
def test_what_cannot_be_meant_is_refused(text, message):
    with pytest.raises(InputError) as caught:
        read_shape(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("together", "why"),
    [
        (("increasing in x", "decreasing in x"), "only a constant"),
        (("convex in x", "concave in x"), "only a constant"),
        (("even in x", "odd in x"), "only a constant"),
        (("f > 2", "f < 1"), "lower bound"),
        (("f(x=0) = 1", "f(x=0) = 2"), "two values"),
        (("f -> 1 as x -> inf", "f -> 2 as x -> inf"), "two values"),
        (("pole at x = 2", "no poles for x in [0, 3]"), "the pole lies in the range"),
        (("positive for x in [-1, 1]", "f(x=0) = -2"), "beyond the bound"),
    ],
)
def test_shapes_that_contradict_each_other_are_refused(together, why):
    with pytest.raises(InputError, match=why):
        Constraints(shapes=together)
    Constraints(shapes=together[:1])


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"shapes": "increasing in x"}, "list of sentences"),
        ({"exponents": "2"}, "list of numbers"),
        ({"exponents": ["2"]}, "list of numbers"),
        ({"exponents_within": (2, 1)}, "the lower first"),
        ({"exponents_within": 3}, "pair of numbers"),
    ],
)
def test_constraints_check_what_they_are_given(given_, message):
    with pytest.raises(InputError, match=message):
        Constraints(**given_)
