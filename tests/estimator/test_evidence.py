"""What the rows say of the formulas: cross-validation, weights, formulas beside the front, intervals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit

from ceql import CEQLRegressor, load
from ceql.cli.summary import as_json, in_words
from ceql.data.targets import Targets
from ceql.errors import InputError
from ceql.estimator.folds import folds_of
from ceql.expression import parse_formula
from ceql.formula import Formula, mean_square
from ceql.storage.model_file import ModelFileError

RNG = np.random.default_rng(0)
X = RNG.uniform(0.0, 4.0, (60, 1))
Y = 1.5 + 0.7 * X[:, 0] + 0.1 * RNG.standard_normal(60)
QUICK = {"operators": ["mul"], "time_limit": 2, "verbose": False}


@pytest.fixture(scope="module")
def model():
    return CEQLRegressor(**QUICK).fit(X, Y)


def beside(model, texts, weights):
    """The same model with these formulas beside the front, whose weights are the last of `weights`."""
    data, found = model._targets.datasets[0], model.discovery_
    made = []
    for text in texts:
        expression = parse_formula(text, data.names)
        plain = Formula(expression, found.best.symbols, 0.0)
        made.append(replace(plain, loss=mean_square(plain(data.x) - data.y, data.weight)))
    spare = len(found.front) - (len(weights) - len(texts))
    all_weights = (*(0.0,) * spare, *weights)
    scores = (np.nan,) * len(all_weights)
    other: Any = clone(model)
    changed = replace(found, shortlist=tuple(made), weights=all_weights, r2=scores, r2_cv=scores)
    other._take([changed], model._targets, from_frame=False)
    return other


# ---- folds --------------------------------------------------------------------------------------------------------


def asked_for(*given) -> Any:
    return folds_of(*given)


def test_nothing_asked_for_means_folds_of_our_own():
    assert asked_for(None, None, 60) is None


def test_a_number_of_folds_and_a_splitter():
    assert len(asked_for(3, None, 60)) == 3
    assert np.array_equal(asked_for(KFold(4), None, 60)[0][1], np.arange(15))
    assert asked_for(TimeSeriesSplit(3), None, 60)[-1][1][-1] == 59
    pairs = [(np.arange(30), np.arange(30, 60)), (np.arange(60) >= 30, np.arange(60) < 30)]
    assert asked_for(iter(pairs), None, 60)[1][0].tolist() == list(range(30, 60))


def test_groups_are_held_out_whole():
    groups = np.repeat(["a", "b", "c"], 20)
    for cv in (None, 2, GroupKFold(3)):
        for train, test in asked_for(cv, groups, 60):
            assert not set(groups[train]) & set(groups[test])
    assert len(asked_for(None, groups, 60)) == 3


def test_rows_without_weight_are_no_rows():
    weight = np.where(np.arange(10) % 2, 1.0, 0.0)
    pairs = [(np.arange(5), np.arange(5, 10)), (np.array([1, 3]), np.array([0]))]
    (train, test), *others = asked_for(pairs, None, 10, weight)
    assert (train.tolist(), test.tolist(), others) == ([0, 1], [2, 3, 4], [])


@pytest.mark.parametrize(
    ("cv", "groups", "words"),
    [
        (1, None, "at least 2, a splitter"),
        (True, None, "not True"),
        ("5", None, "not '5'"),
        (2.5, None, "cannot split 60 rows"),
        (61, None, "only 60 rows"),
        (5, np.repeat([0, 1], 30), "only 2 groups"),
        (KFold(61), None, "cannot split 60 rows"),
        (GroupKFold(2), None, "cannot split 60 rows: The 'groups' parameter should not be None"),
        ([], None, "has no folds"),
        ([(np.arange(3), np.array([60]))], None, "from 0 to 59"),
        ([(np.arange(3), np.array([-1]))], None, "from 0 to 59"),
        ([(np.arange(3), np.array([], int))], None, "a fold without rows"),
        ([3], None, "cannot split 60 rows"),
        ([(1, 2)], None, "not a pair of rows"),
        (None, [1, 2], "but X has 60 rows"),
        (None, np.zeros(60), "at least two groups"),
    ],
)
def test_wrong_folds_are_refused_before_the_search(cv, groups, words):
    endless = CEQLRegressor(cv=cv, time_limit=1e6, verbose=False)
    with pytest.raises(InputError, match=words):
        endless.fit(X, Y, groups=groups)


@pytest.mark.parametrize("more", [-1, 1.5, True, "3"])
def test_a_wrong_number_of_formulas_beside_the_front_is_refused_before_the_search(more):
    with pytest.raises(InputError, match="more must be a whole number"):
        CEQLRegressor(more=more, time_limit=1e6).fit(X, Y)


# ---- scores -------------------------------------------------------------------------------------------------------


def test_every_fit_has_an_honest_score(model):
    chosen = model.equations_[model.equations_["chosen"]].iloc[0]
    assert 0.9 < chosen["r2_cv"] < chosen["r2"] < 1.0
    assert chosen["r2"] == pytest.approx(model.score(X, Y), rel=1e-9)
    assert model.equations_["weight"].sum() == pytest.approx(1.0)
    assert model.equations_["front"][0]
    assert np.isnan(model.equations_["r2_cv"].iloc[0])  # a constant has no chance here


def test_the_choice_by_rows_held_out():
    model = CEQLRegressor(model_selection="cv", cv=TimeSeriesSplit(4), **QUICK).fit(X, Y)
    assert str(model.discovery_.best).count("x1") == 1
    assert np.isfinite(model.equations_["r2_cv"]).all()


def test_groups_reach_the_score():
    """A law in groups that differ by an offset: rows of one group know each other's, other groups do not."""
    groups = np.repeat(np.arange(3), 20)
    found = [CEQLRegressor(cv=3, **QUICK).fit(X, Y, groups=g).discovery_ for g in (None, groups)]
    assert str(found[0].best) == str(found[1].best)
    assert found[0].r2_cv != found[1].r2_cv


