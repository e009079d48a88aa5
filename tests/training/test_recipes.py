"""The recipe is the paper's table, number by number."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

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
    "plateau": (None, None, Plateau(patience=2000, factor=0.1, minimum_rate=1e-5, threshold=1e-4)),
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
    assert (recipe.initial_range, recipe.initial_imaginary) == (0.5, 0.5)
    assert recipe.complex_weights
    assert not recipe.passes_complex
    assert (recipe.loss, recipe.pivot) == (Loss.PIVOTED, 1.0)
    assert recipe.epochs == 350_000
    assert recipe.starts == 5
    assert recipe.negligible == 5e-6


def test_no_phase_ends_with_a_threshold():
    assert all(phase.final_threshold == 0 for phase in recipes.paper().phases)


def test_the_authors_runs_differ_from_the_paper_where_it_is_said():
    theirs, ours = recipes.authors(), recipes.paper()
    assert theirs.starts == 1
    assert not any(phase.keep_best for phase in theirs.phases)
    assert theirs.phases[1].pruning == ImpactPruning(interval=10_000, fraction=0.1, minimum_edges=15, at_once=True)
    assert [phase.normalise_every > 0 for phase in theirs.phases] == [False, False, True]
    for row in ("epochs", "rate", "imaginary", "sparsity", "argument", "plateau", "beta1"):
        assert [getattr(p, row) for p in theirs.phases] == [getattr(p, row) for p in ours.phases]


# Rows of the authors' ablation_config.py; one entry per phase.
ABLATION = {
    "epochs": (100_000, 250_000, 100_000),
    "imaginary": (1e-10, 1e-3, 1e-3),
    "sparsity": (1e-10, 1e-9, 0.0),
    "argument": (1e-10, 1e3, 1e3),
    "beta1": (0.999, 0.9, 0.9),
}


@pytest.mark.parametrize("row", ABLATION)
def test_the_ablation_is_the_authors(row):
    assert tuple(getattr(phase, row) for phase in recipes.authors_ablation().phases) == ABLATION[row]


def test_the_network_of_the_ablation_is_the_authors():
    recipe = recipes.authors_ablation()
    assert recipe.layers == ({"id": 3, "const": 2, "square": 2, "div": 2},) * 2
    assert recipe.initial_imaginary == 0.05
    pruning = recipe.phases[1].pruning
    assert pruning == ImpactPruning(interval=10_000, fraction=0.1, minimum_edges=20, at_once=True)


def test_recipes_are_found_by_name_and_cannot_be_changed():
    assert recipes.RECIPES["paper"]() == recipes.paper()
    with pytest.raises(FrozenInstanceError):
        recipes.paper().phases[0].rate = 1.0  # pyright: ignore[reportAttributeAccessIssue]


def test_the_pivoted_loss_is_relative_above_the_pivot():
    y = np.array([-1.0, 0.0, 2.0, 4.0, 1000.0])
    pivoted = replace(recipes.paper(), pivot=3.0)
    assert np.allclose(loss_weights(pivoted, y), 1 / np.array([9.0, 9.0, 9.0, 16.0, 1e6]))
    assert np.array_equal(loss_weights(replace(pivoted, loss=Loss.MSE), y), np.ones(5))
