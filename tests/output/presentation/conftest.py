"""Fitted models without a search, and a browser where there is one."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ceql import CEQLRegressor, Dataset, Discovery, Parameter, Template
from ceql.data.targets import Targets
from ceql.discovery import Outcome, poles_of
from ceql.expression import parametrise, parse_formula
from ceql.formula import Formula, constant_formula, constants_of, make_symbols, mean_square


def fitted(text: str, x: np.ndarray, names=None, noise=0.0, also=(), **parameters) -> CEQLRegressor:
    """A model whose chosen formula is `text`; `also` are further rows of the front."""
    names = tuple(names or (f"x{k + 1}" for k in range(x.shape[1])))
    symbols = make_symbols(names)

    def formula(words: str, data: Dataset) -> Formula:
        expression = parse_formula(words, names)
        loss = mean_square(Formula(expression, symbols, np.inf)(data.x) - data.y, data.weight)
        return Formula(expression, symbols, loss, constants_of(parametrise(expression), symbols, data))

    y = Formula(parse_formula(text, names), symbols, 0.0)(x)
    y = y + noise * np.random.default_rng(1).standard_normal(len(y))
    data = Dataset(x, y, np.ones(len(y)), names)
    best = formula(text, data)
    rows = [constant_formula(data), *(formula(words, data) for words in also), best]
    front = tuple(sorted({row.complexity: row for row in rows}.values(), key=lambda row: row.complexity))
    discovery = Discovery(front, front.index(best), poles_of(best, data), Outcome.SETTLED, 1.5, 1024, 0.0, len(y))
    model = CEQLRegressor(**parameters)
    model._take([discovery], Targets(("y",), (data,)), from_frame=True)
    return model


def draw(low: float, high: float, rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(low, high, (rows, columns))


def of_groups() -> CEQLRegressor:
    """Two inputs, a shared constant, and one that each of three groups has for itself; labels are no markup."""
    x, label = draw(1, 3, 60, 2), np.array(["A", "<b>B</b>", "C"])[np.arange(60) % 3]
    y = np.array([1.0, 2.0, 4.0])[np.arange(60) % 3] * x[:, 0] + 1.5 * x[:, 1]
    y = y + 0.05 * np.random.default_rng(1).standard_normal(60)
    template = Template("k*x1 + b*x2", {"k": Parameter(), "b": Parameter()})
    table = pd.DataFrame({"x1": x[:, 0], "x2": x[:, 1]})
    model = CEQLRegressor(template=template, per_group=["k"], random_state=0)
    return model.fit(table, pd.Series(y, name="y"), groups=pd.Series(label, name="run"))


ODD_NAMES = ("<script>alert(1)</script>", "a&b", "cost in $", "$q$", "x\"y'", "naïve_µ", "lambda", "a\x01b", "]]>")
MODELS = {
    "a pole": lambda: fitted("1.5 - 1.45/(x1 + 0.7)", draw(-2, 2, 60, 1), also=["0.3*x1 + 1.1"]),
    "a pole curve": lambda: fitted("x1/(x2 - x1*x2 - 0.5)", draw(-1, 1, 80, 2)),
    "noise": lambda: fitted("0.5*x1**2*x2/(x3 + 0.3) + 0.2*x4", draw(1, 3, 90, 4), noise=0.1),
    "log and root": lambda: fitted("1.5*log(x1**2 - 1.2) + sqrt(x1 + 2.5)", draw(1.2, 3, 60, 1)),
    "a constant": lambda: fitted("4.25", draw(0, 1, 20, 2)),
    "one input of three": lambda: fitted("2.5*exp(-x2)", draw(0, 1, 30, 3)),
    "odd names": lambda: fitted(
        " + ".join(f"{k + 1}.5*`{name}`" for k, name in enumerate(ODD_NAMES)), draw(0, 1, 40, 9), ODD_NAMES
    ),
    "twelve inputs": lambda: fitted(
        " + ".join(f"{k}.12345*x{k}*x{k + 1}" for k in range(1, 12)) + "/(3.25 + x1)", draw(1, 2, 50, 12)
    ),
    "tiny and huge numbers": lambda: fitted("2.5e-9*x1 + 1e-12", draw(1e6, 3e6, 30, 1)),
    "poles beyond number": lambda: fitted(
        " + ".join("tan(" * 30 + f"(x1 + {k})" + ")" * 30 for k in range(8)), draw(1, 2, 20, 1)
    ),
    "groups": of_groups,
    "many rows": lambda: fitted("x1*x2 + 0.5", draw(-1, 1, 20_000, 2), noise=0.01),
}


_made: dict[str, CEQLRegressor] = {}


@pytest.fixture(scope="session", params=MODELS)
def model(request) -> CEQLRegressor:
    return _model(request.param)


def _model(kind: str) -> CEQLRegressor:
    if kind not in _made:
        _made[kind] = MODELS[kind]()
    return _made[kind]


@pytest.fixture(scope="session")
def model_with() -> Callable[[str], CEQLRegressor]:
    """The model with such a formula, by its name above."""
    return _model


@pytest.fixture(scope="session")
def pole_model() -> CEQLRegressor:
    return _model("a pole")


@pytest.fixture(scope="session")
def make_fitted() -> Callable[..., CEQLRegressor]:
    return fitted


@pytest.fixture(scope="session")
def browser() -> Any:
    """The functions of tools/browser.py."""
    spec = importlib.util.spec_from_file_location("browser", Path(__file__).parents[3] / "tools" / "browser.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if module.CHROMIUM is None:
        pytest.skip("needs chromium")
    return module
