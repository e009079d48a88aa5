"""A user's operator: checked when it is registered, equal to its formula on the tape, usable in a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy

from ceql import operators
from ceql.engine import fit
from ceql.errors import CeqlError, InputError
from ceql.network import Network
from ceql.network.recording import network_tape
from ceql.network.reference import forward

x, y = sympy.symbols("x y")
a, b = sympy.symbols("a b", real=True)
# name: (arguments, formula, the same in NumPy). The registry is global, so the names are ours alone.
OPERATORS = {
    "t_logistic": (x, 1 / (1 + sympy.exp(-x)), lambda u: 1 / (1 + np.exp(-u))),
    "t_softplus": (x, sympy.log(1 + sympy.exp(x)), lambda u: np.log(1 + np.exp(u))),
    "t_gauss": (x, sympy.exp(-(x**2) / 2), lambda u: np.exp(-(u**2) / 2)),
    "t_hypot": ((x, y), sympy.sqrt(1 + x**2 + y**2), lambda u, v: np.sqrt(1 + u**2 + v**2)),
    "t_swish": (x, x / (1 + sympy.exp(-2 * x)), lambda u: u / (1 + np.exp(-2 * u))),
    "t_quartic": (x, x**4 - sympy.Rational(1, 3) * x**3 + sympy.pi, lambda u: u**4 - u**3 / 3 + np.pi),
    "t_lorentz": ((x, y), x / (x**2 + y**2 + 1) ** 2, lambda u, v: u / (u**2 + v**2 + 1) ** 2),
    "t_waves": ((x, y), 3 * sympy.sin(x) * sympy.cos(2 * y), lambda u, v: 3 * np.sin(u) * np.cos(2 * v)),
    "t_bend": (a, sympy.tanh(a) + sympy.Abs(a) / 2, lambda u: np.tanh(u) + np.abs(u) / 2),
    "t_shared": (x, sympy.sin(x) ** 2 + sympy.sin(x) ** 3, lambda u: np.sin(u) ** 2 + np.sin(u) ** 3),
    "t_inverse_root": (x, (1 + x**2) ** sympy.Rational(-1, 2), lambda u: (1 + u**2) ** -0.5),
}


@pytest.fixture(params=OPERATORS)
def case(request: pytest.FixtureRequest) -> tuple[operators.Operator, str, Callable[..., Any]]:
    arguments, formula, function = OPERATORS[request.param]
    return operators.register(request.param, arguments, formula), formula, function


def test_it_can_be_named_afterwards(case):
    operator, _, _ = case
    assert operators.get(operator.name) is operator
    assert operator.name in operators.names()


def test_its_real_form_is_the_formula(case):
    operator, _, function = case
    columns = np.random.default_rng(0).uniform(-2, 2, (operator.arity, 50))
    assert np.allclose(operator.real(*columns), function(*columns), rtol=1e-13)
    assert np.allclose(operator.surrogate(*(columns + 0.5j)), function(*columns), rtol=1e-13)


def test_its_symbolic_form_takes_expressions(case):
    operator, formula, _ = case
    symbols = sorted(formula.free_symbols, key=str)
    swapped = symbols[::-1] if len(symbols) == 2 else [symbols[0] + 1]
    expected = formula.subs(dict(zip(symbols, swapped, strict=True)), simultaneous=True)
    assert operator.symbolic(*swapped) == expected


def test_it_works_inside_a_network(case):
    operator, _, _ = case
    network = Network(2, ((operator.name, "square"), ("div", operator.name)), skip="all", bias=True)
    rng = np.random.default_rng(1)
    params, table = rng.normal(0, 0.5, network.n_params), rng.uniform(-1, 1, (70, 2))
    values = fit.values(network_tape(network), fit.Samples.of(table, np.zeros(70)), params)[0]
    assert np.allclose(values, forward(network, network.complex_weights(params), table), rtol=1e-9, atol=1e-11)


def test_its_derivative_is_right(case):
    operator, _, _ = case
    network = Network(2, ((operator.name,),), bias=True)
    rng = np.random.default_rng(2)
    params, table = rng.normal(0, 0.5, network.n_params), rng.uniform(0.2, 1, (20, 2))
    tape, samples = network_tape(network), fit.Samples.of(table, np.zeros(20))
    jacobian = fit.jacobian(tape, samples, params)[1]
    step = 1e-6 * np.eye(len(params))
    above, below = (fit.values(tape, samples, params + sign * step) for sign in (1, -1))
    assert np.allclose(jacobian, (above - below).T / 2e-6, rtol=1e-6, atol=1e-8)


def test_zero_at_zero_follows_from_the_formula():
    assert not operators.register("t_at_one", x, sympy.exp(x)).zero_at_zero
    assert operators.register("t_at_zero", x, sympy.exp(x) - 1).zero_at_zero


def test_complexity_grows_with_the_formula():
    short = operators.register("t_short", x, x + 1)
    long = operators.register("t_long", x, sympy.sin(sympy.exp(x) + 2 * x) + 1)
    assert 1 <= short.complexity < long.complexity


REFUSALS = {
    "name with a blank": (("two words", x, x), "must be a plain word"),
    "keyword": (("lambda", x, x), "must be a plain word"),
    "name is no text": ((3, x, x), "must be a plain word"),
    "built-in name": (("sqrt", x, x), "is a built-in operator"),
    "no arguments": (("t_bad", (), sympy.Integer(1)), "one or two SymPy symbols"),
    "three arguments": (("t_bad", sympy.symbols("x y z"), x), "one or two SymPy symbols"),
    "argument is no symbol": (("t_bad", (x + 1,), x), "one or two SymPy symbols"),
    "formula is text": (("t_bad", x, "x + 1"), "must be a SymPy expression, not str"),
    "formula is a relation": (("t_bad", x, x > 1), "must be a SymPy expression"),
    "stray symbol": (("t_bad", x, x + y), r"not arguments: \['y'\]"),
    "unused argument": (("t_bad", (x, y), x**2), "Every argument must appear"),
    "unknown function": (("t_bad", x, sympy.gamma(x)), "gamma cannot be compiled. Use "),
    "nowhere smooth": (
        ("t_bad", x, sympy.exp(-sympy.exp(sympy.exp(x + 9)))),  # zero, but its slope is infinity times zero
        "no finite derivative",
    ),
    "nowhere finite": (("t_bad", x, sympy.log(-1 - x**2)), "not finite at any of the points"),
}


@pytest.mark.parametrize("which", REFUSALS)
def test_a_bad_operator_is_refused(which):
    arguments, complaint = REFUSALS[which]
    with pytest.raises(InputError, match=complaint):
        operators.register(*arguments)
    assert "t_bad" not in operators.names()


def test_what_no_tape_can_hold_is_refused_at_once():
    with pytest.raises(InputError, match="constant exponent"):
        operators.register("t_power", (x, y), x**y)


@pytest.mark.parametrize("formula", [sympy.I * x, x + sympy.zoo], ids=str)
def test_a_complex_formula_is_refused_in_our_words(formula):
    with pytest.raises(CeqlError):
        operators.register("t_complex", x, formula)


def test_a_name_is_given_only_once():
    operators.register("t_renewed", x, x**2 + 1)
    operators.register("t_renewed", x, x**2 + 1)
    with pytest.raises(InputError, match="registered already"):
        operators.register("t_renewed", x, x**3)
