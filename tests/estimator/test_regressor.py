"""The regressor end to end: real formulas recovered, conventions kept, bad input answered."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from typing import cast

import numpy as np
import pandas as pd
import pytest
import sympy
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ceql import CeqlError, CEQLRegressor, CeqlWarning, InputError
from ceql.bench.problems import load_problem, sample
from ceql.discovery import Outcome
from ceql.expression import compile_numpy, is_exact, parse_formula
from ceql.expression.algebra.decimals import significant_digits
from ceql.formula import make_symbols, values_of

from .live_display import until_displayed


def test_every_paper_problem_is_recovered_exactly_in_its_smallest_form():
    sizes = (5, 8, 10, 19, 13, 12, 9, 16, 18, 18)
    for number, size in enumerate(sizes, start=1):
        problem = load_problem(f"E-{number}")
        data = sample(problem, 0)
        model = CEQLRegressor(time_limit=60).fit(data.X_train, data.y_train)
        symbols = make_symbols(data.names)
        truth = parse_formula(problem.expression, data.names)
        assert is_exact(model.sympy(), truth, symbols, data.X_interp[:500]), problem.name
        assert model.discovery_.outcome is Outcome.EXACT
        assert model.discovery_.best.complexity <= size, problem.name
        assert np.mean((model.predict(data.X_extrap) - data.y_extrap) ** 2) < 1e-20


@pytest.fixture(scope="module")
def pole() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (64, 1))
    return x, 1.5 / (x[:, 0] - 0.25) + 0.5


@pytest.fixture(scope="module")
def fitted(pole) -> CEQLRegressor:
    return CEQLRegressor(operators=["mul", "div"]).fit(*pole)


def test_fitted_attributes(fitted, pole):
    x, y = pole
    table = fitted.equations_
    assert {"complexity", "loss", "equation"} <= set(table.columns)
    assert table["complexity"].is_monotonic_increasing
    assert table["loss"].is_monotonic_decreasing
    assert table["chosen"].sum() == 1
    assert fitted.n_features_in_ == 1
    assert fitted.score(x, y) == pytest.approx(1.0)
    assert [round(p.location, 9) for p in fitted.poles_] == [0.25]
    assert sympy.latex(fitted.sympy()) == fitted.latex()


def test_every_row_predicts_and_prints(fitted, pole):
    x, y = pole
    for row, loss in enumerate(fitted.equations_["loss"]):
        assert np.mean((fitted.predict(x, row=row) - y) ** 2) == pytest.approx(loss, rel=1e-6, abs=1e-25)
        assert fitted.latex(row) == sympy.latex(fitted.sympy(row))
    with pytest.raises(InputError, match="rows are 0 to"):
        fitted.predict(x, row=99)


def test_readable_form_has_the_same_value(fitted):
    symbol = make_symbols(("x1",))[0]
    difference = sympy.lambdify(symbol, fitted.sympy() - fitted.sympy(form="readable"))
    assert abs(difference(1.3)) < 1e-9
    with pytest.raises(InputError, match="readable"):
        fitted.sympy(form="pretty")


def test_column_names_become_symbols():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"lambda": rng.uniform(1, 2, 50), "x y": rng.uniform(1, 2, 50), "I": rng.uniform(1, 2, 50)})
    y = frame["lambda"] / frame["x y"] + 2 * frame["I"]
    model = CEQLRegressor(operators=["div", "mul"]).fit(frame, y)
    assert {str(s) for s in model.sympy().free_symbols} == {"lambda", "x y", "I"}
    shuffled = frame[["I", "x y", "lambda"]]
    np.testing.assert_allclose(model.predict(shuffled), y, rtol=1e-8)
    with pytest.raises(InputError, match="yet now missing:\n- I"):
        model.predict(frame.drop(columns="I"))


def test_same_seed_same_formula_for_any_number_of_threads():
    x = np.random.default_rng(0).uniform(1, 3, (60, 2))
    y = np.sin(1.7 * x[:, 0]) / x[:, 1] + 0.3 * x[:, 0]
    models = [
        CEQLRegressor(operators=["mul", "div", "sin"], random_state=3, threads=threads).fit(x, y)
        for threads in (1, 2, 3)
    ]
    assert models[0].discovery_.starts > 0  # what needs no search is the same anyway
    assert len({(model.discovery_.starts, *model.equations_["equation"]) for model in models}) == 1


def test_scale_of_the_data_does_not_matter():
    rng = np.random.default_rng(2)
    x = rng.uniform(1, 3, (60, 2))
    y = 1.5 * x[:, 0] / (x[:, 1] + 0.5)
    for x_size, y_size in ((1e-30, 1e30), (1e20, 1e-25)):
        model = CEQLRegressor(operators=["mul", "div"]).fit(x * x_size, y * y_size)
        np.testing.assert_allclose(model.predict(x * x_size), y * y_size, rtol=1e-9)
        assert model.discovery_.outcome is Outcome.EXACT


def test_the_formula_is_defined_on_every_training_point():
    data = sample(load_problem("E-6"), 1)
    model = CEQLRegressor(time_limit=30, random_state=1).fit(data.X_train, data.y_train)
    for row in range(len(model.equations_)):
        assert np.isfinite(model.predict(data.X_train, row=row)).all()


def test_noise_does_not_buy_nodes():
    rng = np.random.default_rng(3)
    x = rng.uniform(-2, 2, (200, 1))
    y = 1.2 * x[:, 0] + 0.7 + 0.05 * rng.normal(size=200)
    model = CEQLRegressor(time_limit=4).fit(x, y)
    assert model.discovery_.best.complexity <= 8
    assert np.mean((model.predict(x) - (1.2 * x[:, 0] + 0.7)) ** 2) < 0.05**2 / 4


@pytest.fixture(scope="module")
def blurred() -> tuple[CEQLRegressor, np.ndarray, np.ndarray, np.ndarray]:
    """1.3/(x - 0.52) + 0.7 with noise of one percent."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-2, 2, (150, 1))
    truth = 1.3 / (x[:, 0] - 0.52) + 0.7
    y = truth + 0.01 * truth.std() * rng.standard_normal(150)
    return CEQLRegressor(operators=["mul", "div"], time_limit=60, random_state=1).fit(x, y), x, y, truth


