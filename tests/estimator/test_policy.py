"""The numbers that steer a search, given by the user: taken over, kept unchanged, saved, and refused in words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from sklearn.base import clone

from ceql import CeqlError, CEQLRegressor, InputError, Settings, load

DEFAULTS = Settings().search
X = np.random.default_rng(0).uniform(1, 2, (40, 2))
Y = np.random.default_rng(1).normal(size=40)


def policy(part: str, **changes: Any) -> Any:
    """The defaults with other numbers, at the top or in the part of that name."""
    return replace(DEFAULTS, **({part: replace(getattr(DEFAULTS, part), **changes)} if part else changes))


FEW = policy("", round_size=48, chunk_size=24)


@pytest.fixture(scope="module")
def model() -> CEQLRegressor:
    return CEQLRegressor(operators=["mul"], time_limit=1e-3, policy=FEW).fit(X, Y)


def test_the_search_follows_it(model):
    assert 0 < model.discovery_.starts < DEFAULTS.round_size
    assert model.discovery_.starts % FEW.round_size == 0


def test_it_is_a_parameter_like_others(model):
    assert model.get_params()["policy"] is FEW
    assert CEQLRegressor().get_params()["policy"] is None
    assert cast(CEQLRegressor, clone(model)).get_params()["policy"] == FEW
    assert model.set_params(policy=FEW).policy is FEW


def test_none_is_the_defaults():
    y = np.sin(1.7 * X[:, 0]) / X[:, 1] + 0.3 * X[:, 0]
    first, second = (CEQLRegressor(operators=["mul", "div", "sin"], policy=p).fit(X, y) for p in (None, DEFAULTS))
    assert first.discovery_.starts == second.discovery_.starts > 0
    assert list(first.equations_["equation"]) == list(second.equations_["equation"])


def test_it_is_saved_with_the_model(model, tmp_path):
    model.save(tmp_path / "model.ceql")
    assert load(tmp_path / "model.ceql").get_params()["policy"] == FEW


WRONG = {
    "no policy": ({"round_size": 64}, r"policy must be a ceql\.search\.\w+\.\w+\(\.\.\.\) or None, not dict"),
    "no starts": (policy("", round_size=0), "policy.round_size must be a whole number of at least 1, not 0"),
    "half a start": (policy("", chunk_size=1.5), "policy.chunk_size must be a whole number of at least 1, not 1.5"),
    "no count": (policy("", kept_per_size=True), "policy.kept_per_size must be a whole number"),
    "no share": (policy("", mutant_share=1.5), "policy.mutant_share must be a finite number from 0 to 1, not 1.5"),
    "not finite": (policy("", start_scale=np.nan), "policy.start_scale must be a finite number above 0, not nan"),
    "zero": (policy("", fastest=0.0), "policy.fastest must be a finite number above 0, not 0.0"),
    "negative": (policy("schedule", target=-1.0), "policy.schedule.target must be a finite number of at least 0"),
    "no number": (policy("reduction", progress="1"), "policy.reduction.progress must be a finite number .* not '1'"),
    "no part": (policy("", prior=None), r"policy.prior must be a Prior\(\.\.\.\), not None"),
    "no flag": (policy("schedule", complex_weights=1), "complex_weights must be True or False, not 1"),
    "no tuple": (policy("prior", depths=[1.0]), r"policy.prior.depths must be a tuple such as \(0.15, .* not \[1.0\]"),
    "no chance": (policy("prior", last_layer=(0.0, 0.0)), "policy.prior.last_layer must hold a number above 0"),
    "no pairs": (policy("prior", early=("mul",)), "policy.prior.early must be a tuple of pairs such as"),
    "not theirs": (policy("prior", needed=((0,),)), "policy.prior.needed is set by the constraints: leave it empty"),
}


@pytest.mark.parametrize("which", WRONG)
def test_wrong_ones_are_named(which):
    wrong, words = WRONG[which]
    with pytest.raises(InputError, match=words):
        CEQLRegressor(operators=["mul"], policy=wrong).fit(X, Y)


def test_other_recipes_have_none():
    with pytest.raises(InputError, match="A policy needs recipe='search'"):
        CEQLRegressor(recipe="paper", policy=FEW).fit(X, Y)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"round_sise": 64}, "policy has no number called 'round_sise'"),
        ({"round_size": "64"}, "policy.round_size must be a whole number of at least 1, not '64'"),
        ({"prior": 3}, "policy.prior must be a table of numbers, not 3"),
        (3, "the parameter 'policy' is 3; it must be a table or null"),
    ],
)
def test_a_file_with_a_wrong_one_is_damaged(model, tmp_path, content, words):
    path = tmp_path / "model.ceql"
    model.save(path)
    saved = json.loads(path.read_text())
    saved["parameters"]["policy"] = content
    path.write_text(json.dumps(saved))
    with pytest.raises(CeqlError, match=f"is damaged: {words}"):
        load(path)
