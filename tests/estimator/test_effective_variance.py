"""Errors in the inputs pass through the formula, and the errors of its constants are honest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ceql.data.dataset import Dataset
from ceql.estimator.effective_variance import fitted_again, in_turn, passed_on, weighed
from ceql.expression import parse_formula
from ceql.formula import Formula, LawConstant, NamedLaw, make_symbols, refitted

ROWS = 30


def formula(text: str, *names: str) -> Formula:
    return Formula(parse_formula(text, names), make_symbols(names), np.inf)


def test_each_error_counts_as_much_as_the_formula_passes_on():
    x = np.array([[1.0, 2.0], [3.0, 5.0]])
    data = Dataset(x, np.zeros(2), np.ones(2), ("a", "b"))
    sigma = passed_on(formula("a**2 + 3.0*b", "a", "b"), data, np.array([0.3, 0.4]), {"a": np.array([0.1, 0.2])})
    assert sigma == pytest.approx(np.hypot([0.3, 0.4], 2 * x[:, 0] * [0.1, 0.2]))


def test_a_pole_within_an_error_adds_nothing_that_is_not_finite():
    data = Dataset(np.array([[0.0], [1.0]]), np.zeros(2), np.ones(2), ("a",))
    sigma = passed_on(formula("1/a", "a"), data, np.full(2, 0.3), {"a": np.full(2, 0.1)})
    assert np.isfinite(sigma).all()


@pytest.mark.parametrize(("in_x", "absolute"), [(False, True), (False, False), (True, True)])
def test_intervals_of_95_per_cent_hold_about_as_often_as_they_say(in_x, absolute):
    within, draws = 0, 150
    rng = np.random.default_rng(3)
    for _ in range(draws):
        x = rng.uniform(0.0, 4.0, ROWS)
        sigma, error = (0.1 * np.exp(rng.uniform(-1, 1, ROWS)) for _ in range(2))
        y = 1.3 + 0.7 * x + sigma * rng.normal(size=ROWS)
        seen = x + in_x * error * rng.normal(size=ROWS)
        factor = 1.0 if absolute else 10.0
        data = weighed(Dataset(seen[:, None], y, np.ones(ROWS), ("x",)), factor * sigma, absolute)
        fitted = refitted(parse_formula("1.1 + 0.8*x", ("x",)), data, make_symbols(("x",)))
        assert fitted is not None
        if in_x:
            fitted, _ = in_turn(fitted, data, sigma, {"x": error})
        (_, _), (slope, of_slope) = sorted(fitted.constants, key=lambda pair: -pair[0])
        within += abs(slope - 0.7) <= (1.96 if absolute else 2.05) * of_slope
    assert 0.92 <= within / draws <= 0.98


def test_a_law_stays_one_and_its_constants_move_along():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 6.0, ROWS)
    data = Dataset(x[:, None], 2.5 * x / (x + 1.3) + 0.01 * rng.normal(size=ROWS), np.ones(ROWS), ("x",))
    constants = (LawConstant("V", "largest rate", 2.2, 1.0), LawConstant("K", "half", 1.0001, 1.0))
    law = NamedLaw("Michaelis-Menten", "kinetics", "V*x/(K + x)", constants)
    again = fitted_again(replace(formula("2.2*x/(x + 1.0001)", "x"), law=law), data)
    assert again.law is not None
    assert [(c.name, round(c.value, 1)) for c in again.law.constants] == [("V", 2.5), ("K", 1.3)]
    assert {abs(value): error for value, error in again.constants} == pytest.approx(
        {c.value: c.error for c in again.law.constants}
    )
