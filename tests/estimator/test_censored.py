"""Rows of which only a limit is known: the constants are those of the greatest likelihood."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

import ceql as package
from ceql import CEQLRegressor, InputError, Parameter, Template
from ceql.data.censoring import codes_of, in_words
from ceql.data.dataset import Dataset
from ceql.errors import CeqlError
from ceql.estimator.censored import Censored, at_greatest_likelihood
from ceql.expression import parse_formula
from ceql.formula import make_symbols, refitted

LINE = Template("a + b*x", {"a": Parameter(), "b": Parameter()})
# Tobin's own table of 1958, as R's survival package has it: purchases of durable goods, age and liquidity.
_OTHERS = [46.8, 58, 58.9, 40, 34.1, 39.9, 33.4, 48.1, 46.6, 53.1]
TOBIN = pd.DataFrame(
    {
        "durable": [0, 0.7, 0, 0, 0, 0, 0, 3.7, 0, 3, 10.4, 0, 0, 0, 1.5, 0, 0, 3.5, 6.1, 0],
        "age": [57.7, 50.9, 48.5, 41.7, 47.7, 59.8, 44.3, 45.1, 51.7, 50, *_OTHERS],
        "quant": [236, 283, 207, 220, 238, 216, 284, 221, 275, 269, 207, 249, 246, 277, 231, 219, 240, 266, 214, 251],
    }
)


def made(seed: int, above: bool = False) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """A line with noise, of which about a third is censored."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 4.0, 60)
    y = 3.0 - 0.8 * x + 0.4 * rng.normal(size=60)
    limit = np.quantile(y, 0.65 if above else 0.35)
    hidden = y > limit if above else y < limit
    return pd.DataFrame({"x": x}), np.where(hidden, limit, y), hidden


def by_scipy(x: np.ndarray, y: np.ndarray, hidden: np.ndarray, side: float) -> np.ndarray:
    """The greatest likelihood of a line, written out: constants and the logarithm of sigma."""

    def cost(p: np.ndarray) -> float:
        fitted, sigma = p[0] + p[1] * x, np.exp(p[2])
        known = norm.logpdf(y, fitted, sigma)
        return -np.sum(np.where(hidden, norm.logcdf(side * (y - fitted) / sigma), known))

    start = np.append(np.polyfit(x, y, 1)[::-1], np.log(np.std(y)))
    options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
    return minimize(cost, start, method="Nelder-Mead", options=options).x


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_the_constants_are_those_of_the_greatest_likelihood(seed, above):
    x, y, hidden = made(seed, above)
    codes = np.where(hidden, "above" if above else "below", "")
    model = CEQLRegressor(template=LINE, verbose=False).fit(x, y, censored=codes)
    wanted = by_scipy(x["x"].to_numpy(), y, hidden, -1.0 if above else 1.0)
    np.testing.assert_allclose(model.constants_["value"], wanted[:2], rtol=1e-4, atol=1e-5)


def test_a_published_fit_comes_out():
    """survreg(Surv(durable, durable > 0, type = "left") ~ age + quant, dist = "gaussian") in R."""
    template = Template("a + b*age + c*quant", {name: Parameter() for name in "abc"})
    model = CEQLRegressor(template=template, verbose=False).fit(
        TOBIN[["age", "quant"]], TOBIN["durable"], detection_limit=0
    )
    np.testing.assert_allclose(model.constants_["value"], [15.14487, -0.12906, -0.04554], rtol=2e-4)
    np.testing.assert_allclose(model.constants_["standard_error"], [16.0795, 0.2186, 0.0583], rtol=0.03)


def test_known_errors_are_used():
    x, y, hidden = made(3)
    model = CEQLRegressor(template=LINE, verbose=False).fit(x, y, censored=hidden, sigma=np.full(60, 0.4))
    assert abs(model.constants_["value"]["b"] + 0.8) < 4 * model.constants_["standard_error"]["b"]
    free = CEQLRegressor(template=LINE, verbose=False).fit(x, y, censored=hidden)
    assert model.constants_["standard_error"]["b"] == pytest.approx(free.constants_["standard_error"]["b"], rel=0.4)


def test_a_search_finds_the_law_that_limits_hide(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, 80)
    y = 5 * np.exp(-0.8 * x) + 0.1 * rng.normal(size=80)
    model = CEQLRegressor(time_limit=3, verbose=False).fit(x[:, None], y, detection_limit=0.3)
    far = np.array([[3.5], [5.0]])
    np.testing.assert_allclose(model.predict(far), 5 * np.exp(-0.8 * far[:, 0]), atol=0.15)
    model.save(tmp_path / "model.ceql")
    data = package.load(tmp_path / "model.ceql")._targets.datasets[0]
    assert data.censored is not None
    assert np.count_nonzero(data.censored) == np.count_nonzero(y <= 0.3)
    model.report(tmp_path / "page.html")
    assert "censored" in (tmp_path / "page.html").read_text(encoding="utf-8")
    content = json.loads((tmp_path / "model.ceql").read_text(encoding="utf-8"))
    content["censored"][0] = 7
    (tmp_path / "model.ceql").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(CeqlError, match="'censored' must hold"):
        package.load(tmp_path / "model.ceql")


