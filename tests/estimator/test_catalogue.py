"""Named laws and prices from the table to the fitted model, its tables and its file."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from ceql import CeqlError, CEQLRegressor, InputError, load
from ceql.catalogue.law import catalogue
from ceql.choice.criterion import description
from ceql.expression.prices import PRICES, Prices
from ceql.search.policy import SearchPolicy

DEFAULTS = SearchPolicy()
FEW = replace(
    DEFAULTS,
    round_size=48,
    chunk_size=24,
    end=replace(DEFAULTS.end, rounds_measured=1),
    finishing=replace(DEFAULTS.finishing, levels=(6,)),
)
SUBSTRATE = np.array([0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 4.5, 6.0, 8.0, 10.0])
VELOCITY = 3.2 * SUBSTRATE / (1.4 + SUBSTRATE) * (1 + 0.01 * np.random.default_rng(0).standard_normal(12))
X, Y = pd.DataFrame({"S": SUBSTRATE}), np.round(VELOCITY, 3)
PLAIN = {law.name for law in catalogue() if law.is_plain}


def regressor(**changes: Any) -> CEQLRegressor:
    return CEQLRegressor(**{"time_limit": 30, "policy": FEW, "verbose": False, **changes})


@pytest.fixture(scope="module")
def with_laws() -> CEQLRegressor:
    return regressor().fit(X, Y)


@pytest.fixture(scope="module")
def without_laws() -> CEQLRegressor:
    return regressor(catalogue=False).fit(X, Y)


def table(model: CEQLRegressor) -> pd.DataFrame:
    return cast(pd.DataFrame, model.equations_)


# ---- the catalogue ------------------------------------------------------------------------------------------------


def test_the_law_is_chosen_and_has_its_name(with_laws):
    chosen = table(with_laws)[table(with_laws)["chosen"]]
    assert list(chosen["law"]) == ["Michaelis-Menten"]


def test_its_constants_have_the_names_and_values_of_the_law(with_laws):
    constants = cast(pd.DataFrame, with_laws.constants_)
    assert sorted(constants.index) == ["K", "V"]
    assert constants.index.name == "Michaelis-Menten"
    assert constants.loc["V", "value"] == pytest.approx(3.2, rel=0.03)
    assert constants.loc["K", "value"] == pytest.approx(1.4, rel=0.05)
    assert all(error > 0 for error in constants["standard_error"])


def test_what_is_shown_is_priced_and_the_chosen_one_is_predicted(with_laws):
    prices = [description(formula) for formula in with_laws.discovery_.formulas]
    assert list(table(with_laws)["price"]) == prices
    assert with_laws.predict(X) == pytest.approx(3.2 * SUBSTRATE / (1.4 + SUBSTRATE), rel=0.03)


def test_without_it_no_law_is_named_but_plain_models_are(without_laws):
    assert set(table(without_laws)["law"]) <= {"", *PLAIN}
    assert without_laws.score(X, Y) > 0.99


def test_a_named_law_is_saved_with_its_constants(with_laws, without_laws, tmp_path):
    for model in (with_laws, without_laws):
        model.save(tmp_path / "model.ceql")
        again = load(tmp_path / "model.ceql")
        assert again.catalogue == model.catalogue
        pd.testing.assert_frame_equal(cast(pd.DataFrame, again.constants_), cast(pd.DataFrame, model.constants_))
        assert list(table(again)["law"]) == list(table(model)["law"])
        assert list(table(again)["price"]) == pytest.approx(list(table(model)["price"]))


@pytest.mark.parametrize("wrong", ["yes", 1, None])
def test_it_is_there_or_not(wrong):
    with pytest.raises(InputError, match="catalogue must be True or False, not"):
        regressor(catalogue=wrong).fit(X, Y)


def test_it_may_be_a_flag_of_numpy(without_laws, tmp_path):
    model = cast(CEQLRegressor, clone(without_laws)).set_params(catalogue=np.False_, policy=FEW).fit(X, Y)
    assert list(table(model)["equation"]) == list(table(without_laws)["equation"])
    model.save(tmp_path / "model.ceql")
    assert load(tmp_path / "model.ceql").catalogue == np.False_


# ---- prices -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"leaf": 2.0}, r"prices must be a ceql\.expression\.prices\.Prices\(\.\.\.\) or None, not {'leaf': 2.0}"),
        (3.0, "prices must be a"),
        (Prices, "prices must be a"),
        (Prices(leaf=-1.0), "prices.leaf must be a finite number of at least 0, not -1.0"),
        (Prices(nested=np.nan), "prices.nested must be a finite number"),
        (Prices(add=cast(float, "2")), "prices.add must be a finite number of at least 0, not '2'"),
    ],
)
def test_wrong_prices_are_refused_before_the_search(wrong, words):
    with pytest.raises(InputError, match=words):
        regressor(prices=wrong, time_limit=1e9, policy=None).fit(X, Y)


def test_they_are_a_parameter_like_others():
    prices = Prices(nested=9.0)
    assert CEQLRegressor().get_params()["prices"] is None
    assert cast(CEQLRegressor, clone(CEQLRegressor(prices=prices))).get_params()["prices"] == prices


DEAR_NAMES = replace(PRICES, everyday_law=60.0, common_law=60.0, known_law=60.0, other_law=60.0, div=40.0, leaf=2.0)


@pytest.fixture(scope="module")
def without_quotients() -> CEQLRegressor:
    return regressor(prices=DEAR_NAMES).fit(X, Y)


def test_raised_prices_are_shown_and_change_the_choice(with_laws, without_quotients):
    found = without_quotients.discovery_
    assert list(table(without_quotients)["price"]) == [description(f, DEAR_NAMES) for f in found.formulas]
    assert str(found.best) != str(with_laws.discovery_.best)
    assert "/" not in str(found.best)


def test_prices_in_a_policy_are_those_that_are_shown(without_quotients):
    model = regressor(policy=replace(FEW, prices=DEAR_NAMES)).fit(X, Y)
    assert list(table(model)["equation"]) == list(table(without_quotients)["equation"])
    assert list(table(model)["price"]) == list(table(without_quotients)["price"])


def test_they_are_saved_with_the_model(without_quotients, tmp_path):
    without_quotients.save(tmp_path / "model.ceql")
    again = load(tmp_path / "model.ceql")
    assert again.prices == DEAR_NAMES
    assert list(table(again)["price"]) == pytest.approx(list(table(without_quotients)["price"]))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("prices", 3, "the parameter 'prices' is 3; it must be a table or null"),
        ("prices", {"leef": 1.0}, "prices has no number called 'leef'"),
        ("prices", {"leaf": -1.0}, "prices.leaf must be a finite number of at least 0, not -1.0"),
        ("catalogue", "yes", "the parameter 'catalogue' is 'yes'; it must be true or false"),
    ],
)
def test_a_file_with_wrong_ones_is_damaged(without_quotients, tmp_path, name, content, words):
    path = tmp_path / "model.ceql"
    without_quotients.save(path)
    saved = json.loads(path.read_text())
    saved["parameters"][name] = content
    path.write_text(json.dumps(saved))
    with pytest.raises(CeqlError, match=words):
        load(path)
