"""The algebra of dimensions, and exact linear equations."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ceql.dimensions import NONE, Dimension
from ceql.dimensions.dimension import product_text
from ceql.dimensions.elimination import coordinates, independent, rank, solved

BASES: tuple[str, ...] = ("length", "time", "mass")
powers = st.fractions(min_value=-3, max_value=3, max_denominator=6)


def dimensions() -> st.SearchStrategy[Dimension]:
    return st.dictionaries(st.sampled_from(BASES), powers).map(lambda powers: Dimension.of(dict(powers)))


@given(dimensions(), dimensions())
def test_the_dimension_of_a_product_is_the_sum(one, other):
    together = [a + b for a, b in zip(one.along(BASES), other.along(BASES), strict=True)]
    assert list((one * other).along(BASES)) == together


@given(dimensions(), dimensions(), powers)
def test_powers_go_through_products_and_quotients(one, other, power):
    assert (one * other) ** power == one**power * other**power
    assert one / other == one * other**-1
    assert one / one == NONE
    assert not (one**0)


@given(dimensions(), dimensions())
def test_equal_exponents_are_equal_dimensions(one, other):
    assert (one == other) is (one.along(BASES) == other.along(BASES))
    assert bool(one) is any(one.along(BASES))


@pytest.mark.parametrize(
    ("powers", "text"),
    [
        ({}, ""),
        ({"m": 1}, "m"),
        ({"m": 1, "s": -2}, "m/s**2"),
        ({"kg": 1, "m": 2, "s": -2, "K": -1}, "kg*m**2/(K*s**2)"),
        ({"s": 1, "cm": Fraction(-1, 2)}, "s/cm**(1/2)"),
        ({"s": -1}, "1/s"),
    ],
)
def test_a_unit_is_written_as_people_write_it(powers, text):
    assert product_text(sorted(((name, Fraction(power)) for name, power in powers.items()), key=lambda p: p[0])) == text


rows = st.lists(st.lists(st.integers(-3, 3).map(Fraction), min_size=3, max_size=3), min_size=1, max_size=4)


@given(rows, st.lists(st.integers(-3, 3).map(Fraction), min_size=4, max_size=4))
def test_a_combination_of_vectors_is_found_again(vectors, shares):
    goal = [sum((s * v[k] for s, v in zip(shares, vectors, strict=False)), Fraction(0)) for k in range(3)]
    found = coordinates(vectors, [goal])
    assert found is not None
    again = [sum((s * v[k] for s, v in zip(found[0], vectors, strict=True)), Fraction(0)) for k in range(3)]
    assert again == goal


@given(rows)
def test_independent_rows_are_as_many_as_the_rank_and_span_the_others(vectors):
    kept = independent(vectors)
    assert len(kept) == rank(vectors)
    assert coordinates([vectors[k] for k in kept], vectors) is not None if kept else not any(map(any, vectors))


def test_equations_that_contradict_each_other_have_no_solution():
    one = Fraction(1)
    assert solved([[one, one], [one, 2 * one]], 1) is None
    assert solved([[one, 2 * one]], 1) == [[2 * one]]


def test_an_exponent_written_as_a_decimal_is_the_fraction_next_to_it():
    assert Dimension.of({"length": 0.1}) == Dimension.of({"length": Fraction(1, 10)})
