"""Formulas that break a shape and are fitted again: what comes back keeps to it, and is as good as it can be."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql import Constraints
from ceql.catalogue.mended import seeded
from ceql.data.dataset import Dataset
from ceql.expression import parametrise, parse_formula
from ceql.formula import make_symbols, refitted
from ceql.shapes.exponents import Exponents, powers, with_allowed
from ceql.shapes.repairs import repaired

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(0.5, 5.0, 60))


def data_of(law: str, noise: float, x: np.ndarray = X) -> Dataset:
    table = x[:, None]
    symbols = make_symbols(("x",))
    values = np.array([float(parse_formula(law, ["x"]).xreplace({symbols[0]: sympy.Float(v)})) for v in x])
    return Dataset(table, values + noise * np.random.default_rng(1).normal(size=len(x)), np.ones(len(x)), ("x",))


def fitted(formula: str, data: Dataset, **asked):
    rule = Constraints(**asked).over(data.names, data.x, data.y)
    found = refitted(parse_formula(formula, ["x"]), data, make_symbols(("x",)), rule)
    assert found is None or rule.allows(found.expression)
    return found


@settings(max_examples=15, deadline=None)
@given(st.floats(-2, 2), st.floats(-1, 1), st.floats(-3, 3))
def test_a_line_through_a_point_is_the_best_of_those(slope, offset, height):
    data = data_of(f"{slope} * x + {offset}", 0.1)
    found = fitted("1.5*x + 2.5", data, shapes=[f"f(x=0) = {height!r}"])
    best = (X @ (data.y - height)) / (X @ X)
    assert found is not None
    assert float(found(np.array([[0.0]]))[0]) == pytest.approx(height, abs=1e-8 * (1 + abs(height)))
    # Its slope is rounded to its error, which costs next to nothing.
    assert found.loss <= np.mean((best * X + height - data.y) ** 2) * 1.1 + 1e-12


def test_a_parabola_held_to_rise_is_as_good_as_the_best_that_does():
    data = data_of("1.5*x - 0.2*x**2", 0.05)
    found = fitted("1.1*x - 0.1*x**2 + 0.1", data, shapes=["increasing in x"])
    assert found is not None
    slopes = np.diff(found(np.linspace(0.5, data.x.max(), 500)[:, None]))
    assert slopes.min() >= 0.0
    # Those that rise have their top at the end of the data or beyond: a*(x - p)**2 + c with p on a grid.
    losses = []
    for top in np.linspace(data.x.max(), 60.0, 400):
        basis = np.column_stack([(X - top) ** 2, np.ones_like(X)])
        losses.append(np.mean((basis @ np.linalg.lstsq(basis, data.y, rcond=None)[0] - data.y) ** 2))
    assert found.loss <= 1.05 * min(losses)


@pytest.mark.parametrize(
    ("law", "formula", "asked"),
    [
        ("2 - 0.35*x", "3.1 - 0.5*x", {"shapes": ["f >= 0.5"]}),
        ("2*exp(-x) + 0.3", "1.5*exp(-0.8*x) + 0.2", {"shapes": ["f -> 0 as x -> inf"]}),
        ("2*exp(-x) + 0.3", "1.5*exp(-0.8*x) + 0.2", {"shapes": ["f -> 1 as x -> inf"]}),
        ("2/x + 1", "1.5/x + 0.9", {"shapes": ["f -> finite as x -> 0"]}),
        ("1/(x - 0.3)", "1.1/(x - 0.31)", {"shapes": ["no poles for x in [0, 6]"]}),
        ("1/(x + 0.3) + 0.2", "1.1/(x + 0.31) + 0.1", {"shapes": ["pole at x = 0"]}),
        ("0.3*x + x**2", "0.31*x + 1.1*x**2", {"shapes": ["even in x"]}),
        ("0.3*x**2 + x", "0.31*x**2 + 1.1*x", {"shapes": ["odd in x"]}),
        ("2.3*x**1.37", "2.1*x**1.4", {"exponents": [0.5, 1, 2]}),
        ("2.3*x**1.37", "2.1*x**1.4", {"exponents_within": [-1, 1.2]}),
        ("x**2/(1 + x**2)", "1.1*x**2/(0.9 + x**2)", {"shapes": ["concave in x for x in [0.1, 6]"]}),
        ("exp(-x)", "1.1*exp(-0.9*x) - 0.1", {"shapes": ["positive for x in [0, 30]", "decreasing in x"]}),
    ],
)
def test_what_breaks_a_shape_is_mended(law, formula, asked):
    data = data_of(law, 0.01)
    free = refitted(parse_formula(formula, ["x"]), data, make_symbols(("x",)))
    rule = Constraints(**asked).over(data.names, data.x, data.y)
    assert free is not None
    assert not rule.allows(free.expression)
    assert fitted(formula, data, **asked) is not None


def test_what_cannot_be_mended_is_dropped():
    data = data_of("x**2", 0.01)
    assert fitted("1.1*x**2", data, shapes=["f(x=1) = 1", "f(x=2) = 1", "f(x=3) = 7"]) is None


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([-2.0, -1.0, 0.5, 2.0, 3.0]), min_size=1, unique=True), st.floats(-3, 3))
def test_exponents_are_replaced_by_those_allowed(among, exponent):
    x = sympy.Symbol("x", real=True)
    rule = Exponents(among=tuple(among))
    expression = sympy.Float(2.0) * x ** sympy.Float(exponent) + 1 / (x + 3)
    for form in with_allowed(expression, rule, 2, 8):
        assert rule.allow(form)
        assert all(rule.holds(float(power.exp)) for power in powers(form))


@pytest.mark.parametrize(
    "text",
    [
        "positive for x in [0, 20]",
        "f <= 30 for x in [0, 20]",
        "increasing in x",
        "convex in x",
        "f -> 3 as x -> inf",
        "f -> finite as x -> inf",
        "f -> 0 as x -> 0",
        "even in x",
        "odd in x",
        "f(x=0) = 1",
        "pole at x = 0",
        "no poles for x in [0, 9]",
    ],
)
def test_of_each_shape_there_is_a_plain_formula(text):
    data = data_of("0.3 + x", 0.01)
    rule = Constraints(shapes=[text]).over(data.names, data.x, data.y)
    found = seeded(data, rule)
    assert found
    assert all(rule.allows(formula.expression) for formula in found)


def test_repairs_are_few_and_differ_from_the_formula():
    x = sympy.Symbol("x", real=True)
    rule = Constraints(shapes=["f -> 0 as x -> inf", "f(x=0) = 1"]).over(["x"], X[:, None], X)
    assert rule.frame is not None
    expression = parse_formula("1.5*exp(-x) + 0.3/x + 0.2*x + 0.7", ["x"])
    found = repaired(expression, rule.asked, rule.powers, [x], rule.frame)
    assert 0 < len(found) <= 8
    assert expression not in found
    assert len(parametrise(expression).values) == 4
