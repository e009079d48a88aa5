"""Power laws with a known shape beside them are read off noisy rows."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.closed_form.policy import ShapedPowerPolicy
from ceql.closed_form.shaped_powers import shaped_powers, simple_exponent

M, V, C = SYMBOLS = sympy.symbols("m v c")
LAWS = {
    "relativity": M * C**2 / sympy.sqrt(1 - V**2 / C**2),
    "diode": M * (sympy.exp(2 * V / C) - 1),
    "Planck": M * V**3 / (sympy.exp(V / C) - 1),
    "magnet": M * V * sympy.tanh(3 * V / C),
    "Gauss": M * sympy.exp(-(V**2) / C**2 / 2) / C,
    "saturation": M * V / (1 + V / (2 * C)),
    "lens": C * V / (3 * M + V),
    "forced": M / (C * (1 + V**2 / C**2) ** 2),
}


def table(law, noise: float, seed: int = 0, rows: int = 600):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.uniform(1, 5, rows), rng.uniform(1, 2.5, rows), rng.uniform(3, 9, rows)])
    y = sympy.lambdify(SYMBOLS, law)(*x.T)
    return x, y + noise * np.sqrt(np.mean(y**2)) * rng.standard_normal(rows)


def nearest(law, found, x) -> float:
    truth = sympy.lambdify(SYMBOLS, law)(*x.T)
    left = [np.std(sympy.lambdify(SYMBOLS, expression)(*x.T) - truth) for expression in found]
    return float(min(left, default=np.inf) / np.std(truth))


@pytest.mark.parametrize("name", LAWS)
def test_laws_are_among_what_is_proposed(name):
    x, y = table(LAWS[name], 0.01)
    found = shaped_powers(x, y, SYMBOLS, np.ones(len(y)))
    assert nearest(LAWS[name], found, x) < 2e-3
    assert len(found) <= ShapedPowerPolicy().kept


@pytest.mark.parametrize("name", ["relativity", "diode", "magnet"])
def test_with_little_noise_the_law_comes_first_with_its_own_numbers(name):
    x, y = table(LAWS[name], 1e-3)
    best = shaped_powers(x, y, SYMBOLS, np.ones(len(y)))[0]
    factor = sympy.nsimplify(sympy.simplify(best / LAWS[name]), rational=True)
    assert float(factor) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("name", ["relativity", "diode", "Planck", "magnet", "saturation", "lens"])
def test_a_tenth_of_noise_leaves_the_law_among_what_is_proposed(name):
    x, y = table(LAWS[name], 0.1, rows=2000)
    found = shaped_powers(x, y, SYMBOLS, np.ones(len(y)))
    assert nearest(LAWS[name], found, x) < 2e-2


def test_exponents_are_not_bent_by_rows_that_noise_has_taken_below_zero():
    law = M**2 * V**2 * sympy.exp(-2 * V * M / C)
    x, y = table(law, 0.2, rows=2000)
    assert (y < 0).mean() > 0.02
    assert nearest(law, shaped_powers(x, y, SYMBOLS, np.ones(len(y))), x) < 2e-2


def test_columns_and_targets_below_zero_are_turned_round():
    x, y = table(LAWS["diode"], 0.01)
    x[:, 1] *= -1.0
    found = shaped_powers(x, -y, SYMBOLS, np.ones(len(y)))
    assert nearest(-LAWS["diode"].subs(V, -V), found, x) < 2e-3


def test_a_plain_power_law_has_no_shape():
    x, y = table(2.5 * M * V**2 / C, 0.01)
    assert shaped_powers(x, y, SYMBOLS, np.ones(len(y))) == []


def test_operators_that_are_not_there_are_not_used():
    x, y = table(LAWS["magnet"], 0.01)
    found = shaped_powers(x, y, SYMBOLS, np.ones(len(y)), names=("div", "sqrt"))
    assert found
    assert not any(expression.has(sympy.tanh, sympy.exp, sympy.sin) for expression in found)
    assert shaped_powers(x, y, SYMBOLS, np.ones(len(y)), names=()) == []


@pytest.mark.parametrize("spoil", ["both signs", "few rows", "columns of both signs"])
def test_nothing_is_proposed_where_there_is_no_logarithm(spoil):
    x, y = table(LAWS["diode"], 0.01)
    if spoil == "both signs":
        y[::2] *= -1.0
    elif spoil == "few rows":
        x, y = x[:10], y[:10]
    else:
        x = x - 4.0
    assert shaped_powers(x, y, SYMBOLS, np.ones(len(y))) == []


@settings(max_examples=15, deadline=None)
@given(
    powers=st.tuples(*[st.sampled_from([-2, -1, 0, 1, 2])] * 3),
    name=st.sampled_from(["exp", "tanh", "cosh"]),
    scale=st.floats(0.5, 3.0),
)
def test_the_values_of_random_laws_are_met(powers, name, scale):
    law = M ** powers[0] * V ** powers[1] * C ** powers[2] * getattr(sympy, name)(scale * V / C)
    x, y = table(law, 1e-3)
    assert nearest(law, shaped_powers(x, y, SYMBOLS, np.ones(len(y))), x) < 1e-2


@pytest.mark.parametrize(
    ("exponent", "doubt", "simple"), [(1.98, 0.05, 2), (0.52, 0.05, 0.5), (0.71, 0.05, 0.71), (-1.0, 0.0, -1)]
)
def test_exponents_are_simple_within_doubt(exponent, doubt, simple):
    assert simple_exponent(exponent, doubt) == simple
