"""Which edges go: the small, the unimportant, and those a refit can do without."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.engine.pruning import drop_least_at_once, drop_least_important, drop_small, removals
from ceql.network import Network, clean_up

laws = settings(derandomize=True, deadline=None, max_examples=25)
NETWORK = Network(2, (("square", "mul", "div"), ("log", "id")), skip="all", bias=True)
ALL = np.ones(NETWORK.n_edges, bool)
seeds = st.integers(0, 2**32 - 1)


@laws
@given(seed=seeds, threshold=st.floats(0, 2))
def test_drop_small_keeps_what_is_large_and_connected(seed, threshold):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=NETWORK.n_edges) + 1j * rng.normal(size=NETWORK.n_edges)
    kept = drop_small(NETWORK, ALL, weights, threshold)
    expected = clean_up(NETWORK, np.abs(weights) >= threshold)
    assert np.array_equal(kept, expected if expected.any() else ALL)


def test_drop_small_counts_the_imaginary_part():
    weights = np.full(NETWORK.n_edges, 1e-6 + 1j)
    assert drop_small(NETWORK, ALL, weights, 0.5).all()


def test_drop_small_never_leaves_nothing():
    assert np.array_equal(drop_small(NETWORK, ALL, np.zeros(NETWORK.n_edges), 1.0), ALL)


@laws
@given(seed=seeds)
def test_removals_are_clean_smaller_and_different(seed):
    edges = clean_up(NETWORK, np.random.default_rng(seed).random(NETWORK.n_edges) < 0.7)
    masks = removals(NETWORK, edges)
    assert np.all(masks <= edges)
    assert np.all(masks.sum(axis=1) < edges.sum())
    assert np.all(masks.any(axis=1))
    assert np.array_equal(clean_up(NETWORK, masks), masks)
    assert len(np.unique(masks, axis=0)) == len(masks)
    for edge in np.flatnonzero(edges):
        without = edges.copy()
        without[edge] = False
        cleaned = clean_up(NETWORK, without)
        assert not cleaned.any() or (masks == cleaned).all(axis=1).any()


def weight_lost(weights: np.ndarray):
    """A loss that is the total weight of what is gone."""
    return lambda masks: (~masks * weights).sum(axis=1)


@pytest.mark.parametrize("minimum", [1, 10, 20])
def test_least_important_edges_go_down_to_the_minimum(minimum):
    edges = ALL
    weights = np.random.default_rng(0).uniform(1, 2, NETWORK.n_edges)
    while True:
        fewer = drop_least_important(NETWORK, edges, weight_lost(weights), 0.1, minimum)
        assert fewer.sum() >= minimum
        assert np.all(fewer <= edges)
        if np.array_equal(fewer, edges):
            break
        # a tenth, but a unit that is cut off may take a few more along
        assert edges.sum() - fewer.sum() >= 1
        edges = fewer
    assert minimum <= edges.sum() <= minimum + 3


def test_the_least_important_edge_goes_first():
    weights = np.ones(NETWORK.n_edges)
    weights[[3, 5]] = 1e-3
    gone = ALL & ~drop_least_important(NETWORK, ALL, weight_lost(weights), 2.5 / NETWORK.n_edges, 1)
    assert set(np.flatnonzero(gone)) == {3, 5}


def test_of_two_edges_that_stand_in_for_each_other_one_stays():
    def loss(masks: np.ndarray) -> np.ndarray:
        return np.where(masks[:, 0] | masks[:, 1], 0.0, 100.0) + (~masks[:, 2:]).sum(axis=1)

    kept = drop_least_important(NETWORK, ALL, loss, 2.5 / NETWORK.n_edges, 1)
    assert kept[0] != kept[1]


def test_nothing_goes_when_every_loss_is_infinite():
    kept = drop_least_important(NETWORK, ALL, lambda masks: np.full(len(masks), np.inf), 0.5, 1)
    assert np.array_equal(kept, ALL)


def test_at_once_both_edges_that_stand_in_for_each_other_go():
    def loss(masks: np.ndarray) -> np.ndarray:
        return np.where(masks[:, 0] | masks[:, 1], 0.0, 100.0) + (~masks[:, 2:]).sum(axis=1)

    kept = drop_least_at_once(NETWORK, ALL, loss, 2.5 / NETWORK.n_edges, 1)
    assert not kept[0]
    assert not kept[1]
    assert np.array_equal(clean_up(NETWORK, kept), kept)


@pytest.mark.parametrize("minimum", [1, 20, NETWORK.n_edges])
def test_at_once_no_more_than_the_fraction_is_chosen_and_never_below_the_minimum(minimum):
    weights = np.random.default_rng(1).uniform(1, 2, NETWORK.n_edges)
    chosen: list[int] = []

    def loss(masks: np.ndarray) -> np.ndarray:
        chosen.append(len(masks))
        return weight_lost(weights)(masks)

    kept = drop_least_at_once(NETWORK, ALL, loss, 0.1, minimum)
    assert np.array_equal(kept, ALL) == (minimum == NETWORK.n_edges)
    assert chosen in ([], [NETWORK.n_edges])
