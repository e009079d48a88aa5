"""Libraries by name or from a list of operators."""

from __future__ import annotations

import pytest

from ceql import CEQLRegressor
from ceql.bench.problems import load_problem, sample
from ceql.errors import CeqlError, UnknownNameError
from ceql.network.libraries import LIBRARIES, search_network


def test_the_papers_library_has_its_two_layers():
    first, second = search_network(2, "paper").layers
    assert sorted(set(first)) == ["mul", "square"]
    assert sorted(set(second)) == ["div", "log", "sqrt"]
    assert len(first) == 4
    assert len(second) == 6


def test_none_is_the_default_library():
    assert search_network(2) == search_network(2, "default")
    assert set(search_network(2).layers[0]) == {"square", "mul", "div", "log", "sqrt", "exp", "sin", "cos"}


def test_what_is_always_there_may_be_named():
    assert search_network(1, ["const", "id", "mul"]) == search_network(1, ["mul"])
    with pytest.raises(CeqlError, match="operators is empty"):
        search_network(1, ["const"])


def test_an_unknown_library_gets_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'paper'"):
        search_network(1, "papre")


def test_every_library_finds_a_pole():
    data = sample(load_problem("E-8"), 0)
    for name in LIBRARIES:
        model = CEQLRegressor(operators=name).fit(data.X_train, data.y_train)
        assert model.discovery_.outcome.name == "EXACT", name
