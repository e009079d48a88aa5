"""Simpler numbers: half exponents, one number for two, no factor that may be 1."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.expression import parametrise
from ceql.expression.constants.rounding_policy import ROUNDING
from ceql.expression.constants.simpler import relatives, with_halves, with_simple_numbers
from ceql.formula import make_symbols

X, Z = make_symbols(("x", "z"))


def with_errors(expression, error):
    """Its constants, each with this share of it as its error."""
    return [(float(value), error * abs(float(value))) for value in parametrise(expression).values]


@settings(deadline=None, derandomize=True)
@given(st.integers(-8, 8).filter(bool), st.floats(-0.09, 0.09).filter(lambda shift: abs(shift) > 1e-3))
def test_an_exponent_near_a_half_becomes_it(halves, shift):
    exponent = sympy.Float(halves / 2 + shift)
    assert with_halves(2.5 * X**exponent + Z) == 2.5 * X ** sympy.Rational(halves, 2) + Z


@settings(deadline=None, derandomize=True)
@given(st.integers(-8, 8), st.floats(0.11, 0.39))
def test_an_exponent_between_halves_stays(halves, shift):
    law = 2.5 * X ** sympy.Float(halves / 2 + shift)
    assert with_halves(law) == law


def test_an_exponent_near_zero_stays():
    law = 2.5 * X ** sympy.Float(0.04)
    assert with_halves(law) == law


@settings(deadline=None, derandomize=True)
@given(st.floats(0.01, 100.0), st.floats(-0.01, 0.01), st.sampled_from([1, -1]))
def test_two_numbers_within_their_errors_become_one(size, apart, sign):
    law = X / (sympy.Float(size) * X**2 + sympy.Float(sign * size * (1 + apart)) * Z**2)
    [tied] = relatives(law, with_errors(law, 0.01))
    assert len(parametrise(tied).symbols) == 1
    at = [(X, 1.3), (Z, 0.4)]
    assert abs(float(tied.subs(at)) / float(law.subs(at)) - 1) < 0.05


def test_a_number_within_its_error_of_a_whole_multiple_of_another_is_given_by_it():
    """As in Balmer's formula, whichever way it is written."""
    law = 1 / (sympy.Float(0.002744) - sympy.Float(0.010996) / X**2)
    values = [float(one.subs(X, 3.0) * (1 - sympy.Rational(4, 9))) for one in relatives(law, with_errors(law, 1e-3))]
    assert any(value == pytest.approx(1 / 0.002744) for value in values)


@settings(deadline=None, derandomize=True)
@given(st.floats(0.01, 100.0), st.floats(0.05, 0.9), st.sampled_from([1, -1]))
def test_numbers_that_are_further_apart_stay_two(size, apart, sign):
    law = X / (sympy.Float(size) * X**2 + sympy.Float(sign * size * (1 + apart)) * Z**2)
    assert relatives(law, with_errors(law, 0.01)) == []


def test_numbers_of_which_little_is_known_stay_two():
    """With errors of a third of them they agree by chance."""
    law = X / (sympy.Float(2.0) * X**2 + sympy.Float(2.1) * Z**2)
    assert relatives(law, with_errors(law, 0.33)) == []


def test_equal_numbers_in_places_that_cannot_share_them_stay_two():
    law = sympy.sin(sympy.Float(2.0) * X) + sympy.exp(sympy.Float(2.01) * Z)
    assert relatives(law, with_errors(law, 0.01)) == []


def test_a_factor_that_may_be_one_goes_only_where_there_are_too_many_numbers():
    bare = sympy.log(sympy.Float(0.4) + sympy.Float(0.3) * sympy.exp(sympy.Float(0.7) * X))
    for factor in (1.05, -1.05):
        constants = with_errors(factor * bare, 0.04)
        assert relatives(factor * bare, constants, has_too_many=True) == [bare if factor > 0 else -bare]
        assert relatives(factor * bare, constants) == []
    assert relatives(1.2 * bare, with_errors(1.2 * bare, 0.04), has_too_many=True) == []


def test_a_term_that_may_be_one_stays():
    law = sympy.exp(X) + sympy.Float(1.02)
    assert relatives(law, with_errors(law, 0.04), has_too_many=True) == []


def test_a_long_formula_is_not_looked_at():
    law = sum(sympy.Float(1 + k / 1000) * X**k for k in range(ROUNDING.most_numbers + 1))
    assert relatives(law, with_errors(law, 0.01), has_too_many=True) == []


@pytest.mark.parametrize(
    ("turns", "plain"), [(0, sympy.sin), (1, sympy.cos), (2, lambda u: -sympy.sin(u)), (-1, lambda u: -sympy.cos(u))]
)
def test_a_phase_that_may_be_a_multiple_of_a_quarter_turn_goes(turns, plain):
    law = 2.5 * sympy.sin(1.9 * X + sympy.Float(turns * 1.5707963 + 0.03))
    constants = [(float(value), 0.03) for value in parametrise(law).values]
    assert 2.5 * plain(1.9 * X) in relatives(law, constants)


def test_a_phase_that_is_none_stays():
    law = 2.5 * sympy.cos(1.9 * X + 0.7)
    assert not any(
        relative.has(sympy.sin) or relative == 2.5 * sympy.cos(1.9 * X)
        for relative in relatives(law, with_errors(law, 0.02))
    )


def simple(law, *errors):
    values = parametrise(law).values
    return with_simple_numbers(law, list(zip(values, errors, strict=True)))


def test_a_number_is_tried_as_zero_a_whole_number_or_a_fraction_within_its_error():
    law = sympy.Float(1.004) * X + sympy.Float(0.497) * X**2 - sympy.Float(0.02)
    order = dict(zip(parametrise(law).values.round(3).tolist(), range(3), strict=True))
    errors = [0.0] * 3
    errors[order[1.004]], errors[order[0.497]], errors[order[-0.02]] = 0.002, 0.002, 0.01
    found = simple(law, *errors)
    assert len(found) == 4
    assert X + X**2 / 2 in found  # all at once
    assert any(one.coeff(X) == 1 and one.coeff(X**2) != sympy.Rational(1, 2) for one in found)


@pytest.mark.parametrize("error", [0.0, 0.0001, 0.05, np.inf, np.nan])
def test_numbers_known_too_well_or_too_badly_stay(error):
    """0.497 is no half, or might be any number."""
    assert simple(sympy.Float(0.497) * X**2, error) == []


def test_what_would_leave_no_formula_is_left_out():
    assert simple(sympy.Float(0.001) * X, 0.002) == []
    assert simple(sympy.Float(2.5) * X, 0.002) == [sympy.Rational(5, 2) * X]


def test_formulas_with_many_numbers_are_left_alone():
    law = sum((sympy.Float(0.997) * X**k for k in range(2, 12)), sympy.Integer(0))
    assert simple(law, *[0.002] * len(parametrise(law).values)) == []
