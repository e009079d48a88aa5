"""The conventions of scikit-learn: its own checks, pipelines, searches of parameters, weights, pickles."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Iterator
from functools import partial
from typing import cast

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from ceql import CEQLRegressor, CeqlWarning, Dataset, InputError, load
from ceql.estimator.parameters import seed_of
from ceql.expression import compile_numpy, parse_formula, refit
from ceql.formula import make_symbols, mean_square
from ceql.search.policy import SearchPolicy

FEW_STARTS = SearchPolicy(round_size=64, chunk_size=32)  # for tests that need any formula, not the right one
laws = settings(derandomize=True, deadline=None, max_examples=25)
EXCEPTIONS = {
    "check_sample_weight_equivalence_on_dense_data": (
        "which structure is chosen depends on the number of rows; for constants and loss the law holds, see below"
    ),
    "check_array_api_input": "runs only where SCIPY_ARRAY_API is set",
}
checks = estimator_checks_generator(
    CEQLRegressor(operators=["mul"], time_limit=0.01, max_complexity=6, policy=FEW_STARTS)
)
CHECKS = [
    pytest.param(model, check, id=f"{check.func.__name__}-{k}")
    for k, (model, check) in enumerate(cast("Iterator[tuple[CEQLRegressor, partial[None]]]", checks))
    if check.func.__name__ not in EXCEPTIONS
]


@pytest.mark.parametrize(("model", "check"), CHECKS)
@pytest.mark.filterwarnings("ignore::ceql.CeqlWarning")
def test_scikit_learns_own_checks(model, check):
    check(model)


def pole(rows=60, seed=0):
    frame = pd.DataFrame({"a": np.random.default_rng(seed).uniform(1, 3, rows), "b": np.linspace(2, 5, rows)})
    return frame, 1.5 / (frame["a"] + 0.5) + frame["b"]


def quick(**changes) -> CEQLRegressor:
    return CEQLRegressor(**{"operators": ["mul", "div"], "time_limit": 5, **changes})


def test_a_scaler_with_named_columns_keeps_the_names():
    X, y = pole()
    pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), quick()).fit(X, y)
    model = pipe[-1]
    assert isinstance(model, CEQLRegressor)
    assert list(model.feature_names_in_) == ["a", "b"]
    assert {str(s) for s in model.sympy().free_symbols} == {"a", "b"}
    np.testing.assert_allclose(pipe.predict(X), y, rtol=1e-9)
    assert pipe.score(X, y) == pytest.approx(1.0)


def test_a_grid_over_the_size_in_a_pipeline():
    X, y = pole()
    grid = {"ceqlregressor__max_complexity": np.array([1, 3, 15])}
    pipe = make_pipeline(StandardScaler(), quick(time_limit=0.5, policy=FEW_STARTS))
    search = GridSearchCV(pipe, grid, cv=2, scoring="neg_mean_squared_error")
    search.fit(X, y)
    assert search.best_params_ == {"ceqlregressor__max_complexity": 15}
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] < scores[2]
    assert scores[2] == pytest.approx(0.0, abs=1e-15)


def test_a_model_from_a_grid_of_numpy_numbers_can_be_saved(tmp_path):
    X, y = pole()
    quick(max_complexity=np.int64(15), random_state=np.int32(1)).fit(X, y).save(tmp_path / "model.ceql")
    read = load(tmp_path / "model.ceql").get_params()
    assert (read["max_complexity"], read["random_state"]) == (15, 1)


def test_cross_validation_of_an_exact_formula():
    X, y = pole()
    assert cross_val_score(quick(), X, y, cv=3) == pytest.approx([1.0] * 3)


parameters = st.fixed_dictionaries(
    {
        "recipe": st.sampled_from(["search", "real", "paper"]),
        "operators": st.one_of(st.none(), st.lists(st.sampled_from(["mul", "div", "log"]))),
        "time_limit": st.floats(0.1, 1e6),
        "max_complexity": st.one_of(st.none(), st.integers(1, 99)),
        "random_state": st.one_of(st.none(), st.integers(0, 2**31)),
        "warm_start": st.booleans(),
        "verbose": st.sampled_from([None, True, False]),
    }
)


@laws
@given(parameters)
def test_parameters_go_in_and_come_out_as_they_are(chosen):
    model = CEQLRegressor(**chosen)
    assert {name: model.get_params()[name] for name in chosen} == chosen
    assert all(model.get_params()[name] is value for name, value in chosen.items())
    assert CEQLRegressor().set_params(**chosen).get_params() == model.get_params()
    assert cast(CEQLRegressor, clone(model)).get_params() == model.get_params()
    assert clone(model) is not model


def test_every_parameter_is_documented_and_nothing_else_is_taken():
    wanted = inspect.signature(CEQLRegressor.__init__).parameters
    text = inspect.getdoc(CEQLRegressor) or ""
    assert all(f"\n{name} : " in text for name in wanted if name != "self")
    assert not any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in wanted.values())
    with pytest.raises(TypeError, match="complex_weights"):
        CEQLRegressor(complex_weights=False)  # pyright: ignore[reportCallIssue]


def test_real_weights_are_a_recipe():
    X, y = pole()
    model = quick(recipe="real").fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-9)


# ---- names of columns ---------------------------------------------------------------------------------------------


def test_columns_are_found_by_name_in_any_order_and_among_others():
    X, y = pole()
    model = quick().fit(X, y)
    np.testing.assert_allclose(model.predict(X.assign(c=1.0)[["c", "b", "a"]]), y, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X.to_numpy()), y, rtol=1e-9)


def test_missing_columns_are_complained_about_as_in_scikit_learn():
    X, y = pole()
    model = quick().fit(X, y)
    with pytest.raises(ValueError) as ours:
        model.predict(X[["a"]])
    with pytest.raises(ValueError) as theirs:
        StandardScaler().fit(X).transform(X[["a"]])
    assert str(ours.value) == str(theirs.value)
    with pytest.raises(InputError, match="X has 3 features, but CEQLRegressor is expecting 2 features as input"):
        model.predict(np.ones((2, 3)))


def test_columns_that_are_numbers_are_found_again():
    X, y = pole()
    X.columns = [7, 3]
    model = quick().fit(X, y)
    np.testing.assert_allclose(model.predict(X[[3, 7]]), y, rtol=1e-9)


def test_a_fit_to_an_array_forgets_the_names():
    X, y = pole()
    model = quick().fit(X, y)
    assert model.feature_names_in_.dtype == object
    assert not hasattr(model.fit(X.to_numpy(), y), "feature_names_in_")


# ---- weights ------------------------------------------------------------------------------------------------------

SYMBOLS = make_symbols(("x1",))
STRUCTURES = ["0.7*x1 + 0.2", "1.3/(x1 + 2.1) + 0.4", "0.9*x1**2 - 0.3*x1 + 1.1"]


def refitted(raw, data: Dataset) -> tuple[float, ...]:
    """The constants and the loss."""
    fit = refit(raw, SYMBOLS, data.x, data.y, data.weight)
    residual = compile_numpy(fit.expr, SYMBOLS)(data.x) - data.y
    return (*fit.values, mean_square(residual, data.weight))


@laws
@given(
    st.sampled_from(STRUCTURES),
    st.lists(st.integers(0, 3), min_size=24, max_size=24).filter(lambda w: np.count_nonzero(w) > 6),
    st.integers(0, 100),
)
def test_a_weight_is_as_many_rows(structure, weight, seed):
    """For a given structure: the constants and the loss are those of the table with every row so many times."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (24, 1))
    y = 1.3 / (x[:, 0] + 2.0) + 0.1 * rng.standard_normal(24)
    raw = parse_formula(structure, ("x1",))
    weighted = refitted(raw, Dataset.of(x, y, weight))
    repeated = refitted(raw, Dataset.of(np.repeat(x, weight, axis=0), np.repeat(y, weight)))
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6)


