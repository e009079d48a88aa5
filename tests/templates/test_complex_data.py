"""Complex data with real constants."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ceql import CEQLRegressor, InputError, Parameter, Unknown
from ceql.templates import complex_template, complex_values, stacked


def receptance(w, k=2.0, m=0.5, c=0.1):
    return 1 / (k - m * w**2 + 1j * c * w)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_one_set_of_real_constants_for_both_parts(noise):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"w": np.linspace(0.2, 5, 120)})
    y = receptance(X["w"].to_numpy())
    y = y + noise * (rng.standard_normal(120) + 1j * rng.standard_normal(120))
    positive = Parameter(sign="+")
    template = complex_template("1/(k - m*w**2 + I*c*w)", {"k": positive, "m": positive, "c": positive})
    model = CEQLRegressor(template=template, time_limit=15).fit(*stacked(X, y))
    predicted = complex_values(model, X)
    assert np.abs(predicted - receptance(X["w"].to_numpy())).max() < (0.1 if noise else 1e-8)


def test_functions_may_be_unknown_in_it():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"w": rng.uniform(0.2, 3, 200), "t": rng.uniform(0, 2, 200)})
    y = 1 / (1.5 + 0.4 * X["t"].to_numpy() - X["w"].to_numpy() ** 2 + 0.3j * X["w"].to_numpy())
    template = complex_template("1/(f - w**2 + I*c*w)", {"c": Parameter()}, {"f": Unknown(["t"], operators=[])})
    model = CEQLRegressor(template=template, time_limit=15).fit(*stacked(X, y))
    assert np.abs(complex_values(model, X) - y).max() < 1e-8


@pytest.mark.parametrize(
    ("formula", "message"),
    [("1/(k - w)", "no imaginary unit"), ("I*part", "rename"), ("I*(w", "cannot be read")],
)
def test_formulas_that_will_not_do(formula, message):
    with pytest.raises(InputError, match=message):
        complex_template(formula)


def test_tables_that_will_not_do():
    X = pd.DataFrame({"w": [1.0, 2.0]})
    with pytest.raises(InputError, match="2 entries"):
        stacked(X, np.ones(3))
    with pytest.raises(InputError, match="rename"):
        stacked(X.assign(part=0.0), np.ones(2))


def test_complex_y_is_told_where_to_go():
    with pytest.raises(InputError, match="complex_template"):
        CEQLRegressor().fit([[1.0], [2.0]], np.array([1 + 1j, 2.0]))
