"""The recipe is the paper's table, number by number."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from ceql.training import Loss, recipes
from ceql.training.phase import ImpactPruning, Plateau
from ceql.training.run import loss_weights

# Rows of the appendix's table; one entry per phase.
TABLE = {
    "epochs": (100_000, 200_000, 50_000),
    "rate": (1e-2, 1e-2, 1e-2),
    "imaginary": (1e-10, 1e-3, 1e3),
    "sparsity": (1e-10, 1e-7, 1e-7),
    "argument": (1e-10, 1e3, 1e3),
    "plateau": (None, None, Plateau(patience=2000, factor=0.1, minimum_rate=1e-5, threshold=1e-7)),
    "pruning": (None, ImpactPruning(interval=10_000, fraction=0.1, minimum_edges=15), None),
}


@pytest.mark.parametrize("row", TABLE)
def test_the_phases_are_the_papers(row):
    assert tuple(getattr(phase, row) for phase in recipes.paper().phases) == TABLE[row]


def test_the_network_is_the_papers():
    recipe = recipes.paper()
    assert recipe.layers == ({"const": 2, "square": 2, "mul": 2}, {"id": 1, "log": 2, "sqrt": 2, "div": 2})
    assert recipe.network(3).skip == "inputs"
    assert recipe.network(3).n_inputs == 3
    assert recipe.initial_range == 0.5
    assert recipe.complex_weights
    assert not recipe.passes_complex
    assert recipe.loss is Loss.PIVOTED
    assert recipe.epochs == 350_000


def test_only_the_first_phase_ends_with_a_threshold():
    first, *others = recipes.paper().phases
    assert first.final_threshold > 0
    assert all(phase.final_threshold == 0 for phase in others)


def test_recipes_are_found_by_name_and_cannot_be_changed():
    assert recipes.RECIPES["paper"]() == recipes.paper()
    with pytest.raises(FrozenInstanceError):
        recipes.paper().phases[0].rate = 1.0  # pyright: ignore[reportAttributeAccessIssue]


def test_the_pivoted_loss_is_relative_to_the_pivot():
    y = np.array([-1.0, 0.0, 2.0, 4.0, 1000.0])
    assert np.allclose(loss_weights(Loss.PIVOTED, y), 1 / (y**2 + 2.0**2))
    assert np.array_equal(loss_weights(Loss.MSE, y), np.ones(5))


@pytest.mark.parametrize("y", [np.zeros(4), np.array([0.0, 0.0, 0.0, 3.0])])
def test_a_target_that_is_mostly_zero_has_finite_weights(y):
    weights = loss_weights(Loss.PIVOTED, y)
    assert np.all(np.isfinite(weights))
    assert np.all(weights > 0)