def test_a_row_without_weight_is_no_row():
    rng = np.random.default_rng(1)
    x, y, weight = rng.uniform(1, 2, (40, 1)), rng.uniform(1, 2, 40), rng.integers(0, 3, 40)
    kept = weight > 0
    some, fewer = Dataset.of(x, y, weight), Dataset.of(x[kept], y[kept], weight[kept])
    assert all(np.array_equal(getattr(some, part), getattr(fewer, part)) for part in ("x", "y", "weight"))


def test_a_formula_need_not_be_defined_on_a_row_without_weight():
    x = np.append(np.linspace(1, 3, 40), 0.0)[:, None]
    y = np.append(1 / x[:-1, 0], 7.0)
    model = quick().fit(x, y, sample_weight=x[:, 0] > 0)
    np.testing.assert_allclose(model.predict(x[:-1]), y[:-1], rtol=1e-9)


# ---- random states and pickles ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_random_states_of_numpy(make):
    assert seed_of(make(3)) == seed_of(make(3)) != seed_of(make(4))
    np.testing.assert_allclose(quick(random_state=make(3)).fit(*pole()).predict(pole()[0]), pole()[1], rtol=1e-9)


@pytest.mark.parametrize("copied", [lambda m: pickle.loads(pickle.dumps(m)), clone, "joblib"])
def test_copies_of_a_fitted_model(copied, tmp_path):
    X, y = pole()
    model = quick().fit(X, y)
    if copied is clone:
        assert not hasattr(clone(model), "discoveries_")
        return
    if copied == "joblib":
        joblib.dump(model, tmp_path / "model.joblib")
        copy = joblib.load(tmp_path / "model.joblib")
    else:
        copy = copied(model)
    assert copy.get_params() == model.get_params()
    assert copy.sympy() == model.sympy()
    assert np.array_equal(copy.predict(X), model.predict(X))
    pd.testing.assert_frame_equal(copy.equations_, model.equations_)
    np.testing.assert_allclose(copy.fit(X, 2 * y).predict(X), 2 * y, rtol=1e-9)


