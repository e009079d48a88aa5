"""Complex targets of a template: both parts have the same constants, and functions of complex arguments work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sympy

from ceql import CEQLRegressor, InputError, Parameter, Template, Unknown, load

POSITIVE, FRACTION = Parameter(sign="+"), Parameter(low=0.0, high=1.0)
OMEGA = 2 * np.pi * np.logspace(-2, 5, 60)


@dataclass(frozen=True)
class Circuit:
    formula: str
    values: dict[str, float]
    impedance: Callable[..., Any]

    @property
    def template(self) -> Template:
        return Template(self.formula, {name: FRACTION if name[0] == "n" else POSITIVE for name in self.values})


CIRCUITS = {
    "R0-p(R1,C1)-W": Circuit(
        "R0 + 1/(1/R1 + I*w*C1) + s*(1 - I)/sqrt(w)",
        {"R0": 0.02, "R1": 0.03, "C1": 0.5, "s": 0.01},
        lambda w, R0, R1, C1, s: R0 + 1 / (1 / R1 + 1j * w * C1) + s * (1 - 1j) / np.sqrt(w),
    ),
    "R0-p(R1,CPE1)": Circuit(
        "R0 + 1/(1/R1 + Q*(I*w)**n)",
        {"R0": 100.0, "R1": 2000.0, "Q": 1e-5, "n": 0.85},
        lambda w, R0, R1, Q, n: R0 + 1 / (1 / R1 + Q * (1j * w) ** n),
    ),
    "R0-p(R1-W,C1)-L": Circuit(
        "R0 + 1/(I*w*C + 1/(R1 + s*sqrt(2)/sqrt(I*w))) + I*w*L",
        {"R0": 0.01, "C": 0.1, "R1": 0.02, "s": 0.01, "L": 1e-7},
        lambda w, R0, C, R1, s, L: R0 + 1 / (1j * w * C + 1 / (R1 + s * np.sqrt(2) / np.sqrt(1j * w))) + 1j * w * L,
    ),
    "R0-p(R1,CPE1)-Ws": Circuit(
        "R0 + 1/(1/R1 + Q*(I*w)**n) + Z*tanh(sqrt(I*w*T))/sqrt(I*w*T)",
        {"R0": 0.01, "R1": 0.02, "Q": 0.1, "n": 0.9, "Z": 0.03, "T": 50.0},
        lambda w, R0, R1, Q, n, Z, T: (
            R0 + 1 / (1 / R1 + Q * (1j * w) ** n) + Z * np.tanh(np.sqrt(1j * w * T)) / np.sqrt(1j * w * T)
        ),
    ),
}


def noisy(values: np.ndarray, share: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    return values * (1 + share * (rng.standard_normal(len(values)) + 1j * rng.standard_normal(len(values))))


@pytest.mark.parametrize("name", CIRCUITS)
def test_the_elements_of_a_circuit_are_found_by_name_with_errors(name):
    circuit, X = CIRCUITS[name], pd.DataFrame({"w": OMEGA})
    Z = circuit.impedance(OMEGA, **circuit.values)
    model = CEQLRegressor(template=circuit.template, verbose=False).fit(X, noisy(Z, 0.002))
    values, errors = model.constants_["value"], model.constants_["standard_error"]
    assert list(values.index) == list(circuit.values)
    for element, truth in circuit.values.items():
        assert abs(values[element] - truth) < 5 * errors[element] < 0.2 * truth
    assert np.abs(model.predict(X) - Z).max() < 0.01 * np.abs(Z).max()


def test_exact_data_give_the_formula_as_it_is_written(tmp_path):
    w = np.linspace(0.2, 5, 60)
    X, y = pd.DataFrame({"w": w}), 2.5 * np.exp(-0.7j * w) / (1 + 1.3j * w)
    template = Template("K*exp(-I*w*T)/(1 + I*w*t)", dict.fromkeys("KTt", POSITIVE))
    model = CEQLRegressor(template=template, verbose=False).fit(X, y, sample_weight=np.ones(60))
    assert model.constants_["value"].to_dict() == {"K": 2.5, "T": 0.7, "t": 1.3}
    W, unit = sympy.Symbol("w", real=True), sympy.I
    assert sympy.simplify(model.sympy() - 2.5 * sympy.exp(-0.7 * unit * W) / (1 + 1.3 * unit * W)) == 0
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-12)
    assert model.n_features_in_ == 1
    assert list(model.feature_names_in_) == ["w"]
    model.save(tmp_path / "model.ceql")
    np.testing.assert_array_equal(load(tmp_path / "model.ceql").predict(X), model.predict(X))


def test_functions_may_be_unknown_in_it():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"w": rng.uniform(0.2, 3, 200), "t": rng.uniform(0, 2, 200)})
    y = 1 / (1.5 + 0.4 * X["t"].to_numpy() - X["w"].to_numpy() ** 2 + 0.3j * X["w"].to_numpy())
    template = Template("1/(f - w**2 + I*c*w)", {"c": Parameter()}, {"f": Unknown(["t"], operators=[])})
    model = CEQLRegressor(template=template, time_limit=15, verbose=False).fit(X, y)
    assert np.abs(model.predict(X) - y).max() < 1e-8
    assert model.constants_["value"]["c"] == pytest.approx(0.3)
    deviation = model.predict(X[:3], return_std=True)[1]
    assert np.iscomplexobj(deviation)
    assert deviation.shape == (3,)


def test_what_does_not_go_together_is_refused():
    w, plain = np.linspace(0.1, 1, 20)[:, None], Template("a*x1", {"a": Parameter()})
    unit = Template("a*I*x1", {"a": Parameter()})
    for template, x, y, message in (
        (None, w, w[:, 0] * 1j, "template with the imaginary unit"),
        (plain, w, w[:, 0] * 1j, "template with the imaginary unit"),
        (unit, w, w[:, 0], "y is real"),
        (unit, w, np.column_stack([w, w]) * 1j, "one column"),
        (unit, pd.DataFrame({"x1": w[:, 0], "part": 0.0}), w[:, 0] * 1j, "rename"),
        (Template("a*asin(I*x1)", {"a": Parameter()}), w, w[:, 0] * 1j, "asin of a complex argument"),
    ):
        with pytest.raises(InputError, match=message):
            CEQLRegressor(template=template, verbose=False).fit(x, y)
