"""A formula is given the name of the law that it is an instance of, however it is written."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.catalogue.law import catalogue
from ceql.catalogue.recognition import box_of, named
from ceql.data.dataset import Dataset
from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols

LAWS = {law.name: law for law in catalogue()}
NOT_RECOGNISED = {"double logistic", "Preece-Baines", "Sellmeier with two terms", "oral dose with lag"}  # see HARD


def box(law) -> tuple[np.ndarray, np.ndarray]:
    columns = law.columns
    return np.array([c.lower for c in columns] or [0.0]), np.array([c.upper for c in columns] or [1.0])


def instance(law) -> Formula:
    names = tuple(column.name for column in law.columns)
    values = [constant.typical for constant in law.constants]
    return Formula(law.with_numbers(values, names), make_symbols(names or ("x1",)), 0.0)


def test_every_law_is_recognised_in_its_own_instance():
    missed = {name for name, law in LAWS.items() if named(instance(law), box(law), laws=[law]) is None}
    assert missed <= NOT_RECOGNISED


def test_a_law_of_three_columns_keeps_their_order():
    law = LAWS["Cockcroft-Gault"]
    found = named(instance(law), box(law))
    assert found is not None
    assert (found.law.name, found.columns) == ("Cockcroft-Gault", ("x1", "x2", "x3"))


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("6.0*x1/(3.0*x1 + 4.5)", "Michaelis-Menten", {"V": 2.0, "K": 1.5}),
        ("2.0 - 3.0/(x1 + 1.5)", "Michaelis-Menten", {"V": 2.0, "K": 1.5}),
        ("3.0*x1**2 - 1.5*x1 + 4.0", "parabola", {"a": 4.0, "b": -1.5, "c": 3.0}),
        ("exp(0.5 - 0.3*x1)", "exponential", {"A": np.exp(0.5), "k": -0.3}),
        ("1.5 + 0.0*x1", "constant", {"a": 1.5}),
        ("1.5 + 1.5*tanh(0.55*x1 - 2.2)", "logistic", {"L": 3.0, "k": 1.1, "m": 4.0}),
    ],
)
def test_other_ways_to_write_it(text, name, values):
    symbols = make_symbols(("x1", "unused"))
    formula = Formula(parse_formula(text, ["x1", "unused"]), symbols, 0.0)
    found = named(formula, (np.array([0.1, 0.0]), np.array([10.0, 1.0])))
    assert found is not None
    assert found.law.name == name
    assert found.values == pytest.approx(values, rel=1e-5)


def test_what_is_no_law_has_no_name():
    formula = Formula(parse_formula("sin(x1**2) + log(1 + x1)/(2 + cos(x1))", ["x1"]), make_symbols(("x1",)), 0.0)
    assert named(formula, (np.array([0.1]), np.array([10.0]))) is None


def test_a_formula_without_values_has_no_name():
    formula = Formula(parse_formula("log(x1)", ["x1"]), make_symbols(("x1",)), 0.0)
    assert named(formula, (np.array([-5.0]), np.array([-1.0]))) is None


def test_constants_get_the_errors_of_a_table(table_of):
    law = LAWS["Michaelis-Menten"]
    data = table_of(law, 0, noise=0.01)
    found = named(instance(law), box_of(data), laws=[law])
    assert found is not None
    constants = found.constants(Dataset(data.x, data.y, data.weight, data.names))
    assert [constant.name for constant in constants] == ["V", "K"]
    assert all(0 < constant.error < 0.1 for constant in constants)


def test_a_saturation_with_a_pole_among_the_rows_is_no_saturation_law():
    formula = Formula(parse_formula("-1.5*x1/(x1 + 0.775)", ["x1"]), make_symbols(("x1",)), 0.0)
    saturation = [LAWS["Michaelis-Menten"]]
    assert named(formula, (np.array([0.1]), np.array([10.0])), laws=saturation) is not None
    assert named(formula, (np.array([-2.0]), np.array([2.0])), laws=saturation) is None


def test_a_law_that_has_its_pole_anywhere_keeps_its_name():
    formula = Formula(parse_formula("1.2/(x1 + 0.775)", ["x1"]), make_symbols(("x1",)), 0.0)
    found = named(formula, (np.array([-2.0]), np.array([2.0])), laws=[LAWS["shifted hyperbola"]])
    assert found is not None
    assert found.law.name == "shifted hyperbola"
