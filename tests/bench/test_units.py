"""The units of public problems, and the method that is told them."""

from __future__ import annotations

import pytest
import sympy

from ceql.bench.errors import MethodError
from ceql.bench.methods import find_method
from ceql.bench.problems import load_problem, load_suite, sample
from ceql.dimensions import Rule
from ceql.expression import parse_formula

pytest.importorskip("pint", reason="units are read by pint, which is an extra")


def _known(problem):
    from ceql.estimator.unit_texts import read_units

    constants = dict(problem.unit_constants) or "dimensionless"
    known = read_units(dict(problem.units), constants, problem.variables, ["target"])
    assert known is not None
    return known[0]


@pytest.mark.parametrize("name", ["srsd", "srbench"])
def test_every_formula_is_possible_with_its_units(name):
    told = [problem for problem in load_suite(name).problems if problem.units]
    assert len(told) == 120
    for problem in told:
        formula = parse_formula(problem.expression, problem.variables)
        assert set(dict(problem.units)) == {*problem.variables, "target"}
        assert Rule(_known(problem)).allows(sympy.N(formula)), problem.name


def test_a_method_that_is_told_units_finds_a_law_that_others_expand():
    problem = load_problem("III.4.33")
    data = sample(problem, 0)
    method = find_method("ceql-units").told(problem)
    found = method.run(data.X_train[:400], data.y_train[:400], data.names, 0, 30.0)
    assert str(found.expression).endswith("/(exp(7.63815171652533e-12*omega/T) - 1)")


def test_a_problem_without_units_is_not_for_it():
    with pytest.raises(MethodError, match="no units for 'E-5'"):
        find_method("ceql-units").told(load_problem("E-5"))