def test_a_noisy_search_ends_by_itself_with_the_right_structure(blurred):
    model, x, _, truth = blurred
    assert model.discovery_.outcome is Outcome.SETTLED
    assert model.discovery_.best.complexity == 9
    assert np.sqrt(np.mean((model.predict(x) - truth) ** 2)) < 0.4 * 0.01 * truth.std()


def test_constants_come_with_standard_errors_that_cover_the_truth(blurred):
    model, *_ = blurred
    table = model.constants_
    assert list(table.columns) == ["value", "standard_error"]
    assert len(table) == 3
    pole = table.iloc[(table["value"].abs() - 0.52).abs().argmin()]
    assert abs(abs(pole["value"]) - 0.52) < 4 * pole["standard_error"] < 0.01


def test_no_more_digits_are_shown_than_the_noise_leaves(blurred):
    model, *_ = blurred
    for text in model.equations_["equation"]:
        assert max(map(len, re.findall(r"[0-9.]+", text)), default=0) <= 12
    assert len(model.discovery_.best.constants) == 3
    for value, error in model.discovery_.best.constants:
        assert significant_digits(value) <= np.ceil(np.log10(abs(value) / error)) + 3


def test_what_is_shown_is_what_predicts(blurred):
    model, x, *_ = blurred
    text = model.equations_.loc[model.equations_["chosen"], "equation"].item()
    retyped = compile_numpy(parse_formula(text, ("x1",)), make_symbols(("x1",)))(x)
    np.testing.assert_allclose(retyped, model.predict(x), rtol=1e-12)


def test_the_front_is_drawn_after_the_time_limit_ends_the_search():
    rng = np.random.default_rng(6)
    x = rng.uniform(-2, 2, (150, 3))
    y = np.sin(3 * x[:, 0] * x[:, 1]) / (x[:, 2] + 2.2) + 0.1 * rng.standard_normal(150)
    model = CEQLRegressor(time_limit=4).fit(x, y)
    assert model.discovery_.outcome in (Outcome.OUT_OF_TIME, Outcome.SETTLED)
    assert len(model.equations_) > 2


def test_many_rows_are_thinned_for_the_search_and_all_used_at_the_end():
    rng = np.random.default_rng(4)
    x = rng.uniform(-2, 2, (60_000, 2))
    y = 1.3 / (x[:, 0] - 0.7 * x[:, 1] + 0.11) + 1e-3 * rng.normal(size=len(x))
    keep = np.abs(y) < 100
    model = CEQLRegressor(operators=["mul", "div"], time_limit=15).fit(x[keep], y[keep])
    truth = 1.3 / (x[keep, 0] - 0.7 * x[keep, 1] + 0.11)
    # The constants are known better than 2,000 rows could tell.
    assert np.median(np.abs(model.predict(x[keep]) - truth)) < 1e-3 / np.sqrt(2_000)


