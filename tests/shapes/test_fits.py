"""Whole fits under a constraint on shape: one of every kind, and each is kept by the numbers, not by our own word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ceql
from ceql import CeqlError, CEQLRegressor, CeqlWarning, Constraints, Parameter, Template

LIMIT = 1.0  # what is asked is kept however little was searched
GRID = np.linspace(0.0, 10.0, 400)
BOTH = np.linspace(-2.0, 2.0, 401)


def slopes(f, grid=GRID):
    return np.diff(f(grid))


@dataclass(frozen=True)
class Case:
    law: Any
    asked: dict[str, Any]
    kept: Any
    span: tuple[float, float] = (0.3, 4.0)
    least: float = 0.4  # R2, on a machine that is so busy that hardly anything was searched


def shape(*texts: str) -> dict[str, Any]:
    return {"shapes": list(texts)}


CASES = {
    "positive": Case(lambda x: 2 - 0.35 * x, shape("positive for x in [0, 10]"), lambda f: f(GRID).min() > 0),
    "negative": Case(lambda x: 0.35 * x - 2, shape("negative for x in [0, 10]"), lambda f: f(GRID).max() < 0),
    "bounded": Case(lambda x: 1.3 * x, shape("f <= 6 for x in [0, 10]"), lambda f: f(GRID).max() <= 6 + 1e-6),
    "increasing": Case(
        lambda x: 1.5 * x - 0.15 * x**2,
        shape("increasing in x for x in [0, 10]"),
        lambda f: slopes(f).min() >= -1e-9,
    ),
    "decreasing": Case(
        lambda x: 4 / (x + 0.5) + 0.2 * x,
        shape("decreasing in x for x in [0, 10]"),
        lambda f: slopes(f).max() <= 1e-9,
    ),
    "convex": Case(
        lambda x: 3 / (1 + np.exp(1.5 * (x - 2))),
        shape("convex in x for x in [0, 10]"),
        lambda f: np.diff(slopes(f)).min() >= -1e-9,
        (1.0, 4.0),
    ),
    "concave": Case(
        lambda x: x**2 / (1 + x**2),
        shape("concave in x for x in [0, 10]"),
        lambda f: np.diff(slopes(f)).max() <= 1e-9,
    ),
    "limit": Case(
        lambda x: 2.2 * np.exp(-0.9 * x) + 0.25,
        shape("f -> 0 as x -> inf"),
        lambda f: abs(f(np.array([1e9]))[0]) < 1e-3,
    ),
    "finite": Case(
        lambda x: 2 / x + 1,
        shape("f -> finite as x -> 0"),
        lambda f: np.isfinite(f(np.array([0.0, 1e-12]))).all(),
    ),
    "even": Case(
        lambda x: 0.8 + 0.3 * x + 1.2 * x**2, shape("even in x"), lambda f: np.ptp(f(BOTH) - f(-BOTH)) < 1e-8, (-2, 2)
    ),
    "odd": Case(
        lambda x: 2 * x + 0.3 + 0.1 * x**3,
        shape("odd in x"),
        lambda f: np.abs(f(BOTH) + f(-BOTH)).max() < 1e-8,
        (-2, 2),
    ),
    "point": Case(lambda x: 0.3 + 1.7 * x, shape("f(x=0) = 0"), lambda f: abs(f(np.array([0.0]))[0]) < 1e-8),
    "pole": Case(lambda x: 1 / (x + 0.2) + 0.5, shape("pole at x = 0"), lambda f: abs(f(np.array([1e-12]))[0]) > 1e3),
    "no poles": Case(
        lambda x: 1 / (x - 0.2),
        shape("no poles for x in [0, 4]"),
        lambda f: np.abs(f(np.linspace(0, 4, 100_001))).max() < 1e6,
        (0.5, 4.0),
        0.5,
    ),
    "exponents": Case(lambda x: 2.3 * x**1.37, {"exponents": [0.5, 2]}, lambda f: True),
    "exponents within": Case(lambda x: 1.4 * x ** (-2.6), {"exponents_within": [-2, 2]}, lambda f: True, (0.7, 3.0)),
}


def table(case: Case) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.uniform(*case.span, 50)
    y = case.law(x)
    return pd.DataFrame({"x": x}), y + 0.01 * np.std(y) * rng.normal(size=50)


@pytest.mark.filterwarnings("ignore::ceql.CeqlWarning")  # where the rows speak against what is asked
@pytest.mark.parametrize("name", CASES)
def test_a_fit_keeps_to_what_is_asked(name):
    case = CASES[name]
    x, y = table(case)
    rule = Constraints(**case.asked)
    model = CEQLRegressor(constraints=rule, time_limit=LIMIT, verbose=False).fit(x, y)
    assert case.kept(lambda points: model.predict(pd.DataFrame({"x": points})))
    assert model.score(x, y) > case.least
    assert rule.powers.allow(model.sympy())
    assert model.shapes_["kept"].all()
    assert all(how == "proved" or "grid" in how for how in model.shapes_["how"])


@pytest.mark.filterwarnings("ignore::ceql.CeqlWarning")
def test_two_columns_may_be_exchanged_and_the_model_is_saved_with_it(tmp_path):
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.uniform(0.5, 3, (60, 2)), columns=["a", "b c"])
    y = x["a"] * x["b c"] + 0.05 * x["a"] + 0.01 * rng.normal(size=60)
    rule = Constraints(shapes=['symmetric in a and "b c"'])
    model = CEQLRegressor(constraints=rule, time_limit=LIMIT, verbose=False).fit(x, y)
    swapped = x.rename(columns={"a": "b c", "b c": "a"})
    np.testing.assert_allclose(model.predict(swapped), model.predict(x), rtol=1e-8)
    assert model.score(x, y) > 0.98
    model.save(tmp_path / "model.ceql")
    again = ceql.load(tmp_path / "model.ceql")
    assert again.constraints == rule
    pd.testing.assert_frame_equal(again.shapes_, model.shapes_)
    model.report(tmp_path / "page.html")
    assert "The shapes that were asked for" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_template_is_held_to_a_shape():
    x = np.linspace(0.2, 4, 40)
    y = 0.3 + 1.7 * x - 0.2 * x**2 + 0.02 * np.random.default_rng(0).normal(size=40)
    template = Template("a + b*x1 + c*x1**2", {name: Parameter() for name in "abc"})
    rule = Constraints(shapes=["f(x1=0) = 0", "increasing in x1"])
    model = CEQLRegressor(template=template, constraints=rule, verbose=False).fit(x[:, None], y)
    assert list(model.constants_.index) == ["a", "b", "c"]
    assert model.constants_["value"]["a"] == pytest.approx(0.0, abs=1e-8)
    assert np.diff(model.predict(np.linspace(0.2, 4, 300)[:, None])).min() >= -1e-9


def test_rows_that_speak_against_a_shape_get_a_sentence():
    x = np.linspace(0.2, 4, 40)[:, None]
    y = 3 - 2 * x[:, 0] + 0.01 * np.random.default_rng(0).normal(size=40)
    rule = Constraints(shapes=["increasing in x1"])
    with pytest.warns(CeqlWarning, match="The rows contradict 'increasing in x1'"):
        model = CEQLRegressor(constraints=rule, time_limit=LIMIT, verbose=False).fit(x, y)
    assert model.shapes_["kept"].all()


def test_a_shape_that_nothing_keeps_to_gets_a_sentence():
    x = np.linspace(0.2, 4, 40)[:, None]
    rule = Constraints(shapes=["f(x1=0) = 1", "f(x1=1) = -1", "f(x1=2) = 1", "f(x1=3) = -1", "f(x1=4) = 1"])
    with pytest.warns(CeqlWarning, match="No formula was found that satisfies"):
        model = CEQLRegressor(constraints=rule, operators=["mul"], time_limit=LIMIT, verbose=False).fit(x, x[:, 0])
    assert not model.shapes_["kept"].all()
    assert model.discovery_.outcome.name == "NOT_ALLOWED"


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(CeqlError, match="Did you mean 'x1'"):
        CEQLRegressor(constraints=Constraints(shapes=["increasing in x_1"])).fit(np.eye(4), np.arange(4.0))


@pytest.mark.filterwarnings("ignore::ceql.CeqlWarning")
def test_the_command_line_says_it_in_the_same_words(ceql, tmp_path):
    x, y = table(CASES["increasing"])
    file = tmp_path / "table.csv"
    x.assign(y=y).to_csv(file, index=False)
    project = tmp_path / "fit.toml"
    asked = ["--constraint", "increasing in x for x in [0, 10]", "--constraint", 'without = ["sin"]']
    settings = ["--target", "y", "--time-limit", LIMIT, "--no-checkpoint"]
    code, out, _ = ceql("fit", file, *settings, *asked, "--write-config", project)
    assert code == 0
    assert "shape: increasing in x for x in [0, 10]: proved" in out
    assert 'shapes = ["increasing in x for x in [0, 10]"]' in project.read_text(encoding="utf-8")
    code, out, _ = ceql("fit", "--config", project, "--json", "-", "--no-checkpoint")
    assert code == 0
    assert '"shape": "increasing in x for x in [0, 10]"' in out
    code, _, err = ceql("fit", file, *settings, "--constraint", "rising in x")
    assert code != 0
    assert "Did you mean 'increasing'" in err
