"""Right-hand sides one step away from a known one."""

import numpy as np
import pytest
import sympy

from ceql.dynamics.candidates import candidates_for
from ceql.dynamics.integral_form import path_of, target_of
from ceql.dynamics.policy import DynamicsPolicy
from ceql.dynamics.relatives import has_idle_parts, is_fraction, is_rational, relatives
from ceql.dynamics.series import Trajectory
from ceql.dynamics.smoothing import smoothed
from ceql.dynamics.system import System
from ceql.dynamics.vocabulary import vocabulary
from ceql.expression import parse_formula
from ceql.expression.constants.parametrise import parametrise
from ceql.formula import Formula, make_symbols

NAMES = ("s", "p")
POSITIVE = np.random.default_rng(0).uniform(0.2, 3.0, (60, 2))
SIGNED = np.random.default_rng(1).uniform(-2.0, 2.0, (60, 2))


def _formula(text: str) -> Formula:
    return Formula(parse_formula(text, NAMES), make_symbols(NAMES), 0.0)


def _structure(formula: Formula):
    return parametrise(formula.expression).expr


@pytest.mark.parametrize(
    ("text", "relative"),
    [
        ("1.3*s*p", "2.7*s*p/(0.9 + s)"),
        ("1.3*s/(0.6 + s)", "1.3*s/(0.6 + s + 0.4*p)"),
        ("1.3*s/(0.6 + s)", "1.3*s/(0.6 + s + 0.4*s**2)"),
        ("1.3*s/(0.6 + s + 0.4*p)", "1.3*s/(0.6 + s)"),
        ("1.3*s/(0.6 + s)", "1.3*s**2/(0.6 + s)"),
        ("1.3/(0.6 + s**2)", "1.3/(0.6 + s**3)"),
        ("1.3*s**2/(0.6 + s**2)", "1.3*s**3/(0.6 + s**3)"),
        ("1.3*s/(0.6 + s)", "1.3*s/((0.6 + s)*(0.8 + p))"),
        ("1.3*s/(0.6 + s) - 0.7*p", "-0.7*p"),
        ("1.3/s**2", "1.3/s**3"),
        ("1.3*s/(1 + s**2)", "1.3*s/(0.6 + s**2)"),
    ],
)
def test_steps_from_one_structure_to_the_next(text, relative):
    reached = {_structure(one) for one in relatives(_formula(text), POSITIVE)}
    assert _structure(_formula(relative)) in reached


def test_denominators_of_columns_with_both_signs_have_even_powers_or_absolute_values():
    found = list(relatives(_formula("1.3*s*p - 0.4*s/(0.6 + p**2)"), SIGNED))
    assert any(one.expression.has(sympy.Abs) for one in found)
    for one in found:
        assert np.isfinite(one(SIGNED)).all(), one


@pytest.mark.parametrize("text", ["1.3*s*p - 0.2*s", "0.4 - 1.3*s/(0.6 + s)", "2.0*p/(0.3 + s + p) - 0.7*p**2"])
def test_a_relative_begins_with_terms_of_the_same_size(text):
    formula = _formula(text)
    largest = max(float(np.median(np.abs(_formula(str(t))(POSITIVE)))) for t in formula.expression.args)
    for one in relatives(formula, POSITIVE):
        for term in sympy.Add.make_args(one.expression):
            assert float(np.median(np.abs(one.with_expression(term)(POSITIVE)))) <= largest * (1.0 + 1e-6)


def test_fractions_are_made_of_whole_powers():
    for text in ("s", "s*p**2/(0.3 + s)", "1/(0.3 + Abs(s))", "s/((0.2 + p)*(1 + s**2))"):
        assert is_fraction(parse_formula(text, NAMES))
    for text in ("sin(s)", "s**0.4", "s/(0.3 + exp(p))", "log(s)/p"):
        assert not is_fraction(parse_formula(text, NAMES))
    assert not is_rational(_formula("1.3*s + 0.2*sin(p)"))


@pytest.mark.parametrize(
    ("text", "is_idle"),
    [("s/(0.6 + s)", False), ("s/(0.6 + s + 1.0e-9*p)", True), ("p - s/(1.0e9 + s)", True), ("s*p - 1.0e-9*s", False)],
)
def test_parts_of_a_denominator_that_say_nothing(text, is_idle):
    assert has_idle_parts(_formula(text), POSITIVE) == is_idle


def test_a_fraction_that_no_vocabulary_holds_is_among_the_candidates():
    law = System(NAMES, (_formula("-2.6*s/(0.6 + s + 1.8*p)"), _formula("2.6*s/(0.6 + s + 1.8*p) - 0.3*p")))
    time = np.linspace(0.0, 8.0, 80)
    states = law.simulate((4.2, 0.1), time)
    path = path_of([smoothed(Trajectory("a", time, states, np.zeros((len(time), 0))))], 1, False)
    symbols, truth = make_symbols(NAMES), law.formulas[0]
    words = vocabulary(path.rows, symbols)
    found = candidates_for(target_of(path, states[:, 0]), path, words, [], symbols, 1e-6, DynamicsPolicy())
    nearest = min(float(np.max(np.abs(one.formula(states) - truth(states)))) for one in found)
    assert nearest < 1e-3