def test_rows_of_the_likeliest_formula_stand_still():
    x, y, hidden = made(5)
    data = Dataset(x.to_numpy(), y, np.ones(60), ("x",))
    given_ = Censored(data, np.where(hidden, -1, 0))
    start = refitted(parse_formula("2.1 - 0.7*x", ["x"]), data, make_symbols(("x",)))
    assert start is not None
    found, rows = at_greatest_likelihood(start, given_)
    values, _ = given_.likeliest(found)
    np.testing.assert_allclose(values, found.form.values, rtol=0.02)  # which are rounded to their errors
    assert (rows.y[hidden] < y[hidden]).all()  # what stands for them lies below the limit
    np.testing.assert_array_equal(rows.y[~hidden], y[~hidden])
    assert (rows.weight[hidden] < rows.weight[~hidden].min()).all()


def test_without_a_censored_row_nothing_changes():
    x, y, _ = made(1)
    plain = CEQLRegressor(template=LINE, verbose=False).fit(x, y)
    same = CEQLRegressor(template=LINE, verbose=False).fit(x, y, censored=np.zeros(60))
    pd.testing.assert_frame_equal(plain.constants_, same.constants_)
    assert same._targets.datasets[0].censored is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"censored": np.zeros(3)}, "3 entries but X has 60 rows"),
        ({"censored": ["low"] * 60}, "'low' in row 0"),
        ({"censored": np.full(60, 2)}, "in row 0"),
        ({"censored": np.ones(60, bool)}, "Only 0 of 60 rows have a known value"),
        ({"censored": "flag"}, "Known: x"),
        ({"detection_limit": "low"}, "must be a number"),
        ({"detection_limit": np.inf}, "must be finite"),
        ({"detection_limit": 1e9}, "Only 0 of 60 rows have a known value"),
        ({"detection_limit": 1.0, "censored": np.zeros(60)}, "not both"),
        ({"detection_limit": 1.0, "sigma": np.ones(60), "sigma_x": {"x": 0.1}}, "not with sigma_x"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, message):
    x, y, _ = made(0)
    with pytest.raises(CeqlError, match=message):
        CEQLRegressor(template=LINE).fit(x, y, **arguments)


def test_a_name_needs_columns_and_two_targets_are_refused():
    x, y, _ = made(0)
    with pytest.raises(InputError, match="X has no names"):
        CEQLRegressor().fit(x.to_numpy(), y, censored="flag")
    with pytest.raises(InputError, match="one target at a time"):
        CEQLRegressor().fit(x, np.column_stack([y, y]), detection_limit=1.0)


def test_marks_are_read_as_people_write_them():
    marks = ["<", ">", "", None, np.nan, "below", "ABOVE ", True, False, -1, 0, 1, "-1", "known"]
    assert codes_of(marks).tolist() == [-1, 1, 0, 0, 0, -1, 1, -1, 0, -1, 0, 1, -1, 0]
    assert in_words(np.array([-1, 0, 1, 1])) == "3 of 4 rows are censored: 1 below a limit and 2 above a limit."


def test_the_command_line_says_it_too(ceql, tmp_path):
    x, y, hidden = made(2)
    file = tmp_path / "table.csv"
    x.assign(y=y, flag=np.where(hidden, "<", "")).to_csv(file, index=False)
    given_ = ["fit", file, "--target", "y", "--template", "a + b*x", "--no-checkpoint"]
    count = int(np.count_nonzero(hidden))
    project = tmp_path / "fit.toml"
    code, out, _ = ceql(*given_, "--censored", "flag", "--write-config", project)
    assert code == 0
    assert f"{count} of 60 rows are censored: {count} below a limit." in out
    assert 'censored = "flag"' in project.read_text(encoding="utf-8")
    code, again, _ = ceql("fit", "--config", project, "--no-checkpoint", "--json", "-")
    assert code == 0
    assert (
        json.loads(again)[0]["censored"] == count if again.startswith("[") else json.loads(again)["censored"] == count
    )
    code, by_limit, _ = ceql(*given_, "--exclude", "flag", "--detection-limit", y.min())
    assert code == 0
    assert by_limit.splitlines()[0] == out.splitlines()[0]
