"""Which sines a formula has, how long their periods are and whether anybody fitted them."""

from __future__ import annotations

from math import pi

import pytest

from ceql.expression import parse_formula
from ceql.expression.oscillations import oscillations


@pytest.mark.parametrize(
    ("text", "period", "is_fitted"),
    [
        ("sin(x)", 2 * pi, False),
        ("2.5*sin(2*x + 0.3)", 2 * pi, False),
        ("sin(2*(x + 0.3))", 2 * pi, False),
        ("sin(0.7*x)", 2 * pi, True),
        ("cos(x/25)", 2 * pi, True),
        ("cos(pi*x/180)", 2 * pi, False),
        ("cos(0.01745*x)", 2 * pi, False),
        ("cos(1.3*x)**2", pi, True),
        ("cos(1.3*x)**2 + cos(1.3*x)", 2 * pi, True),
        ("tan(x*z)", pi, False),
    ],
)
def test_period_and_fitted_scale(text, period, is_fitted):
    (found,) = oscillations(parse_formula(text, ("x", "z")))
    assert (found.period, found.is_fitted) == (pytest.approx(period), is_fitted)


def test_a_sine_of_a_number_is_none():
    assert not list(oscillations(parse_formula("x*sin(3) + exp(x)", ("x",))))
