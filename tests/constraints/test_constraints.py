"""Constraints: laws of the checks on formulas and masks, and fits whose whole front keeps to them."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import ceql
from ceql import CeqlError, CEQLRegressor, Constraints, InputError, Parameter, Template
from ceql.constraints import NONE
from ceql.discovery import Outcome
from ceql.expression import node_count, parse_formula
from ceql.expression.constants.refit import refit_within
from ceql.expression.operations import contained, nests, numbers_in, operations
from ceql.network.extract import extract
from ceql.network.libraries import search_network
from ceql.network.sampling import Prior, Stream, draw, mutate, permitted

NAMES = ("x1", "x2")
SYMBOLS = tuple(sympy.Symbol(name, real=True) for name in NAMES)
X1 = SYMBOLS[0]


def read(text: str) -> sympy.Expr:
    return parse_formula(text, NAMES)


# ---- what is seen in a formula ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x1 + 2.5*x2", set()),
        ("x1*x2", {"mul"}),
        ("2*x1/x2", {"div"}),
        ("x1**2", {"square"}),
        ("1/sqrt(x1)", {"div", "sqrt"}),
        ("x1**3 + x2**(-2)", {"cube", "div", "square"}),
        ("x1**1.7", {"pow"}),
        ("exp(x1)", {"exp"}),
        ("exp(2)*x1", set()),
        ("2**x1", {"pow", "exp"}),
        ("log(sin(x1))*cos(x2)", {"log", "sin", "cos", "mul"}),
        ("tanh(abs(x1))", {"tanh", "abs"}),
    ],
)
def test_operators_seen_in_a_formula(text, names):
    assert contained(read(text)) == names


def test_nesting_is_seen_at_any_depth_and_only_inside():
    forbidden = [("exp", ("exp", "sin"))]
    assert nests(read("exp(exp(x1))"), forbidden)
    assert nests(read("x2 + 3*exp(x1/(2 + log(1 + sin(x2)**2)))"), forbidden)
    assert not nests(read("exp(x1)*sin(x2) + sin(exp(x1))"), forbidden)
    assert nests(read("1/sqrt(x1)"), [("div", ("sqrt",))])
    assert not nests(read("1/sqrt(x1)"), [("sqrt", ("div",))])
    assert nests(read("sqrt(1/(x1 + 1))"), [("sqrt", ("div",))]) or operations(read("sqrt(1/(x1 + 1))"))[0] == "div"
    assert not nests(read("exp(exp(x1))"), [])


def test_costs_count_every_occurrence():
    expression = read("sin(x1) + 2*sin(x2)*exp(x1)")
    plain = node_count(expression)
    assert node_count(expression, {"sin": 3, "exp": 2}) == plain + 2 * 2 + 1
    assert node_count(expression, {"log": 9}) == plain
    assert node_count(read("1/sqrt(x1)"), {"sqrt": 4, "div": 2}) == node_count(read("1/sqrt(x1)")) + 3 + 1


def test_exponents_and_signs_are_no_constants():
    assert sorted(numbers_in(read("x1**5 - x2 + 2.5*x1**1.7 + 40"))) == [2.5, 40.0]
    assert list(numbers_in(read("2*pi*x1"))) == [pytest.approx(2 * np.pi)]
    assert list(numbers_in(read("exp(3*x1)"))) == [3.0]


# ---- masks --------------------------------------------------------------------------------------------------------

NETWORK = search_network(2, ["mul", "div", "exp", "sin", "log"])
TABLES = [(("exp", ("exp", "sin")),), (("log", ("log",)), ("sin", ("div", "exp"))), (("mul", ("mul",)),)]


def unsimplified(edges: np.ndarray) -> dict[int, set[str]]:
    """Per live unit the operators below it, by a walk that shares nothing with the code under test."""
    below: dict[int, set[str]] = {node: set() for node in range(NETWORK.n_inputs + 1)}
    for unit in range(len(NETWORK.units)):
        sources = [
            int(NETWORK.edge_source[e])
            for s in NETWORK.sums
            if s.unit == unit
            for e in range(s.first, s.last)
            if edges[e]
        ]
        inner = set().union(*(below[n] | ({NETWORK.units[n - 3].name} if n > 2 else set()) for n in sources))
        below[NETWORK.node(unit)] = inner if sources else set()
    return below


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(TABLES))
def test_masks_are_judged_as_a_walk_of_the_graph_judges_them(seed, nesting):
    masks = draw(NETWORK, 12, Stream(seed))
    told = permitted(NETWORK, masks, Prior(nesting=nesting))
    for edges, fine in zip(masks, told, strict=True):
        below = unsimplified(edges)
        breaks = any(
            below[NETWORK.node(u)] & set(dict(nesting).get(operator.name, ()))
            for u, operator in enumerate(NETWORK.units)
        )
        assert fine == (not breaks)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(TABLES[:2]))
def test_draws_and_mutants_keep_to_the_constraints(seed, nesting):
    rng = np.random.default_rng(seed)
    prior = Prior(nesting=nesting, needed=((1,),))
    masks = draw(NETWORK, 40, Stream(seed), prior)
    for k in range(3):
        assert permitted(NETWORK, masks, prior).all()
        masks = mutate(NETWORK, masks, Stream(seed + k), prior)
    for edges in masks[:5]:
        # A column that is needed may still cancel, as in x/x: finished formulas are checked for that.
        assert not nests(extract(NETWORK, edges, rng.normal(size=NETWORK.n_params), SYMBOLS), nesting)


# ---- bounded constants --------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.floats(-30, 30), st.floats(-30, 30), st.floats(0.5, 20))
def test_bounded_constants_stay_inside_and_are_as_good_as_clipping(a, b, limit):
    x = np.linspace(0.5, 2, 40)[:, None]
    y = a * x[:, 0] + b
    found = refit_within(read("1.5*x1 + 2.5"), (X1,), x, y, None, -limit, limit)
    assert all(-limit <= value <= limit for value in numbers_in(found))

    def loss(expression):
        values = np.array([float(expression.xreplace({X1: sympy.Float(v)})) for v in x[:, 0]])
        return np.mean((values - y) ** 2)

    clipped = np.clip(a, -limit, limit) * x[:, 0] + np.clip(b, -limit, limit)
    assert loss(found) <= np.mean((clipped - y) ** 2) * (1 + 1e-9) + 1e-12


# ---- the constraints as data --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"forbidden_nesting": {"expp": ("sin",)}}, "Did you mean 'exp'"),
        ({"forbidden_nesting": {"exp": ("sine",)}}, "Did you mean 'sin'"),
        ({"forbidden_nesting": {"exp": "sin"}}, "lists of names"),
        ({"forbidden_nesting": ("exp", "sin")}, "dictionary"),
        ({"costs": {"sinn": 2}}, "Did you mean 'sin'"),
        ({"costs": {"sin": 0}}, "at least 1"),
        ({"costs": {"sin": 1.5}}, "whole number"),
        ({"costs": ["sin"]}, "dictionary"),
        ({"required": "x1"}, "lists of names"),
        ({"constants_within": (10, -10)}, "the lower first"),
        ({"constants_within": 10}, "pair of numbers"),
        ({"constants_within": (0, float("inf"))}, "pair of numbers"),
        ({"known": {"g": "9.81"}}, "a number other than 0"),
        ({"known": {"g": 0.0}}, "a number other than 0"),
        ({"known": [9.81]}, "dictionary"),
        ({"without": ("coss",)}, "Did you mean 'cos'"),
    ],
)
def test_what_cannot_be_meant_is_refused(given_, message):
    with pytest.raises(CeqlError, match=message):
        Constraints(**given_)


def test_an_operator_of_ones_own_is_refused():
    x = sympy.Symbol("x")
    ceql.operators.register("bump_in_constraints", x, sympy.exp(-(x**2)))
    with pytest.raises(InputError, match="which formulas show only as the operators it is made of: name those"):
        Constraints(costs={"bump_in_constraints": 2})


EVERYTHING = Constraints(
    forbidden_nesting={"exp": ["exp", "sin"]},
    costs={"sin": 3},
    required=["x1"],
    constants_within=(-10, 10),
    known={"g": 9.81},
    without=["cos"],
)


def test_constraints_travel_as_plain_data():
    content = json.loads(json.dumps(EVERYTHING.as_dict()))
    assert Constraints.from_dict(content) == EVERYTHING
    assert hash(Constraints.from_dict(content)) == hash(EVERYTHING)
    assert EVERYTHING
    assert not NONE
    assert Constraints() == NONE
    with pytest.raises(InputError, match="no constraint 'forbiden_nesting'"):
        Constraints.from_dict({"forbiden_nesting": {}})


def test_the_regressor_checks_what_it_is_given():
    x, y = np.arange(6.0)[:, None], np.arange(6.0)
    with pytest.raises(InputError, match=r"ceql\.Constraints"):
        CEQLRegressor(constraints={"required": ["x1"]}).fit(x, y)  # pyright: ignore[reportArgumentType]
    with pytest.raises(CeqlError, match="Did you mean 'x1'"):
        CEQLRegressor(constraints=Constraints(required=("x1 ",))).fit(x, y)
    with pytest.raises(InputError, match="leaves no operator"):
        CEQLRegressor(operators=["sin"], constraints=Constraints(without=("sin",))).fit(x, y)


# ---- fits ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    return np.random.default_rng(0).uniform(0.5, 2.0, (80, 2))


def fitted(x, y, constraints, operators=("mul", "div"), seconds=3.0):
    settings_ = {"operators": list(operators), "time_limit": seconds, "verbose": False}
    return CEQLRegressor(constraints=constraints, **settings_).fit(x, y)


def expressions(model):
    return list(model.equations_["sympy_format"])


def test_a_forbidden_nesting_is_never_in_the_front(table, tmp_path):
    y = np.exp(np.sin(2 * table[:, 0])) + table[:, 1]
    rule = Constraints(forbidden_nesting={"exp": ("exp", "sin")}, costs={"sin": 3})
    model = fitted(table, y, rule, ("exp", "sin"), 1.2)
    assert model.discovery_.outcome is not Outcome.EXACT
    assert not any(nests(expression, rule.nesting) for expression in expressions(model))
    assert len(model.equations_) > 1
    assert not nests(model.sympy(form="readable"), rule.nesting)
    counted = [node_count(e, rule.costs) for e in expressions(model)]
    assert list(model.equations_["complexity"]) == counted
    model.save(tmp_path / "model.json")
    again = ceql.load(tmp_path / "model.json")
    assert again.constraints == rule
    assert list(again.equations_["complexity"]) == counted


def test_without_the_constraint_the_same_formula_is_found(table):
    y = np.exp(np.sin(2 * table[:, 0])) + table[:, 1]
    model = fitted(table, y, None, ("exp", "sin"), 30.0)
    assert nests(model.sympy(), [("exp", ("sin",))])
    assert model.discovery_.outcome is Outcome.EXACT


def test_an_aim_that_undoes_an_operator_keeps_to_the_nesting(table):
    """log(y) is a sine, which is found at once and must still not be reported as the exponential of a sine."""
    y = np.exp(np.sin(2 * table[:, 0] + table[:, 1]))
    rule = Constraints(forbidden_nesting={"exp": ("sin",)})
    model = fitted(table, y, rule, ("exp", "sin"), 0.8)
    assert len(model.equations_) > 1
    assert not any(nests(expression, rule.nesting) for expression in expressions(model))


def test_a_closed_form_keeps_to_the_nesting(table):
    y = table[:, 0] / (table[:, 1] ** 2 + 1.5)
    rule = Constraints(forbidden_nesting={"div": ("square", "mul")})
    model = fitted(table, y, rule, ("mul", "div"), 0.8)
    assert len(model.equations_) > 1
    assert not any(nests(expression, rule.nesting) for expression in expressions(model))


def test_required_columns_are_in_every_formula_but_the_constant(table):
    noise = 0.01 * np.random.default_rng(1).normal(size=len(table))
    model = fitted(table, 3 / (table[:, 0] + 1.5) + noise, Constraints(required=("x2",)), seconds=0.8)
    first, *others = expressions(model)
    assert not first.free_symbols
    assert others
    assert all(SYMBOLS[1] in expression.free_symbols for expression in others)
    assert not model.equations_["chosen"][0]
    assert model.score(table, 3 / (table[:, 0] + 1.5)) > 0.99


def test_constants_keep_within_their_bounds_by_another_form_or_on_the_bound(table):
    rule = Constraints(constants_within=(-10, 10))
    exact = fitted(table, 50 * table[:, 0] / (table[:, 1] + 1.5), rule)
    assert exact.discovery_.outcome is Outcome.EXACT
    bounded = fitted(table, 50 * table[:, 0] + 0.1 * table[:, 1], Constraints(constants_within=(-4, 4)), ("sin",), 0.8)
    for model, limit in ((exact, 10), (bounded, 4)):
        assert any(numbers_in(expression) for expression in expressions(model)[1:])
        for expression in expressions(model):
            assert all(abs(value) <= limit for value in numbers_in(expression)), expression


def test_known_constants_are_taken_and_fixed_where_the_data_allow(table):
    rng = np.random.default_rng(2)
    y = table[:, 1] + 9.81 / 2 * table[:, 0] ** 2 + 0.05 * rng.normal(size=len(table))
    model = fitted(table, y, Constraints(known={"g": 9.81}), ("square",), 1.0)
    assert sympy.Rational("4.905") in model.sympy().atoms(sympy.Rational)
    assert "4.905" in str(model.discovery_.best)
    other = fitted(table, table[:, 1] + 5.5 * table[:, 0] ** 2, Constraints(known={"g": 9.81}), ("square",), 1.0)
    assert other.sympy() == read("x2 + 5.5*x1**2") or float(other.sympy().coeff(X1**2)) == 5.5


def test_operators_left_out_do_not_occur(table):
    rule = Constraints(without=("exp", "sin", "cos", "log", "sqrt"))
    model = CEQLRegressor(constraints=rule, time_limit=10, verbose=False).fit(table, 1 / (table[:, 0] + table[:, 1]))
    assert model.discovery_.outcome is Outcome.EXACT
    assert not any(contained(e) & set(rule.without) for e in expressions(model))


def test_nothing_allowed_is_said(table):
    rule = Constraints(constants_within=(100, 200), required=("x2",))
    model = fitted(table, 1 / table[:, 0], rule, ("mul",), 0.6)
    assert len(model.equations_) == 1
    assert model.discovery_.outcome is Outcome.NOT_ALLOWED
    assert "constraints" in model.discovery_.outcome.value


# ---- fixed parameters of templates --------------------------------------------------------------------------------


def test_a_parameter_with_a_value_is_fixed():
    t = np.linspace(0.1, 2.0, 40)[:, None]
    y = 3.0 * t[:, 0] - 0.5 * 9.7 * t[:, 0] ** 2
    fall = Template("v*x1 - g*x1**2/2", parameters={"v": Parameter(), "g": Parameter(value=9.81)})
    assert Template.from_dict(json.loads(json.dumps(fall.as_dict()))) == fall
    model = CEQLRegressor(template=fall, time_limit=3, verbose=False).fit(t, y)
    assert model.constants_.loc["g"].to_list() == [9.81, 0.0]
    assert float(sympy.diff(model.sympy(), sympy.Symbol("x1", real=True), 2)) == pytest.approx(-9.81)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"value": float("nan")}, "finite number"),
        ({"value": 1.0, "low": 0.0}, "is fixed: leave out its bounds"),
        ({"value": 1.0, "sign": "+"}, "is fixed: leave out its bounds"),
        ({"value": 1.0, "about": 2.0}, "is fixed: leave out its bounds"),
    ],
)
def test_a_parameter_is_known_or_to_be_found(given_, message):
    with pytest.raises(InputError, match=message):
        Parameter(**given_)


def test_a_template_of_known_numbers_has_nothing_to_be_found():
    with pytest.raises(InputError, match="nothing to be found"):
        Template("g*x1", parameters={"g": Parameter(value=9.81)})
