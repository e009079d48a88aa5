"""Laws of intervals and proofs: an interval holds every value over its box, and what is proved is true everywhere."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ceql.expression import compile_numpy, parse_formula
from ceql.shapes.grammar import read_shape
from ceql.shapes.grid import Frame
from ceql.shapes.intervals import Interval, NoEnclosure, enclosure
from ceql.shapes.proofs import is_proved
from ceql.shapes.verdicts import on_grid, verdict

NAMES = ("x", "z")
SYMBOLS = tuple(sympy.Symbol(name, real=True) for name in NAMES)
X, Z = SYMBOLS
FUNCTIONS = (sympy.exp, sympy.log, sympy.sin, sympy.cos, sympy.tan, sympy.atan, sympy.tanh, sympy.sinh, sympy.cosh)
FUNCTIONS += (sympy.sqrt, sympy.Abs, sympy.asin, sympy.acos)
NUMBERS = st.floats(-3, 3).map(lambda number: sympy.Float(round(number, 3)))
LEAVES = st.sampled_from([X, Z, X, sympy.Integer(2)]) | NUMBERS


def _grown(parts):
    return st.one_of(
        st.tuples(parts, parts).map(lambda pair: pair[0] + pair[1]),
        st.tuples(parts, parts).map(lambda pair: pair[0] * pair[1]),
        st.tuples(parts, st.sampled_from([2, 3, -1, -2, sympy.Rational(1, 2), sympy.Float(1.7)])).map(
            lambda pair: pair[0] ** pair[1]
        ),
        st.tuples(st.sampled_from(FUNCTIONS), parts).map(lambda pair: pair[0](pair[1])),
    )


FORMULAS = st.recursive(LEAVES, _grown, max_leaves=6).filter(
    lambda f: f.free_symbols and not f.has(sympy.zoo, sympy.nan, sympy.I, sympy.oo)
)


@np.errstate(all="ignore")
def values_of(f: sympy.Expr, points: np.ndarray) -> np.ndarray:
    return np.broadcast_to(compile_numpy(f, list(SYMBOLS))(points), (len(points),))


@settings(max_examples=150, deadline=None)
@given(FORMULAS, st.integers(0, 10**6))
def test_an_interval_holds_every_value_over_its_box(f, seed):
    rng = np.random.default_rng(seed)
    low = rng.uniform(-3, 3, (20, 2))
    high = low + rng.exponential(0.7, (20, 2)) * rng.integers(0, 2, (20, 2))
    try:
        found = enclosure(f, {s: Interval(low[:, k], high[:, k]) for k, s in enumerate(SYMBOLS)})
    except NoEnclosure:  # of a number that is not real, such as asin(2)
        assume(False)
    below, above = (np.broadcast_to(end, (20,)) for end in (found.low, found.high))
    for share in (0.0, 1.0, *rng.uniform(size=(6, 20, 2))):
        value = values_of(f, low + share * (high - low))
        known = ~np.isnan(value)
        # The values themselves are rounded, by more than one step of the formula.
        slack = 1e-12 * (1.0 + np.abs(value))
        assert (value >= below - slack)[known].all()
        assert (value <= above + slack)[known].all()
        assert np.broadcast_to(found.lost, (20,))[~known].all()  # without a value somewhere, it says so


@settings(max_examples=150, deadline=None)
@given(FORMULAS, st.sampled_from(["increasing", "decreasing"]), st.integers(0, 10**6))
def test_what_is_proved_monotone_is_monotone_at_random_points(f, direction, seed):
    shape, frame = read_shape(f"{direction} in x"), Frame(NAMES, (0.2, -1.0), (2.0, 1.5), 1.0)
    assume(is_proved(shape, f, SYMBOLS, frame))
    rng = np.random.default_rng(seed)
    points = np.column_stack([np.sort(rng.uniform(0.2, 2.0, 200)), np.full(200, rng.uniform(-1.0, 1.5))])
    value = values_of(f, points)
    assert np.isfinite(value).all()
    steps = np.diff(value) * (1.0 if direction == "increasing" else -1.0)
    assert (steps >= -1e-12 * (1.0 + np.abs(value[1:]))).all()


@settings(max_examples=120, deadline=None)
@given(FORMULAS, st.sampled_from(["convex in x", "concave in x", "positive", "f <= 2", "no poles"]))
def test_what_is_proved_holds_on_the_grid_too(f, text):
    shape, frame = read_shape(text), Frame(NAMES, (0.2, -1.0), (2.0, 1.5), 1.0)
    assume(is_proved(shape, f, SYMBOLS, frame))
    assert on_grid(shape, f, SYMBOLS, frame).kept


@pytest.mark.parametrize(
    ("formula", "text", "how"),
    [
        ("x**2 - 3*x + 3", "positive", "proved"),
        ("x**2 - 3*x + 2", "positive", "broken"),
        ("3 - x", "f <= 3", "proved"),
        ("x + sin(x)", "increasing in x for x in [-50, 50]", "proved"),
        ("1/x", "decreasing in x for x in [0.1, 9]", "proved"),
        ("1/x", "decreasing in x for x in [-1, 1]", "broken"),
        ("tanh(1/x)", "decreasing in x for x in [-1.0001, 1]", "broken"),
        ("sqrt(x)", "increasing in x for x in [0, 2]", "proved"),
        ("exp(sqrt(x))", "positive for x in [-1, 1]", "broken"),
        ("exp(-x) + 0.1*x**2", "convex in x", "proved"),
        ("tanh(x)", "concave in x", "proved"),
        ("1/(1 + x**2)", "convex in x", "broken"),
        ("3*exp(-2*x)", "f -> 0 as x -> inf", "proved"),
        ("(2*x + 1)/(x + 3)", "f -> 2 as x -> inf", "proved"),
        ("x*exp(-x)", "f -> 0 as x -> inf", "grid"),
        ("log(x + 1)", "f -> finite as x -> inf", "broken"),
        ("log(x + 1)", "f -> inf as x -> inf", "grid"),
        ("exp(-x) + 0.01", "f -> 0 as x -> inf", "broken"),
        ("sin(x)/x", "f -> 1 as x -> 0", "grid"),
        ("2/x + 1", "f -> finite as x -> 0", "broken"),
        ("(1 - exp(-x))/x", "f -> finite as x -> 0", "grid"),
        ("sqrt(x - 0.001)", "f -> 0 as x -> 0", "broken"),
        ("exp(x)/(1 + exp(x))", "f -> 1 as x -> inf", "grid"),
        ("x**2 + cos(x)", "even in x", "proved"),
        ("x**3 - 2*x", "odd in x", "proved"),
        ("x**3 + 0.1", "odd in x", "broken"),
        ("x*z + x + z", "symmetric in x and z", "proved"),
        ("x*z + x", "symmetric in x and z", "broken"),
        ("z*(1 - exp(-x))", "f(x=0) = 0", "proved"),
        ("z*(1.01 - exp(-x))", "f(x=0) = 0", "broken"),
        ("1/(x - 2) + 1", "pole at x = 2", "grid"),
        ("1/(x - 2.1) + 1", "pole at x = 2", "broken"),
        ("1/(x**2 + 1)", "no poles for x in [-5, 5]", "proved"),
        ("1/(x**2 - 1)", "no poles for x in [-5, 5]", "broken"),
    ],
)
def test_the_verdict_says_how_it_is_known(formula, text, how):
    frame = Frame(NAMES, (0.0, 0.0), (5.0, 2.0), 1.0)
    found = verdict(read_shape(text), parse_formula(formula, NAMES), SYMBOLS, frame)
    assert found.kept is (how != "broken")
    words = {"proved": "proved", "grid": "checked on a grid of", "broken": "broken"}
    assert words[how] in str(found)


def test_values_that_are_missing_break_a_range_that_was_given_alone():
    frame = Frame(("x",), (1.0,), (5.0,), 1.0)
    root = parse_formula("sqrt(x - 2)", ["x"])
    assert on_grid(read_shape("increasing in x"), root, SYMBOLS[:1], frame).kept
    assert not on_grid(read_shape("increasing in x for x in [0, 5]"), root, SYMBOLS[:1], frame).kept
