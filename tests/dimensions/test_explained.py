"""Numbers that need no explanation, and the units of constants."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from ceql.dimensions import Dimension, Dimensions, Part, Quantity, Rule
from ceql.dimensions.constants import units_of_constants
from ceql.dimensions.explained import explanation, is_explained, simple

LENGTH, TIME, MASS = (Dimension.of({base: 1}) for base in ("length", "time", "mass"))
ENERGY = MASS * LENGTH**2 / TIME**2
PLANCK = Quantity("h", ENERGY * TIME, value=6.62607015e-34)
BOLTZMANN = Quantity("k_B", ENERGY / Dimension.of({"temperature": 1}), value=1.380649e-23)


@given(st.fractions(min_value=Fraction(1, 60), max_value=60, max_denominator=60), st.integers(-2, 2), st.booleans())
def test_a_fraction_times_a_power_of_pi_is_simple(fraction, power, negative):
    value = float(fraction) * math.pi**power * (-1 if negative else 1)
    found = simple(value)
    if fraction.numerator <= 128:
        assert found is not None
        assert float(found.number) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("value", [0.1234567, math.e, 0.0, math.nan, math.inf, 1e-34])
def test_other_numbers_are_not(value):
    assert simple(value) is None


def test_a_number_is_made_of_the_constants_that_its_dimension_asks_for():
    value = PLANCK.value / (2 * math.pi * BOLTZMANN.value)
    found = explanation(value, Dimension.of({"temperature": 1, "time": 1}), (PLANCK, BOLTZMANN))
    assert str(found) == "h/(2*pi*k_B)"
    assert explanation(1.01 * value, Dimension.of({"temperature": 1, "time": 1}), (PLANCK, BOLTZMANN)) is None


def test_an_expansion_has_numbers_that_are_not_explained():
    w, T = sympy.symbols("w T", real=True)
    columns = Quantity("w", TIME**-1), Quantity("T", Dimension.of({"temperature": 1}))
    rule = Rule(Dimensions(columns, Quantity("y", ENERGY), (PLANCK, BOLTZMANN), False))
    bar, k = PLANCK.value / (2 * math.pi), BOLTZMANN.value
    assert is_explained(rule, bar * w / (sympy.exp(bar / k * w / T) - 1))
    assert not is_explained(rule, k * T - 0.4999 * bar * w)


def _column(name: str, symbol: str, dimension: Dimension, factor: float = 1.0) -> Quantity:
    return Quantity(name, dimension, factor, parts=(Part(symbol, Fraction(1), dimension, factor),), text=symbol)


def test_constants_have_the_units_of_the_columns():
    x, y = _column("x", "mm", LENGTH, 1e-3), _column("y", "cm", LENGTH, 1e-2)
    t = _column("t", "s", TIME)
    c0, c1 = sympy.symbols("c0 c1")
    sx, st_ = sympy.symbols("x t", real=True)
    units = units_of_constants(c0 * sx * sympy.exp(-c1 * st_), (c0, c1), (0.1, 2.0), Dimensions((x, t), y))
    assert units is not None
    assert [one.unit for one in units] == ["cm/mm", "1/s"]


def test_a_unit_that_cancels_is_none():
    m, v = (
        _column("m", "kg", MASS),
        Quantity(
            "v",
            LENGTH / TIME,
            parts=(Part("m", Fraction(1), LENGTH), Part("s", Fraction(-1), TIME)),
        ),
    )
    energy = _column("E", "J", ENERGY)
    c0 = sympy.Symbol("c0")
    sm, sv = sympy.symbols("m v", real=True)
    units = units_of_constants(c0 * sm * sv**2, (c0,), (0.5,), Dimensions((m, v), energy))
    assert [unit.unit for unit in units or ()] == [""]
