"""`CEQLRegressor(template=...)` offers what it offers without one."""

from __future__ import annotations

from typing import cast

import numpy as np
import pandas as pd
import pytest
import sympy
from sklearn.base import clone

from ceql import CEQLRegressor, load
from ceql.errors import InputError
from ceql.expression import compile_numpy, is_exact, parse_formula
from ceql.templates import Parameter, Template, Terms, Unknown
from ceql.templates.resonance import resonance_template

POLES = Template(
    "a*x + b + S",
    parameters={"a": Parameter(), "b": Parameter()},
    sums={"S": Terms("A/(x - p)", most=4, parameters={"A": Parameter(), "p": Parameter()})},
)


@pytest.fixture(scope="module")
def poles() -> tuple[CEQLRegressor, pd.DataFrame, np.ndarray]:
    X = pd.DataFrame({"x": np.random.default_rng(0).uniform(-3, 3, 120)})
    y = 0.5 * X["x"] + 1 + 0.7 / (X["x"] - 1.1) - 1.3 / (X["x"] + 2.05)
    return CEQLRegressor(template=POLES, verbose=False).fit(X, y), X, y.to_numpy()


def test_a_trend_and_the_number_of_poles_are_found(poles):
    model, X, y = poles
    truth = parse_formula("0.5*x + 1 + 0.7/(x - 1.1) - 1.3/(x + 2.05)", ["x"])
    symbols = (sympy.Symbol("x", real=True),)
    assert is_exact(model.sympy(), truth, symbols, X.to_numpy())
    assert sorted(round(pole.location, 6) for pole in model.poles_) == [-2.05, 1.1]
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-9)


def test_everything_else_of_the_regressor_works(poles, tmp_path):
    model, X, _ = poles
    assert model.equations_["chosen"].sum() == 1
    assert model.constants_.shape[1] == 2
    assert "x" in model.latex()
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.template == POLES
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert cast(CEQLRegressor, clone(model)).template == POLES


def test_a_rate_law_with_an_unknown_function_is_found():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"c": rng.uniform(0.1, 2.0, 120), "T": rng.uniform(300.0, 500.0, 120)})
    y = 2500 * np.exp(-2000 / X["T"]) * X["c"] / (1 + 0.8 * X["c"])
    template = Template(
        "exp(-E/T) * f",
        parameters={"E": Parameter(low=0, about=1000)},
        functions={"f": Unknown(["c"], ["mul", "div"], about=1000)},
    )
    model = CEQLRegressor(template=template, verbose=False).fit(X, y)
    truth = parse_formula("2500*exp(-2000/T)*c/(1 + 0.8*c)", ["c", "T"])
    symbols = sympy.symbols("c T", real=True)
    assert is_exact(model.sympy(), truth, symbols, X.to_numpy())


def test_resonances_and_their_laws_are_found_by_the_search():
    X = pd.DataFrame({"w": np.tile(np.linspace(0, 10, 200), 3), "d": np.repeat([0.0, 1.0, 2.0], 200)})
    text = "0.1*w + 0.5 + 2/((w - 3 - 0.4*d)**2 + 0.05) + 1/((w - 7 - 0.2*d**2)**2 + 0.1)"
    truth, symbols = parse_formula(text, ["w", "d"]), sympy.symbols("w d", real=True)
    template = resonance_template(most=4, operators=["square"], about=4)
    model = CEQLRegressor(template=template, verbose=False).fit(X, compile_numpy(truth, symbols)(X.to_numpy()))
    assert is_exact(model.sympy(), truth, symbols, X.to_numpy())


def test_a_bound_holds_in_the_formula():
    x = np.linspace(1, 2, 40)[:, None]
    y = 0.2 * x[:, 0] + 3 + 0.01 * np.sin(40 * x[:, 0])
    template = Template("a*x1 + b", parameters={"a": Parameter(low=0.25, high=9), "b": Parameter()})
    model = CEQLRegressor(template=template, time_limit=2, verbose=False).fit(x, y)
    x1 = sympy.Symbol("x1", real=True)
    assert float(sympy.diff(model.sympy(row=-1), x1)) == 0.25


def test_a_template_must_suit_the_data_and_the_recipe():
    x, y = np.linspace(1, 2, 30)[:, None], np.linspace(0, 1, 30) ** 2
    with pytest.raises(InputError, match="unknown name 'x'"):
        CEQLRegressor(template=POLES, verbose=False).fit(x, y)
    with pytest.raises(InputError, match="recipe='search'"):
        CEQLRegressor(template=POLES, recipe="paper", verbose=False).fit(x, y)
    with pytest.raises(InputError, match="must be a ceql"):
        CEQLRegressor(verbose=False).set_params(template="a*x").fit(x, y)
