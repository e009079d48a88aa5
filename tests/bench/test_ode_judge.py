"""The verdicts on systems: the truth is right however it is written and whatever its numbers, and little else is."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import sympy

from ceql.bench.ode_data import motion_of, sampling_times, true_system, true_trajectories
from ceql.bench.ode_freed import freed
from ceql.bench.ode_judge import StructureJudge, follow, score_system, variance_weighted_r2
from ceql.bench.points import columns
from ceql.bench.problems import load_problem
from ceql.dynamics.system import System
from ceql.expression import compile_numpy, parse_formula
from ceql.formula import Formula

# All kinds of equations: sums, powers, fractions, sines, exponentials, an absolute value, a free exponent, no constant.
NAMES = (
    "rc-circuit",
    "nonlinear-resistor",
    "gompertz",
    "language-status",
    "cubic-decay",
    "pendulum",
    "glider",
    "shear-flow",
    "driven-pendulum-drag",
    "crowded-predators",
    "level-friction",
    "charge-and-wall",
)


@cache
def judge(name):
    problem = load_problem(name)
    return StructureJudge(problem.variables, motion_of(problem))


def truth(name):
    problem = load_problem(name)
    return true_system(problem.variables, motion_of(problem))


def system(states, *rates):
    symbols = tuple(columns(states))
    return System(tuple(states), tuple(Formula(parse_formula(rate, states), symbols, 0.0) for rate in rates))


def changed(found, change):
    formulas = [replace(formula, expression=change(formula.expression)) for formula in found.formulas]
    return replace(found, formulas=tuple(formulas))


def with_other_numbers(expression):
    """Every term with another factor, and every other number a little off."""
    rng = np.random.default_rng(3)
    off = expression.xreplace({f: f * (1 + 0.03 * rng.standard_normal()) for f in expression.atoms(sympy.Float)})
    terms = sympy.Add.make_args(sympy.expand(off))
    return sympy.Add(*[term * (1 + 0.02 * rng.standard_normal()) for term in terms])


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_is_right_with_any_numbers(name):
    assert all(judge(name).right(truth(name)))
    assert all(judge(name).right(changed(truth(name), with_other_numbers)))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "nonlinear-resistor"])
def test_a_term_too_few_or_too_many_is_wrong(name):
    for one, formula in zip(judge(name).equations, truth(name).formulas, strict=True):
        whole = sympy.expand(formula.expression)
        terms = sympy.Add.make_args(whole)
        assert not any(one.is_right(whole - term) for term in terms)
        assert not one.is_right(whole + 0.01 * sympy.cos(1.7 * formula.symbols[0]))
        assert not one.is_right(whole + 1e-9 * formula.symbols[-1] ** 6)


@pytest.mark.parametrize(
    ("name", "rates", "right"),
    [
        ("logistic", ["0.8*x*(1 - x/70)"], True),
        ("logistic", ["0.8*x - 0.011*x**2 + 0.001"], False),
        ("logistic", ["0.8*x - 0.011*x**2.02"], False),
        ("enzyme-decay", ["1.4 - 1.2/(0.86 + s) - 1.4"], False),
        ("enzyme-decay", ["-1.4 + 1.4*0.86/(0.86 + s)"], True),
        ("enzyme-decay", ["-1.4 + 1.203/(0.86 + s)"], False),
        ("enzyme-decay", ["-1/(0.7 + 0.6/s)"], True),
        ("haldane", ["(-3*s + 1e-8*s**2)/(0.8 + s + 0.5*s**2)"], False),
        ("haldane", ["-3*s/((0.8 + s)*(1 + 0.5*s))"], True),
        ("enzyme-decay", ["-0.9*s"], False),
        ("enzyme-supply", ["(0.8 - 1.2*s)/(1.3 + s)"], True),
        ("gompertz", ["0.026*x + 0.031*x*log(x)"], True),
        ("gompertz", ["0.031*x*log(x)"], False),
        ("hoop-overdamped", ["0.47*sin(2*x) - 0.098*sin(x)"], True),
        ("language-status", ["0.2*x*(1 - x) - 0.8*x*(1 - x)**1.2"], False),
        ("two-languages", ["0.3*(1 - x) - 0.29*x"], True),
        ("oscillator", ["1.004*y", "-2.08*x"], True),
        ("oscillator", ["y", "-2.08*x - 0.001*y"], False),
        ("oscillator", ["y", "0"], False),
        ("sir", ["-0.41*x*y", "0.39*x*y - 0.3*y"], True),
        ("sir", ["-0.41*x*y", "y*(0.39*x - 0.3)"], True),
    ],
)
def test_values_decide_and_not_the_way_of_writing(name, rates, right):
    found = system(load_problem(name).variables, *rates)
    assert all(judge(name).right(found)) == right


def test_freed_numbers_are_independent_and_give_the_truth():
    for name in NAMES:
        (states, *_), _ = true_trajectories(load_problem(name))
        x = np.vstack([states, states + 0.01 * np.random.default_rng(0).standard_normal(states.shape)])
        for formula in truth(name).formulas:
            family = freed(formula.expression, formula.symbols, x)
            names = [n for n, _ in family.numbers]
            assert len(set(names)) == len(names)
            symbols = columns([*truth(name).states, *names])
            values = np.tile([value for _, value in family.numbers], (len(x), 1))
            got = compile_numpy(family.expression, symbols)(np.hstack([x, values]))
            kept = np.isfinite(got)
            assert got[kept] == pytest.approx(formula(x)[kept], rel=1e-9, abs=1e-12)


def test_r2_counts_every_state_with_its_variance():
    from sklearn.metrics import r2_score

    rng = np.random.default_rng(0)
    true = rng.standard_normal((50, 3)) * [1.0, 10.0, 0.1]
    found = true + 0.3 * rng.standard_normal(true.shape)
    expected = r2_score(true, found, multioutput="variance_weighted")
    assert variance_weighted_r2([found], [true]) == pytest.approx(expected)
    assert variance_weighted_r2([np.full_like(true, np.nan)], [true]) == -np.inf


def test_a_score_has_both_initial_states():
    problem = load_problem("oscillator")
    whole = score_system(truth("oscillator"), problem)
    assert whole.r2_test is not None
    assert min(whole.r2, whole.r2_test) > 1 - 1e-9
    assert (whole.structure, whole.right_equations, whole.front_solution) == (True, 2, True)
    # Right on the trajectory that was trained on, by its energy; wrong elsewhere.
    stiffness = f"2.1*x*(2.1*x**2 + y**2)/{2.1 * 0.4**2 + 0.03**2!r}"
    bent = score_system(system(("x", "y"), "y", f"-{stiffness}"), problem, [truth("oscillator")])
    assert bent.r2 > 0.999
    assert bent.r2_test is not None
    assert bent.r2_test < 0.9
    assert (bent.structure, bent.right_equations, bent.front_solution) == (False, 1, True)


@pytest.mark.parametrize("rate", ["-1/x", "x**2 + 1", "log(x) - 5", "exp(exp(x))"])
def test_a_trajectory_that_cannot_be_followed_ends(rate):
    states = follow(system(("x",), rate), (1.0,), sampling_times(motion_of(load_problem("logistic"))))
    assert np.isnan(states[-1, 0])
