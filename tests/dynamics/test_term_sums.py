"""Sums of terms in the integral form."""

import numpy as np
import pytest
import sympy

from ceql.dynamics.integral_form import path_of, target_of
from ceql.dynamics.series import Trajectory
from ceql.dynamics.smoothing import smoothed
from ceql.dynamics.term_sums import term_sums
from ceql.dynamics.vocabulary import vocabulary
from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols


def _path(states, time, order=1):
    return path_of([smoothed(Trajectory("a", time, states, np.zeros((len(time), 0))))], order, False)


def test_integrals_are_those_of_the_path():
    time = np.linspace(0.0, 5.0, 60)
    path = _path(np.sin(time)[:, None], time)
    found = path.integrals(path.rows[:, 0] ** 2)
    expected = time / 2 - np.sin(2 * time) / 4
    np.testing.assert_allclose(found, path.within_windows(expected), atol=1e-6)
    both = path.integrals(np.column_stack([path.rows[:, 0] ** 2, np.ones(len(path.rows))]))
    np.testing.assert_allclose(both[:, 0], found)
    np.testing.assert_allclose(both[:, 1], path.within_windows(time), atol=1e-12)


def test_accelerations_are_integrated_twice():
    time = np.linspace(0.0, 5.0, 60)
    path = _path(np.sin(time)[:, None], time, order=2)
    np.testing.assert_allclose(path.rows[20:-20, 1], np.cos(path.times[20:-20]), atol=1e-5)
    np.testing.assert_allclose(path.integrals(-np.sin(path.times)), path.within_windows(np.sin(time)), atol=1e-9)


def test_constants_of_a_formula_are_fitted_without_slopes():
    time = np.linspace(0.0, 4.0, 50)
    states = (3.0 * np.exp(-0.7 * time))[:, None]
    path = _path(states, time)
    symbols = make_symbols(("x",))
    target = target_of(path, states[:, 0])
    found = target.fitted(Formula(parse_formula("-0.4*x", ("x",)), symbols, np.inf))
    assert found is not None
    assert float(found.form.values[0]) == pytest.approx(-0.7, abs=1e-6)


LAWS = {
    "1.3*x - 0.5*x**2": (0.1, 5.0),
    "1.1 - 0.9*x/(0.45 + x)": (0.05, 3.0),
    "0.2 + 1.7*x**2/(1.69 + x**2) - 0.6*x": (0.3, 8.0),
    "-1.4*x*log(x)": (0.2, 3.0),
}


@pytest.mark.parametrize("law", LAWS)
def test_the_law_is_among_the_sums(law):
    from ceql.dynamics.system import System

    symbols = make_symbols(("x",))
    truth = Formula(parse_formula(law, ("x",)), symbols, 0.0)
    time = np.linspace(0.0, LAWS[law][1], 80)
    states = System(("x",), (truth,)).simulate([LAWS[law][0]], time)
    path = _path(states, time)
    target = target_of(path, states[:, 0])
    sums = term_sums(target, vocabulary(path.rows, symbols), symbols, 1e-7 * states.std())
    fitted = [found for formula in sums if (found := target.fitted(formula)) is not None]
    best = min(fitted, key=lambda formula: target.criterion(formula, 3e-7 * float(states.std())))
    np.testing.assert_allclose(best(path.rows), truth(path.rows), atol=1e-4 * float(np.std(truth(path.rows))))


def test_a_term_with_a_number_has_its_derivative_beside_it():
    rows = np.linspace(0.1, 3.0, 40)[:, None]
    (x,) = symbols = make_symbols(("x",))
    words = vocabulary(rows, symbols)
    assert not words.tangents[:, words.numbers == 0].any()
    place = next(
        k for k, term in enumerate(words.terms) if words.numbers[k] == 1 and term.has(sympy.exp) and not term.is_Mul
    )
    number = -1.0 / float(words.terms[place].exp.as_coefficient(x))
    step = 1e-5 * number
    slope = (np.exp(-rows / (number + step)) - np.exp(-rows / (number - step))) / (2 * step)
    np.testing.assert_allclose(words.tangents[:, place, 0], slope[:, 0], rtol=1e-5)
