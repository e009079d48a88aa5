"""Polynomials from which terms go, and the shapes that tell structures apart."""

import numpy as np
import pytest

from ceql.dynamics.elimination import taken_down
from ceql.dynamics.integral_form import path_of, target_of
from ceql.dynamics.policy import EliminationPolicy
from ceql.dynamics.series import Trajectory
from ceql.dynamics.shapes import shape_of
from ceql.dynamics.smoothing import smoothed
from ceql.dynamics.system import System
from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols

LONG = {  # Aizawa's attractor; its last equation has eight terms
    "x": "x*z - 0.7*x - 3.5*y",
    "y": "3.5*x + y*z - 0.7*y",
    "z": "0.65 + 0.95*z - 0.3333*z**3 - x**2 - y**2 - 0.25*x**2*z - 0.25*y**2*z + 0.1*x**3*z",
}


@pytest.fixture(scope="module")
def motion():
    names, symbols = tuple(LONG), make_symbols(tuple(LONG))
    truth = System(names, tuple(Formula(parse_formula(text, names), symbols, 0.0) for text in LONG.values()))
    time = np.linspace(0.0, 10.0, 150)
    states = truth.simulate([0.1, 0.05, 0.05], time)
    return path_of([smoothed(Trajectory("a", time, states, np.zeros((150, 0))))], 1, False), states, symbols


@pytest.mark.parametrize("place", range(3))
def test_a_long_law_is_left_when_terms_go(motion, place):
    path, states, symbols = motion
    truth = parse_formula(list(LONG.values())[place], tuple(LONG))
    found = taken_down(target_of(path, states[:, place]), symbols, 3e-7 * float(np.std(states[:, place])))
    right = [one for one in found if len(one.expression.args) == len(truth.args)]
    difference = [np.max(np.abs(one(path.rows) - Formula(truth, symbols, 0.0)(path.rows))) for one in right]
    assert min(difference) < 1e-4


def test_terms_that_are_the_same_on_all_rows_do_no_harm():
    time = np.linspace(0.0, 5.0, 80)
    states = np.column_stack([np.exp(-time), 1.0 - np.exp(-time)])  # whose sum is always one
    path = path_of([smoothed(Trajectory("a", time, states, np.zeros((80, 0))))], 1, False)
    found = taken_down(target_of(path, states[:, 0]), make_symbols(("x", "y")), 1e-7)
    assert all(np.isfinite(one.loss) for one in found)
    assert min(len(one.form.symbols) for one in found if one.loss < 1e-12) <= 2


def test_no_more_terms_than_the_samples_can_carry(motion):
    path, states, symbols = motion
    few = EliminationPolicy(degrees=(5,), share=0.1)
    assert taken_down(target_of(path, states[:, 0]), symbols, 1e-6, few) == []


SAME = [
    ("2.5*x - 1.5*y", "-7.25*y + 0.5*x"),
    ("1.5*x/(0.3 + y) + 2.25*x**2.0", "0.1*x**2 + 3.5*x/(8.5 + y)"),
    ("x**1.7", "x**0.4"),
]
DIFFERENT = [("x - 1.5*y", "2.5*x - 1.5*y"), ("(x + 1.5)/(x + 2.5)", "1.5"), ("2.5*x**2", "2.5*x**3")]


def _shape(text):
    return shape_of(parse_formula(text, ("x", "y")))


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_shape_knows_no_numbers_and_no_order(one, other):
    assert _shape(one) == _shape(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_structures_have_shapes_of_their_own(one, other):
    assert _shape(one) != _shape(other)
