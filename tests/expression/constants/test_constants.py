"""Fitting and rounding constants, on exact and on noisy data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Float, Integer, Rational, Symbol, exp, log, pi, sin, sqrt

from ceql.expression import compile_numpy, parametrise, parse_formula, refit, snap

NAMES = ["x1", "x2"]
X1, X2 = SYMBOLS = [Symbol(name, real=True) for name in NAMES]
X = np.random.default_rng(3).uniform(1.7, 5.0, (400, 2))


def read(text):
    return parse_formula(text, NAMES)


def values(expr):
    return compile_numpy(expr, SYMBOLS)(X)


def perturbed(expr, size, seed=0):
    generator = np.random.default_rng(seed)
    return expr.xreplace(
        {number: Float(float(number) * (1 + size * generator.normal())) for number in expr.atoms(Float)}
    )


def noisy(expr, level, seed=1):
    clean = values(expr)
    return clean + level * np.std(clean) * np.random.default_rng(seed).normal(size=len(clean))


TEXTS = [
    "1.56*x1+1.59*x2-2.91",
    "-2.05*log(1.56*x1**2-0.55*x1-2.15)",
    "2.31*sqrt(x1**2-1.52*x1+0.24)",
    "0.5/(x1+1.8)-2.3*x2",
    "1.5*exp(-0.31*x1)*sin(2.5*x1+0.4)",
    "1.2*x1**1.7",
]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(TEXTS), st.floats(-0.2, 0.2))
def test_parametrise_and_substitute_is_identity(text, shift):
    expr = read(text) * Float(1 + shift) + shift
    form = parametrise(expr)
    assert not form.expr.has(Float)
    assert np.allclose(values(form.substitute(form.values)), values(expr), rtol=1e-14, equal_nan=True)


def test_formulas_of_one_structure_are_named_alike():
    one, other = (parametrise(read(text)) for text in ("2.5*exp(-0.3*x1) + 1.5", "1.7*exp(-4.1*x1) + 0.2"))
    assert one.expr == other.expr
    assert one.symbols == other.symbols
    assert other.substitute(one.values) == read("2.5*exp(-0.3*x1) + 1.5")


def test_parametrise_keeps_structure():
    form = parametrise(Float(1.5) * sqrt(X1) + X1**2 / 3 + pi * X1 + X1 ** Float(0.5))
    assert len(form.symbols) == 1
    assert parametrise(X1 + 2).expr == X1 + 2


def test_shared_subexpressions_share_constants_but_equal_numbers_do_not():
    inner = X1 + Float(0.75)
    assert len(parametrise(sin(inner) + log(inner)).symbols) == 1
    assert len(parametrise(Float(1.5) * X1 + Float(1.5) * X2).symbols) == 2


@pytest.mark.parametrize("text", TEXTS)
def test_refit_reaches_rounding_level_on_exact_data(text):
    truth = read(text)
    y = values(truth)
    result = refit(perturbed(truth, 1e-3), SYMBOLS, X, y)
    assert result.misfit <= 1e-28 * float(y @ y)
    assert np.allclose(values(result.expr), y, rtol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(TEXTS), st.floats(0.0, 0.5), st.integers(0, 1000))
def test_refit_never_makes_the_misfit_worse(text, size, seed):
    start = perturbed(read(text), size, seed)
    y = noisy(read(text), 0.05, seed)
    before = values(start)
    usable = np.isfinite(before)
    result = refit(start, SYMBOLS, X, y, max_iterations=5)
    after = values(result.expr)[usable]
    assert np.sum((after - y[usable]) ** 2) <= np.sum((before - y)[usable] ** 2) * (1 + 1e-9)


def test_standard_errors_of_a_line():
    y = noisy(read("1.5*x1+0.5"), 0.1)
    result = refit(read("1.4*x1+0.4"), SYMBOLS, X, y)
    design = np.column_stack([np.ones(len(X)), X[:, 0]])
    variance = result.misfit / (len(X) - 2)
    expected = np.sqrt(np.diag(variance * np.linalg.inv(design.T @ design)))
    assert sorted(result.standard_errors) == pytest.approx(sorted(expected), rel=1e-6)


def test_refit_survives_redundant_constants_and_weights():
    y = values(read("(0.53-2.94*x1)/(2.32*x1+1.80)"))
    result = refit(read("(0.5-2.9*x1)/(2.3*x1+1.8)"), SYMBOLS, X, y, weights=np.linspace(1, 2, len(X)))
    assert result.misfit <= 1e-26 * float(y @ y)
    assert np.all(np.isinf(result.standard_errors))
    assert refit(X1 + 1, SYMBOLS, X, y).expr == X1 + 1


@pytest.mark.parametrize(
    ("start", "truth", "expected"),
    [
        ("1.5600000003*x1+0.25", "1.56*x1+0.25", 1.56 * X1 + 0.25),
        ("6.2831853*x1+1.5", "2*pi*x1+1.5", 2 * pi * X1 + 1.5),
        ("0.3333333333*x2+2.0*x1**2", "x2/3+2*x1**2", X2 / 3 + 2 * X1**2),
        ("1.0000001*x1+0.0000001+2.5*x2", "x1+2.5*x2", X1 + 2.5 * X2),
        ("sin(1.5707963*x1)", "sin(pi*x1/2)", sin(pi * X1 / 2)),
    ],
)
def test_snap_on_exact_data(start, truth, expected):
    assert snap(read(start), SYMBOLS, X, values(read(truth))) == expected


def test_snap_leaves_constants_that_mean_nothing():
    expr = read("1.2345678901*x1+0.7182818284")
    snapped = snap(expr, SYMBOLS, X, values(expr))
    assert np.allclose(values(snapped), values(expr), rtol=1e-12)
    assert not snapped.has(Integer(2))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.56*x1+1.59*x2-2.91", 1.56 * X1 + 1.59 * X2 - 2.91),
        ("1.5*exp(-0.31*x1)*sin(2.5*x1+0.4)", 1.5 * exp(-0.31 * X1) * sin(2.5 * X1 + 0.4)),
        ("x1/(x2+1.0)+0.5", X1 / (X2 + 1) + 0.5),
    ],
)
def test_snap_on_noisy_data(text, expected):
    assert snap(perturbed(read(text), 1e-4), SYMBOLS, X, noisy(read(text), 1e-3)) == expected


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(TEXTS), st.floats(1e-4, 0.2), st.integers(0, 1000))
def test_snap_stays_within_the_noise(text, level, seed):
    y = noisy(read(text), level, seed)
    best = refit(read(text), SYMBOLS, X, y)
    snapped = snap(best.expr, SYMBOLS, X, y)
    count = len(best.values)
    misfit = float(np.sum((values(snapped) - y) ** 2))
    allowed = (count + 2 * np.sqrt(2 * count)) * best.misfit / (len(y) - count)
    assert misfit <= best.misfit + allowed * (1 + 1e-6)


def test_tolerance_allows_shorter_numbers():
    y = values(read("1.234567*x1+2.0"))
    assert snap(read("1.234567*x1+2.0"), SYMBOLS, X, y, tolerance=0.005) in (1.23 * X1 + 2, 1.2 * X1 + 2)


def test_snap_without_constants_or_usable_rows():
    assert snap(X1 + 1, SYMBOLS, X, X[:, 0]) == X1 + 1
    undefined = log(-X1 - Float(0.5))
    assert snap(undefined, SYMBOLS, X, X[:, 0]) == undefined
    assert Rational(1, 2) == snap(Rational(1, 2), SYMBOLS, X, X[:, 0])
