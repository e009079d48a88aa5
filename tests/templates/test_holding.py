"""The reported formula is the template, with one number for each of its constants, at the bottom of its misfit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sympy

from ceql import CEQLRegressor, Parameter, Template, Unknown, load
from ceql.cli.summary import law_in_words
from ceql.errors import InputError
from ceql.storage.model_file import ModelFileError

POSITIVE = Parameter(sign="+")


def fit(template: Template, x: Any, y: Any, **options: Any) -> CEQLRegressor:
    return CEQLRegressor(template=template, verbose=False, **options).fit(pd.DataFrame({"x": x}), y)


def test_a_constant_that_occurs_twice_is_one_number():
    x = np.linspace(0.5, 5, 60)
    template = Template("A*x + A**2/x", {"A": Parameter()})
    model = fit(template, x, 2.3 * x + 4 / x)
    A, X = sympy.symbols("A x", real=True)
    assert model.sympy(form="named") == A * X + A**2 / X
    (value,) = model.constants_["value"]
    least = min(np.mean((a * x + a**2 / x - 2.3 * x - 4 / x) ** 2) for a in value + np.linspace(-1e-3, 1e-3, 101))
    assert model.equations_["loss"].iloc[0] == pytest.approx(least, rel=1e-6)
    assert fit(template, x, 2.3 * x + 2.3**2 / x).constants_["value"].to_dict() == {"A": 2.3}


@pytest.mark.parametrize(
    ("kind", "on_bound"),
    [(POSITIVE, True), (Parameter(low=-0.5, high=0.1), True), (Parameter(low=-2.0), False), (Parameter(), False)],
)
def test_a_constant_that_stands_on_its_bound_is_said_to(kind, on_bound):
    x = np.linspace(0, 3, 50)
    model = fit(
        Template("A*exp(-k*x)", {"A": Parameter(), "k": kind}), x, 1.5 * np.exp((-0.6 if kind.high < 1 else 0.6) * x)
    )
    law = model.discovery_.best.law
    assert law is not None
    assert {c.name: c.stands_on_bound for c in law.constants} == {"A": False, "k": on_bound}
    assert ("at its bound" in "\n".join(law_in_words(law))) == on_bound


def test_a_sign_is_kept_where_the_data_want_another():
    x = np.linspace(0, 3, 50)
    model = fit(Template("A*exp(-k*x)", {"A": POSITIVE, "k": POSITIVE}), x, 1.5 * np.exp(0.6 * x))
    assert (model.constants_["value"] > 0).all()
    assert model.constants_.loc["k", "standard_error"] == 0.0  # it stands on its bound
    assert model.predict(pd.DataFrame({"x": x})) == pytest.approx(np.mean(1.5 * np.exp(0.6 * x)))


def test_errors_and_covariances_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    x = np.linspace(0, 3, 80)
    y = 2 * np.exp(-0.7 * x) + 0.05 * rng.standard_normal(80)
    model = fit(Template("A*exp(-k*x) + g", {"A": Parameter(), "k": Parameter(), "g": Parameter(value=0.0)}), x, y)
    A, k, _ = model.constants_["value"]
    jacobian = np.column_stack([np.exp(-k * x), -A * x * np.exp(-k * x)])
    noise = np.sum((y - A * np.exp(-k * x)) ** 2) / 78
    expected = noise * np.linalg.inv(jacobian.T @ jacobian)
    np.testing.assert_allclose(model.covariance_.loc[["A", "k"], ["A", "k"]], expected, rtol=1e-6)
    np.testing.assert_allclose(model.constants_["standard_error"] ** 2, np.diag(model.covariance_))
    assert model.constants_.loc["g"].to_list() == [0.0, 0.0]


def test_sizes_need_not_be_known():
    x = np.linspace(1e-9, 5e-7, 60)
    rng = np.random.default_rng(1)
    y = 4e6 * (1 - np.exp(-x / 8e-8)) * (1 + 0.001 * rng.standard_normal(60))
    model = fit(Template("V*(1 - exp(-x/t))", {"V": POSITIVE, "t": POSITIVE}), x, y)
    assert model.constants_["value"].to_list() == pytest.approx([4e6, 8e-8], rel=0.01)


def test_another_loss_and_a_saved_model_keep_it(tmp_path):
    rng = np.random.default_rng(2)
    x = np.linspace(0.5, 5, 80)
    y = 2.3 * x + 2.3**2 / x + 0.01 * rng.standard_normal(80)
    y[::8] += 5
    model = fit(Template("A*x + A**2/x", {"A": Parameter()}), x, y, loss="huber")
    assert list(model.constants_.index) == ["A"]
    assert model.constants_["value"]["A"] == pytest.approx(2.3, abs=0.01)
    model.save(tmp_path / "model.ceql")
    again = load(tmp_path / "model.ceql")
    pd.testing.assert_frame_equal(again.constants_, model.constants_)
    pd.testing.assert_frame_equal(again.covariance_, model.covariance_)
    assert again.sympy(form="named") == model.sympy(form="named")
    text = (tmp_path / "model.ceql").read_text().replace("A**2", "A**3")
    (tmp_path / "other.ceql").write_text(text)
    with pytest.raises(ModelFileError, match="template"):
        load(tmp_path / "other.ceql")


def test_only_the_free_part_is_shortened():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"c": rng.uniform(0.1, 2.0, 120), "T": rng.uniform(300.0, 500.0, 120)})
    y = 2500 * np.exp(-2000 / X["T"]) * (1 + 0.8 * X["c"]) + 0.0 * X["c"]
    template = Template(
        "exp(-E/T)*f + b",
        {"E": Parameter(low=0, about=1000), "b": Parameter()},
        {"f": Unknown(["c"], ["mul"], about=1000)},
    )
    model = CEQLRegressor(template=template, verbose=False, time_limit=20).fit(X, y)
    T, E, b = sympy.symbols("T E b", real=True)
    found = model.sympy(form="named")
    part = sympy.simplify((found - b) * sympy.exp(E / T))
    assert T not in part.free_symbols
    assert E not in part.free_symbols
    assert model.constants_["value"]["E"] == pytest.approx(2000, rel=1e-6)
    assert abs(model.constants_["value"]["b"]) < 1e-6
    assert set(model.constants_.index) >= {"E", "b", "f_1"}


def test_a_template_without_a_value_is_refused():
    with pytest.raises(InputError, match="the template is undefined on some row"):
        fit(Template("a*log(-1 - x**2)", {"a": Parameter()}), np.linspace(0, 1, 20), np.linspace(0, 1, 20))


def test_nothing_else_takes_its_place():
    x = np.linspace(0.5, 5, 40)
    template, y = Template("A*x + A**2/x", {"A": Parameter()}), np.sin(x)
    model = fit(template, x, y, max_complexity=2, warm_start=True)
    model.fit(pd.DataFrame({"x": x}), y)
    assert [str(name) for name in model.equations_["law"]] == ["template"]
    with pytest.raises(InputError, match="leave guesses out"):
        fit(template, x, y, guesses=["a*x"])
