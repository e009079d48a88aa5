"""Simpler numbers beside those that noise has led to: fitted, allowed, chosen where they should be."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from ceql import Dataset, Settings, discover
from ceql.choice.criterion import criterion
from ceql.constraints import NONE, Constraints
from ceql.engine.deadline import Deadline
from ceql.formula import make_symbols, refitted
from ceql.search.policy import Leaders
from ceql.search.simpler_numbers import simpler_than_the_best, with_simpler_numbers

X, Z = make_symbols(("x", "z"))


def table(law, rows=60, noise=0.01):
    rng = np.random.default_rng(0)
    x = rng.uniform(1.0, 3.0, (rows, 2))
    return Dataset(x, law(*x.T) + noise * rng.standard_normal(rows), np.ones(rows), ("x", "z"))


def fitted(expression, data):
    formula = refitted(expression, data, make_symbols(data.names))
    assert formula is not None
    return formula


def law_of(formula):
    return sympy.sstr(formula.expression.replace(lambda part: part.is_Float, lambda _: sympy.Symbol("c")))


def found_beside(formula, data, constraints=NONE):
    *_, last = with_simpler_numbers([formula], data, constraints, 1)
    return last


def test_two_numbers_that_noise_has_driven_apart_become_one():
    data = table(lambda x, z: 5.0 / (1 / x**2 + 1 / z**2))
    loose = fitted(1 / (sympy.Float(0.2) / X**2 + sympy.Float(0.2) / Z**2), data)
    assert len(set(loose.constants)) == 2
    tied = found_beside(loose, data)[0]
    assert len(tied.constants) == 1
    assert tied.constants[0][0] == pytest.approx(5.0, rel=0.01)
    assert loose.loss <= tied.loss < 1.1 * loose.loss


def test_what_is_not_allowed_is_left_out():
    data = table(lambda x, z: 366.0 * x**1.5 + 0.0 * z)
    law = fitted(sympy.Float(366.0) * X ** sympy.Float(1.51), data)
    assert [law_of(formula) for formula in found_beside(law, data)] == ["c*x**(3/2)", "366*x**(3/2)"]
    assert not found_beside(law, data, Constraints(required=("z",)))


def test_nothing_beside_nothing():
    assert not list(with_simpler_numbers([], table(lambda x, z: x * z), NONE, 1))


def test_refitting_keeps_the_form_and_is_undefined_where_the_formula_is():
    data = table(lambda x, z: 3.0 * x * (1 - z))
    assert law_of(fitted(sympy.Float(2.0) * X * (1 - Z), data)) == "c*x*(1 - z)"
    assert refitted(sympy.log(1.5 - X), data, make_symbols(data.names)) is None


def test_what_leads_gets_simpler_numbers_and_no_other():
    data = table(lambda x, z: 5.0 / (1 - 4 / (x + 2) ** 2))
    loose = fitted(1 / (sympy.Float(0.2) - sympy.Float(0.8) / (X + 2) ** 2), data)
    straight = fitted(sympy.Float(1.0) * X + sympy.Float(1.05) * Z, data)
    found = simpler_than_the_best([straight, loose], data, NONE, Leaders(1, ()))
    assert [law_of(formula) for formula in found] == ["c/(1 - 4/(x + 2)**2)"]
    assert simpler_than_the_best([straight, loose], data, NONE, Leaders(0, ())) == []


def test_relatives_that_lead_have_relatives():
    """Half of a sum of squares: three numbers are simple, and none is known well before others are held."""
    data = table(lambda x, z: 0.5 * x * x + 0.5 * x * z + 0.5 * z * z, rows=2000, noise=0.1)
    loose = fitted(
        sympy.Float(0.4) * X**2 + sympy.Float(0.4) * X * Z + sympy.Float(0.4) * Z**2 + sympy.Float(0.1), data
    )
    found = simpler_than_the_best([loose], data, NONE)
    best = min(found, key=lambda formula: criterion(formula, len(data.y)))
    assert sympy.expand(best.expression - (X**2 + X * Z + Z**2) / 2) == 0


def test_what_leads_is_fitted_to_all_rows_of_a_long_table():
    data = table(lambda x, z: 1.2345 * x * z, rows=8000, noise=0.4)
    some = fitted(sympy.Float(1.0) * X * Z, data)
    [whole] = simpler_than_the_best([some], data, NONE)
    assert whole.loss < some.loss
    assert whole.constants[0][1] < 0.6 * some.constants[0][1]
    assert simpler_than_the_best([some], data, NONE, until=Deadline.after(-1.0)) == []


def searched(columns, y, starts):
    """What a search of so many starts finds, however long it takes."""
    return discover(Dataset.of(np.column_stack(columns), y), Settings(max_starts=starts, time_limit=600.0))


def test_keplers_planets_have_three_halves_among_the_likely_exponents():
    axes = [0.389, 0.724, 1, 1.524, 5.20, 9.510]
    days = [87.77, 224.70, 365.25, 686.95, 4332.62, 10759.2]
    assert "c*x1**(3/2)" in [law_of(formula) for formula in searched([axes], days, 4096).formulas]


def test_bodes_law_is_chosen_though_it_begins_at_minus_infinity():
    """0.4 + 0.3*2**n in astronomical units, Mercury's n being minus infinity, here with Ceres and Uranus."""
    n = [-1000, 0, 1, 2, 3, 4, 5, 6]
    distance = [0.39, 0.72, 1.00, 1.52, 2.77, 5.20, 9.58, 19.22]
    law = searched([n], np.log(distance), 8192).best
    beyond = np.array([[-50.0], [7.0]])
    assert np.exp(law(beyond)) == pytest.approx([0.4, 0.4 + 0.3 * 2**7], rel=0.05)


def test_a_law_with_one_number_is_chosen_though_two_fit_better():
    """Rydberg's: noise makes two numbers of one."""
    n1, n2 = np.array([(a, b) for a in range(1, 6) for b in range(a + 1, 8)] * 2, float).T
    wavelength = 9.1e-8 / (1 / n1**2 - 1 / n2**2)
    noise = 0.01 * np.random.default_rng(0).standard_normal(len(n1))
    law = searched([n1, n2], np.log(wavelength) + noise, 8192).best
    assert len(law.constants) == 1
    assert law(np.array([[8.0, 20.0]])) == pytest.approx(np.log(9.1e-8 / (1 / 64 - 1 / 400)), abs=0.02)