def test_a_robust_loss_is_validated_by_its_own_fits():
    wild = Y.copy()
    wild[::15] += 30.0
    found = CEQLRegressor(loss="huber", **QUICK).fit(X, wild).discovery_
    best = found.chosen
    assert found.r2_cv[best] == pytest.approx(found.r2[best], abs=0.02)  # few constants, and no outlier pulls at them


def test_several_targets_have_scores_each():
    model = CEQLRegressor(**QUICK).fit(X, np.column_stack([Y, 3.0 - Y]))
    assert all(found.r2_cv[found.chosen] > 0.9 for found in model.discoveries_)
    value, deviation = model.predict(X, return_std=True)
    lower, upper = model.predict_interval(X)
    assert value.shape == deviation.shape == lower.shape == upper.shape == (60, 2)


# ---- predictions --------------------------------------------------------------------------------------------------


def test_intervals_cover_the_rows_and_grow_outside(model):
    rng = np.random.default_rng(1)
    x = rng.uniform(0.0, 4.0, (2000, 1))
    lower, upper = model.predict_interval(x)
    measured = 1.5 + 0.7 * x[:, 0] + 0.1 * rng.standard_normal(2000)
    assert 0.9 < np.mean((lower <= measured) & (measured <= upper)) < 0.985
    far = model.predict(np.array([[2.0], [8.0], [40.0]]), return_std=True)[1]
    assert far[0] < far[1] < far[2]
    narrow = model.predict_interval(x, level=0.5)
    assert ((narrow[0] > lower) & (narrow[1] < upper)).all()


def test_the_value_is_that_of_predict(model):
    value, _ = model.predict(X, return_std=True)
    assert np.array_equal(value, model.predict(X))
    lower, upper = model.predict_interval(X)
    assert (lower + upper) / 2 == pytest.approx(value)
    assert np.array_equal(model.predict(X, row=0, return_std=True)[0], model.predict(X, row=0))


def test_an_exact_fit_has_no_spread():
    exact = CEQLRegressor(**QUICK).fit(X, 1.5 + 0.7 * X[:, 0])
    assert (exact.predict(X, return_std=True)[1] < 1e-12).all()


@pytest.mark.parametrize("level", [0.0, 1.0, 95, "0.95", None, True])
def test_a_wrong_level_is_refused(model, level):
    with pytest.raises(InputError, match=r"such as 0\.95"):
        model.predict_interval(X, level=level)


# ---- beside the front ---------------------------------------------------------------------------------------------


def test_formulas_beside_the_front_are_rows_like_others(model):
    other = beside(model, ["1.4 + 0.36*x1**1.4"], (0.6, 0.4))
    table = other.equations_
    assert table["front"].tolist() == [True] * (len(table) - 1) + [False]
    last = len(table) - 1
    assert other.predict(X, row=last) == pytest.approx(1.4 + 0.36 * X[:, 0] ** 1.4)
    assert str(other.sympy(row=last)) == str(other.discovery_.shortlist[0].expression)
    with pytest.raises(InputError, match=f"rows are 0 to {last}"):
        other.predict(X, row=last + 1)
    assert other.predict([[40.0]], return_std=True)[1] > 2 * model.predict([[40.0]], return_std=True)[1]


