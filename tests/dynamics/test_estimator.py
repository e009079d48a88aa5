"""The regressor of time series: conventions of scikit-learn, simulation from new states, and a whole fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import ceql
from ceql import CeqlError, InputError, ODERegressor


@pytest.fixture(scope="module")
def model(lotka_volterra) -> ODERegressor:
    return ODERegressor()._take(lotka_volterra, "run")


def table_of(finding, column: str | None = "run") -> pd.DataFrame:
    series = finding.series
    pieces = []
    for one in series.trajectories:
        columns = {} if column is None else {column: one.label}
        columns |= {series.time: one.time, **dict(zip(series.states, one.states.T, strict=True))}
        pieces.append(pd.DataFrame({**columns, **dict(zip(series.inputs, one.inputs.T, strict=True))}))
    return pd.concat(pieces, ignore_index=True)


def test_parameters_are_kept_as_they_are():
    model = ODERegressor(order=2, operators=["mul"], time_limit=3, random_state=np.int64(4))
    copied: Any = clone(model)
    assert copied.get_params() == model.get_params()
    assert model.set_params(order=1).order == 1
    with pytest.raises(NotFittedError):
        model.simulate([1.0], [0.0, 1.0])
    with pytest.raises(NotFittedError):
        model.text()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"time_limit": 0}, "time_limit must be a positive number"),
        ({"time_limit": "long"}, "time_limit must be a positive number"),
        ({"order": 3}, "The order of the equations must be 1, or 2"),
        ({"depends_on_time": 1}, "depends_on_time must be True or False"),
        ({"per_trajectory": "some"}, "per_trajectory must be 'auto' or None"),
        ({"threads": 0}, "threads must be a whole number"),
        ({"random_state": -1}, "random_state must be a non-negative integer"),
        ({"operators": [1]}, "operators must be a list of names"),
    ],
)
def test_parameters_that_cannot_be_used(parameters, words, lotka_volterra):
    with pytest.raises(InputError) as error:
        ODERegressor(**parameters).fit(table_of(lotka_volterra), trajectory="run")
    assert words in str(error.value)


def test_what_was_found_is_there_as_tables(model):
    assert model.text() == "dx/dt = -0.4*x*y + 1.1*x\ndy/dt = 0.1*x*y - 0.4*y"
    assert str(model.sympy()["y"]) == "0.1*x*y - 0.4*y"
    assert model.latex() == model.export("latex")
    assert list(model.equations_) == ["dx/dt", "dy/dt", "complexity", "weight", "criterion", "r2"]
    assert model.constants_["standard_error"].gt(0).all()
    assert model.initial_.loc["run 2", ("y", "value")] == 6.0
    assert set(model.fixed_points_["kind"]) == {"centre", "saddle"}
    assert model.singularities_ == []
    assert len(model.simulated_) == 180


# ---- simulation ---------------------------------------------------------------------------------------------------


def test_a_simulation_goes_on_where_it_stopped(model):
    time = np.linspace(0.0, 6.0, 7)
    whole = model.simulate({"x": 3.0, "y": 1.0}, time)
    assert list(whole) == ["t", "x", "y"]
    second = model.simulate(whole.iloc[3][["x", "y"]], time[3:])
    assert np.allclose(second, whole.iloc[3:], rtol=1e-5)
    assert np.allclose(model.simulate([3.0, 1.0], time), whole)


def test_inputs_may_be_numbers_values_or_functions(driven):
    model = ODERegressor()._take(driven, "run")
    time = np.linspace(0, 5, 201)
    kinds = [0.7, np.full(201, 0.7), lambda t: 0.7 + 0.0 * t, [0.7] * 201]
    made = [model.simulate([1.0], time, {"u": kind}, trajectory="slow")["level"].to_numpy() for kind in kinds]
    assert all(np.allclose(one, made[0], rtol=1e-6) for one in made)
    assert made[0][-1] == pytest.approx(2.8 + (1.0 - 2.8) * np.exp(-2.5), rel=1e-6)
    fast = model.simulate([1.0], time, {"u": 0.7}, trajectory="fast")["level"]
    assert fast.iloc[-1] == pytest.approx(1.4 / 1.5, rel=1e-3)


def test_what_blows_up_is_nan_from_there_on(system_of, finding_of):
    model = ODERegressor()._take(finding_of(system_of({"x": "x**2"}), [[1.0]], np.linspace(0, 0.9, 30)), None)
    x = model.simulate([1.0], np.linspace(0, 2, 21))["x"].to_numpy()
    assert np.isfinite(x[:10]).all()
    assert np.isnan(x[11:]).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0], [0.0, 1.0]), "The initial state needs 2 numbers (x, y), not 1."),
        (({"x": 1.0}, [0.0, 1.0]), "The initial state lacks y"),
        (({"x": 1.0, "Y": 2.0}, [0.0, 1.0]), "There is no state 'Y'. Did you mean 'y'?"),
        (([1.0, "two"], [0.0, 1.0]), "initial must hold numbers"),
        (([1.0, np.nan], [0.0, 1.0]), "not finite"),
        (([1.0, 2.0], [0.0]), "time must hold at least two times"),
        (([1.0, 2.0], [0.0, 1.0, 1.0]), "must increase"),
        (([1.0, 2.0], [0.0, 1.0], {"u": 1.0}), "This system has no inputs"),
        (([1.0, 2.0], [0.0, 1.0], None, "run 9"), "There is no trajectory 'run 9'. Did you mean 'run"),
    ],
)
def test_simulations_that_cannot_be(model, arguments, words):
    with pytest.raises(CeqlError) as error:
        model.simulate(*arguments)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (None, "This system has inputs (u): say what each is"),
        ({}, "The inputs lack u."),
        ({"v": 1.0}, "There is no input 'v'"),
        ({"u": [1.0, 2.0, 3.0]}, "Input 'u' has 3 values for 2 times"),
    ],
)
def test_inputs_that_are_not_there(driven, inputs, words):
    model = ODERegressor()._take(driven, "run")
    with pytest.raises(CeqlError) as error:
        model.simulate([1.0], [0.0, 1.0], inputs, trajectory="slow")
    assert words in str(error.value)
    with pytest.raises(InputError, match="name the one to use"):
        model.simulate([1.0], [0.0, 1.0], {"u": 1.0})


# ---- prediction ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lotka_volterra", "pendulum", "michaelis_menten", "driven"])
def test_the_rows_of_the_fit_are_predicted_from_the_fitted_states(name, request):
    finding = request.getfixturevalue(name)
    column = "run" if len(finding.series.trajectories) > 1 else None
    model = ODERegressor(order=finding.series.order)._take(finding, column)
    table = table_of(finding, column)
    predicted = model.predict(table)
    simulated = model.simulated_
    for state in finding.system.states:
        assert np.allclose(predicted[state], simulated[f"{state} simulated"], rtol=1e-4, atol=1e-4)
    assert model.score(table) > 0.99
    mixed = table.sample(frac=1.0, random_state=0).sort_values("t")
    assert np.allclose(model.predict(mixed), predicted.loc[mixed.index], rtol=1e-4, atol=1e-4)


def test_a_new_trajectory_begins_with_its_first_row(model, pendulum):
    new = pd.DataFrame({"run": "new", "t": [3.0, 4.0, 5.0], "x": [2.0, np.nan, np.nan], "y": [1.0, np.nan, np.nan]})
    assert np.allclose(model.predict(new), model.simulate([2.0, 1.0], [3.0, 4.0, 5.0])[["x", "y"]])
    swing = ODERegressor(order=2)._take(pendulum, None)
    with pytest.raises(InputError, match="no column 'a_speed': add it, or use simulate"):
        swing.predict(pd.DataFrame({"t": [7.0, 8.0], "a": [1.0, np.nan]}))


# ---- a whole fit --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grown() -> tuple[pd.DataFrame, ODERegressor]:
    """Logistic growth with little noise, and what is found in it within two seconds."""
    time = np.linspace(0, 8, 30)
    size = 3.0 / (1.0 + 9.0 * np.exp(-0.8 * time))
    noisy = size + 0.005 * np.random.default_rng(0).standard_normal(30)
    table = pd.DataFrame({"day": time, "size": noisy, "remark": "dry"})
    return table, ODERegressor(time_limit=2.0, threads=1).fit(table, time="day")


def test_growth_is_found_simulated_and_saved(grown, tmp_path):
    table, model = grown
    assert model.finding_.series.states == ("size",)
    assert model.reading_notes_ == ("Column 'remark' holds no numbers: left out.",)
    assert model.score(table) > 0.999
    assert np.allclose(model.simulate([0.3], [0.0, 20.0])["size"].iloc[-1], 3.0, atol=0.05)
    points = model.fixed_points_.set_index("kind")["size"]
    assert points["stable node"] == pytest.approx(3.0, abs=0.05)
    model.save(tmp_path / "growth.ceql")
    again = ceql.load(tmp_path / "growth.ceql")
    assert again.text() == model.text()
    assert again.predict(table).equals(model.predict(table))
    model.report(tmp_path / "growth.html")
    assert "dsize/dday" in (tmp_path / "growth.html").read_text(encoding="utf-8")