def test_constant_target_gives_the_constant():
    with pytest.warns(CeqlWarning, match="constant"):
        model = CEQLRegressor().fit(np.arange(6.0)[:, None], np.full(6, 3.0))
    assert model.sympy() == 3
    assert model.discovery_.outcome is Outcome.CONSTANT


def test_more_constants_than_rows_is_pointed_out():
    x = np.array([[0.1], [0.9]])
    with pytest.warns(CeqlWarning, match="rows"):
        CEQLRegressor(time_limit=2).fit(x, [0.31, 1.87])


def test_weights_take_a_bad_row_out():
    x = np.linspace(0, 1, 30)[:, None]
    y = 2 * x[:, 0] + 1
    y[7] = 50
    weight = np.ones(30)
    weight[7] = 0
    model = CEQLRegressor(operators=["mul"], time_limit=10).fit(x, y, sample_weight=weight)
    assert is_exact(model.sympy(), parse_formula("2*x1 + 1", ("x1",)), make_symbols(("x1",)), x)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"recipe": "papr"}, "Did you mean 'paper'"),
        ({"operators": ["lgo"]}, "Did you mean 'log'"),
        ({"operators": []}, "operators is empty"),
        ({"operators": "papre"}, "Did you mean 'paper'"),
        ({"time_limit": 0}, "time_limit"),
        ({"max_complexity": 0}, "max_complexity"),
        ({"model_selection": "bset"}, "Did you mean 'best'"),
        ({"random_state": -1}, "random_state"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"threads": 0}, "threads"),
    ],
)
def test_bad_settings_are_named(settings, words, pole):
    with pytest.raises(CeqlError, match=words):
        CEQLRegressor(**settings).fit(*pole)


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([[np.nan], [1.0]], [1, 2], "NaN"),
        ([[1.0], [2.0]], [1, np.inf], "infinity"),
        ([["a"], ["b"]], [1, 2], "not numeric"),
        (np.zeros((0, 1)), [], "empty"),
        ([[1.0]], [1.0], "one row"),
        ([[1.0], [2.0]], [1.0], "equal length"),
    ],
)
def test_bad_data_is_a_value_error_that_names_the_problem(x, y, words):
    with pytest.raises(ValueError, match=words):
        CEQLRegressor().fit(x, y)


def test_parameters_are_never_changed():
    model = CEQLRegressor(operators=["mul"], time_limit=3)
    before = model.get_params()
    model.fit([[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0])
    assert model.get_params() == before
    assert cast(CEQLRegressor, clone(model)).get_params() == before


def test_predict_before_fit_says_so():
    with pytest.raises(NotFittedError, match="not fitted"):
        CEQLRegressor().predict([[1.0]])


def test_paper_recipe_runs_end_to_end():
    data = sample(load_problem("E-1"), 0)
    model = CEQLRegressor(recipe="paper", random_state=0).fit(data.X_train, data.y_train)
    assert model.discovery_.outcome is Outcome.SCHEDULE_DONE
    assert np.mean((model.predict(data.X_train) - data.y_train) ** 2) < 1e-6
    assert model.discovery_.imaginary_residue < 1e-3


_INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may inherit it ignored
import numpy as np
from ceql import CEQLRegressor
from ceql.search.policy import SearchPolicy
rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, (128, 3))
y = rng.normal(size=128)
long_rounds = SearchPolicy(round_size=2**12)  # so that noise keeps it busy until it is interrupted
model = CEQLRegressor(time_limit=300, policy=long_rounds, verbose=True).fit(x, y)
print(model.discovery_.outcome.name, len(model.equations_), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_keeps_what_was_found():
    command = [sys.executable, "-c", _INTERRUPTED]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until_displayed(process, " starts, loss ")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    name, rows = output.split()
    assert name == "INTERRUPTED"
    assert int(rows) > 1  # more than a constant


@pytest.mark.parametrize("factor", [sympy.I, sympy.zoo, sympy.nan, sympy.oo])
def test_an_unfinished_expression_that_is_no_real_formula_has_no_values(factor):
    x = make_symbols(("x",))
    assert values_of(factor * x[0], x, np.ones((3, 1))) is None
    assert values_of(1 / (x[0] - 1), x, np.ones((3, 1))) is None
    values = values_of(2 * x[0], x, np.ones((3, 1)))
    assert values is not None
    assert values.tolist() == [2.0, 2.0, 2.0]
