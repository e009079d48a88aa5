"""Decimal exponents become fractions only where they are fractions."""

import pytest
from sympy import Float, Rational, Symbol, exp, log, sqrt

from ceql.expression.constants.rewrites import with_simple_exponents

x, y = Symbol("x", real=True), Symbol("y", real=True)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(0.5, Rational(1, 2)), (-1.5 + 1e-11, Rational(-3, 2)), (2.0, 2), (1 / 3, Rational(1, 3)), (0.2, Rational(1, 5))],
)
def test_simple_fractions_are_written_as_such(value, wanted):
    assert with_simple_exponents(x ** Float(value), 1e-9) == x**wanted


@pytest.mark.parametrize("value", [0.5001, 0.37, 1e-12, 1.0 / 7.0])
def test_others_stay_as_they_are(value):
    assert with_simple_exponents(x ** Float(value), 1e-9) == x ** Float(value)


def test_inside_a_formula():
    fitted = exp(Float(0.5) * log(x) - Float(0.5) * log(y**2 + 1))
    assert with_simple_exponents(1 + fitted, 1e-9) == 1 + sqrt(x) / sqrt(y**2 + 1)
