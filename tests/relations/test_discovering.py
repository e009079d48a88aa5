"""From a table to its relations, end to end."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ceql.relations.discovering import find_relations
from ceql.relations.policy import RelationsPolicy, RelationsSettings, SupportPolicy, VocabularyPolicy

SMALL = RelationsPolicy(
    vocabulary=VocabularyPolicy(most_terms=80),
    supports=SupportPolicy(in_triples=40, screened=2000, triples=80, pairs=60, beam=40, largest=5),
)
QUICK = RelationsSettings(solve=False, threads=1, policy=SMALL)


def test_a_noisy_circle(circle):
    finding = find_relations(circle, QUICK)
    assert finding.texts == ["x**2 - 2*x + y**2 = 3"]
    (found,) = finding.relations
    assert found.columns == ("x", "y")
    assert found.share > 0.99
    assert 0.005 < found.held_out < 0.02
    assert not found.is_exact
    assert not found.has_pattern
    assert (finding.rows, finding.rows_held_out) == (80, 20)


def test_the_same_table_gives_the_same_relation_in_any_order_of_its_columns_and_in_other_units(circle):
    (first,), (again,) = (find_relations(circle, QUICK).relations for _ in range(2))
    assert (again.text, again.distance, again.held_out) == (first.text, first.distance, first.held_out)
    other = find_relations(pd.DataFrame({"y": circle["y"], "x": 1000.0 * circle["x"]}), QUICK).relations[0]
    assert set(other.columns) == {"x", "y"}
    assert other.distance == pytest.approx(first.distance, rel=0.05)
    assert np.ptp(other.left_side(np.array([[0.0, 3000.0], [0.0, -1000.0], [2.0, 1000.0]]))) < 2e5  # of nine millions


def test_each_run_has_a_level_of_its_own(pendulum):
    finding = find_relations(pendulum, QUICK, groups="run")
    (found,) = finding.relations
    assert found.is_exact
    assert (finding.groups, finding.labels) == ("run", ("high", "low"))
    assert found.text == "v**2 - 19.62*cos(a) = level"
    assert [level.value for level in found.levels] == pytest.approx([-19.62 * np.cos(2.5), -19.62 * np.cos(1.2)])


def test_independent_columns_have_no_relation():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(0, 1, 80), "y": rng.normal(size=80), "k": rng.integers(0, 3, 80)})
    assert find_relations(table, QUICK).relations == ()


def test_two_relations_and_nothing_that_follows_from_them():
    rng = np.random.default_rng(2)
    turn = rng.uniform(0.0, 2.0 * np.pi, 60)
    table = pd.DataFrame({"x": np.cos(turn), "y": np.sin(turn), "z": 2.0 * np.cos(turn) * np.sin(turn)})
    texts = find_relations(table, QUICK).texts
    assert len(texts) == 2
    assert "x**2 + y**2 = 1" in texts
    assert "z = 2*x*y" in texts


def test_a_formula_that_is_no_sum_of_terms_is_searched_for():
    x = np.random.default_rng(3).uniform(0.0, 4.0, 60)
    table = pd.DataFrame({"x": x, "y": 3.0 * np.exp(-0.7 * x) + 1.25})
    (found,) = find_relations(table, RelationsSettings(threads=1, policy=SMALL)).relations
    assert found.is_exact
    assert set(found.columns) == {"x", "y"}
    fresh = np.linspace(0.1, 3.9, 30)
    left = found.left_side(np.column_stack([fresh, 3.0 * np.exp(-0.7 * fresh) + 1.25]))
    np.testing.assert_allclose(left, found.levels[0].value, atol=1e-8)


def test_progress_is_told(circle):
    stages = []
    find_relations(circle, QUICK, lambda stage, share: stages.append((stage, share)))
    assert stages
    assert all(0.0 <= share <= 1.0 for _, share in stages)
