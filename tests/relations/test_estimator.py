"""`RelationFinder`: fitted, asked, saved and loaded."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ceql.errors import InputError
from ceql.relations.estimator import RelationFinder, load_relations
from ceql.relations.finding import RelationsFinding
from ceql.relations.model_file import write_relations
from ceql.storage.model_file import ModelFileError


@pytest.fixture
def loaded(grouped_finding, tmp_path) -> RelationFinder:
    write_relations(tmp_path / "r.json", grouped_finding)
    return load_relations(tmp_path / "r.json")


def test_fit_and_what_it_leaves(circle):
    finder = RelationFinder(solve=False).fit(circle)
    assert finder.relations_["relation"].tolist() == ["x**2 - 2*x + y**2 = 3"]
    assert list(finder.feature_names_in_) == ["x", "y"]
    np.testing.assert_allclose(finder.residual([[3.0, 0.0], [1.0, 2.0]]), 0.0, atol=1e-12)
    assert str(finder.sympy()) == "Eq(x**2 - 2*x + y**2, 3.0)"


def test_parameters_are_kept_as_they_are_given():
    finder = RelationFinder(time_limit=5, random_state=3)
    copy: Any = clone(finder)
    assert copy.get_params() == finder.get_params()


def test_saved_and_loaded_it_is_the_same(loaded, grouped_finding, tmp_path):
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "r.json").read_text()
    one, other = grouped_finding.relations[0], loaded.relation()
    assert (other.left, other.levels, other.constants, other.shares) == (
        one.left,
        one.levels,
        one.constants,
        one.shares,
    )


def test_residuals_go_by_the_level_of_the_group(loaded):
    table = pd.DataFrame({"run": ["low", "high"], "a": [0.0, 0.0], "v": [0.0, 0.0]})
    np.testing.assert_allclose(loaded.residual(table), [-19.6 + 2.0, -19.6 - 1.5])
    np.testing.assert_allclose(loaded.residual([[0.0, 0.0]], groups=["high"]), [-21.1])


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda finder: finder.residual([[0.0, 0.0]]), "give groups="),
        (lambda finder: finder.residual([[0.0, 0.0]], groups=["mid"]), "knows no group 'mid'"),
        (lambda finder: finder.residual([[0.0]], groups=["low"]), "1 columns"),
        (lambda finder: finder.residual(pd.DataFrame({"a": [0.0]}), groups=["low"]), "no column 'v'"),
        (lambda finder: finder.relation(1), "no relation 1"),
        (lambda finder: finder.fit([[0.0, 0.0]], y=[1.0]), "no target"),
    ],
)
def test_what_cannot_be_answered_gets_a_sentence(loaded, ask, why):
    with pytest.raises(InputError, match=why):
        ask(loaded)


def test_it_has_to_be_fitted_first():
    with pytest.raises(NotFittedError):
        RelationFinder().relation()


def test_nothing_found_is_a_result(tmp_path):
    write_relations(tmp_path / "none.json", RelationsFinding((), ("x", "y"), "", ("",), 20, 5, 0.1))
    finder = load_relations(tmp_path / "none.json")
    assert len(finder.relations_) == 0
    with pytest.raises(InputError, match="No relation was found"):
        finder.residual([[0.0, 0.0]])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"format": "ceql-model"}, "is not a file of relations"),
        ({"version": 2}, "upgrade"),
        ({"names": ["a", "a"]}, "twice"),
        ({"relations": [{"left": "a + import"}]}, "damaged"),
        ({"relations": [{"left": "a*v", "levels": [[0, 0]], "constants": [], "shares": []}]}, "shares"),
        ({"relations": [{"left": "a*v", "levels": [[0, 0]] * 3}]}, "levels"),
    ],
)
def test_a_damaged_file_gets_a_sentence(loaded, tmp_path, change, why):
    content = json.loads((tmp_path / "r.json").read_text())
    (tmp_path / "bad.json").write_text(json.dumps(content | change))
    with pytest.raises(ModelFileError, match=why):
        load_relations(tmp_path / "bad.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(ModelFileError, match="not complete"):
        load_relations(tmp_path / "bad.json")