def test_they_are_shown_everywhere(model, tmp_path):
    other = beside(model, ["1.4 + 0.36*x1**1.4"], (0.6, 0.4))
    words = in_words(other._finding())
    assert "beside the front:" in words
    assert "; these rows cannot tell them apart." in words
    assert "0.40 for " in words
    content = as_json(other._finding())
    assert [row["weight"] for row in content["shortlist"]] == [0.4]
    json.dumps(content, allow_nan=False)
    other.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "compete beside the front" in page
    assert "these rows cannot tell them apart" in page
    other.report(tmp_path / "page.html", row=len(other.equations_) - 1)
    other.plot_pareto(row=len(other.equations_) - 1)


def test_they_are_saved(model, tmp_path):
    other = beside(model, ["1.4 + 0.36*x1**1.4"], (0.6, 0.4))
    other.save(tmp_path / "m.ceql")
    again = load(tmp_path / "m.ceql")
    assert list(map(str, again.discovery_.shortlist)) == list(map(str, other.discovery_.shortlist))
    assert again.discovery_.weights == other.discovery_.weights
    assert np.array_equal(again.equations_["front"], other.equations_["front"])


def test_one_of_them_can_be_the_chosen_one(model, tmp_path):
    other = beside(model, ["1.4 + 0.36*x1**1.4"], (0.4, 0.6))
    found = replace(other.discovery_, chosen=len(other.equations_) - 1)
    other._take([found], model._targets, from_frame=False)
    assert other.equations_["chosen"].tolist()[-1]
    other.save(tmp_path / "m.ceql")
    again = load(tmp_path / "m.ceql")
    assert str(again.discovery_.best) == str(found.best)
    again.plot_pareto()
    again.report(tmp_path / "page.html")


def test_scores_are_saved(tmp_path):
    model = CEQLRegressor(model_selection="cv", cv=4, more=1, **QUICK).fit(X, Y)
    model.save(tmp_path / "m.ceql")
    again = load(tmp_path / "m.ceql")
    assert (again.model_selection, again.cv, again.more) == ("cv", 4, 1)
    assert again.discovery_.r2_cv == model.discovery_.r2_cv
    assert again.discovery_.r2 == model.discovery_.r2
    model.set_params(cv=KFold(3)).save(tmp_path / "m.ceql")
    assert load(tmp_path / "m.ceql").cv is None


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("weights", [0.5], "has 1 numbers"),
        ("weights", [-1.0, 2.0], "whose sum is 1"),
        ("r2_cv", [2.0, 0.0], "none of them above 1"),
        ("r2_cv", ["a", 0.0], "none of them above 1"),
        ("front", [], "'front' has no rows"),
        ("chosen", 2, "from 0 to 1"),
    ],
)
def test_damaged_evidence_is_refused(tmp_path, field, value, words):
    x = np.linspace(1.0, 2.0, 20)[:, None]
    CEQLRegressor(operators=["div"], time_limit=2, verbose=False).fit(x, 1 / x[:, 0]).save(tmp_path / "m.ceql")
    content = json.loads((tmp_path / "m.ceql").read_text(encoding="utf-8"))
    assert len(content["front"]) == 2
    content[field] = value
    (tmp_path / "m.ceql").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ModelFileError, match=words):
        load(tmp_path / "m.ceql")


def test_a_model_of_old_knows_its_weights(tmp_path):
    old = load(Path(__file__).parents[1] / "storage" / "model-0.1.0.ceql")
    assert old.equations_["weight"].tolist() == pytest.approx([0.0, 1.0])
    assert old.equations_["r2"].tolist() == pytest.approx([0.0, 1.0], abs=1e-6)
    assert np.isnan(old.equations_["r2_cv"]).all()
    assert (old.predict_interval([[1.5]])[0] <= old.predict([[1.5]])).all()
    assert "R2 1 on the rows it is fitted to." in in_words(old._finding())


def test_a_discovery_that_was_made_by_hand_needs_no_evidence(model):
    bare = replace(model.discovery_, weights=(), r2=(), r2_cv=())
    other: Any = clone(model)
    other._take([bare], Targets(("y",), model._targets.datasets), from_frame=False)
    assert np.isnan(other.equations_["weight"]).all()
    assert np.isfinite(other.predict(X, return_std=True)[1]).all()
    assert "R2" not in in_words(other._finding())


# ---- what is struck -----------------------------------------------------------------------------------------------


def test_struck_formulas_are_a_table(law_model, model):
    made = law_model()
    assert made.struck_.columns.tolist() == ["equation", "why"]
    assert made.struck_["equation"].tolist() == [str(one.formula) for one in made.discovery_.struck]
    assert made.struck_["why"].tolist() == [one.why for one in made.discovery_.struck]
    assert [len(table) for table in law_model(2).struck_] == [2, 2]
    assert len(model.struck_) == len(model.discovery_.struck)