# ---- warm start ---------------------------------------------------------------------------------------------------


def wave(rows=60, seed=0, constants=(1.0, 1.7, 0.3)) -> tuple[pd.DataFrame, pd.Series]:
    """A formula that nothing but a search finds."""
    X, _ = pole(rows, seed)
    height, pace, slope = constants
    return X, height * np.sin(pace * X["a"]) / X["b"] + slope * X["a"]


def wave_finder(warm_start: bool) -> CEQLRegressor:
    model = quick(operators=["mul", "div", "sin"], time_limit=20, warm_start=warm_start).fit(*wave())
    assert model.discovery_.starts > 0
    return model


def test_a_warm_start_knows_the_exact_formula_at_once():
    X, y = wave(100, seed=1)
    model = wave_finder(warm_start=True).fit(X, y)
    assert model.discovery_.starts == 0
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-9)


def test_a_warm_start_refits_the_constants_also_the_whole_ones():
    X, y = wave(constants=(1.125, 1.75, 0.375))
    model = wave_finder(warm_start=True).fit(X, y)
    assert model.discovery_.starts == 0
    assert model.score(X, y) == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore::ceql.CeqlWarning")
def test_a_warm_start_is_never_worse_than_the_formula_it_began_with():
    rng = np.random.default_rng(0)
    X, y = pole()
    y = y + 0.01 * rng.standard_normal(len(y))
    model = quick(warm_start=True, time_limit=2, policy=FEW_STARTS).fit(X, y)
    before = model.equations_["loss"].min()
    model.set_params(time_limit=0.05, operators=["mul"]).fit(X, y)
    assert model.discovery_.starts > 0
    assert model.equations_["loss"].min() <= before * 1.01


def test_without_warm_start_a_fit_begins_anew():
    model = wave_finder(warm_start=False)
    first = model.discovery_.starts
    assert model.fit(*wave()).discovery_.starts == first


def test_a_warm_start_needs_the_same_columns():
    X, y = pole()
    model = quick(warm_start=True).fit(X, y)
    with pytest.raises(
        InputError, match=r"1 target\(s\) in a, b, but the data now have 1 target\(s\) and the columns a"
    ):
        model.fit(X[["a"]], y)
    with pytest.raises(InputError, match="Set warm_start=False"):
        model.fit(X, np.column_stack([y, y]))


def test_formulas_that_are_undefined_on_the_new_rows_are_left_out():
    x = np.linspace(1, 3, 40)[:, None]
    model = CEQLRegressor(operators=["log"], time_limit=5, warm_start=True).fit(x, np.log(x[:, 0]))
    with pytest.warns(CeqlWarning, match=r"left out of the search: log\(x1\)"):
        model.set_params(operators=["mul"], time_limit=1).fit(x - 2, x[:, 0])
    np.testing.assert_allclose(model.predict(x - 2), x[:, 0], rtol=1e-9)
