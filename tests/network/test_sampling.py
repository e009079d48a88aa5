"""Draws and mutants: clean, not empty, within the prior's size, and the same for the same seed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.errors import InputError
from ceql.network import Network, clean_up
from ceql.network.sampling import Prior, Stream, draw, mutate
from ceql.training import recipes

laws = settings(derandomize=True, deadline=None, max_examples=15)
seeds = st.integers(0, 2**32 - 1)
LAYER = {"square": 2, "mul": 2, "div": 2, "log": 1, "sqrt": 1, "exp": 1, "sin": 1, "cos": 1}
NETWORKS = {
    "search": Network(2, (LAYER,) * 3, skip="all", bias=True),
    "many inputs": Network(12, (LAYER,) * 2, skip="all", bias=True),
    "one layer": Network(1, ({"mul": 1, "pow": 2},), skip="inputs", bias=True),
    "paper": recipes.paper().network(2),
}


def assert_sound(network: Network, edges: np.ndarray, count: int, prior: Prior) -> None:
    assert edges.shape == (count, network.n_edges)
    assert edges.dtype == bool
    assert np.array_equal(clean_up(network, edges), edges)
    assert np.all(edges.any(axis=1))
    assert np.all(edges.sum(axis=1) <= prior.maximum_edges)


@pytest.mark.parametrize("which", NETWORKS)
@laws
@given(seed=seeds, maximum=st.sampled_from([4, 12, 26]))
def test_draws_are_sound(which, seed, maximum):
    prior = Prior(maximum_edges=maximum)
    assert_sound(NETWORKS[which], draw(NETWORKS[which], 40, Stream(seed), prior), 40, prior)


@pytest.mark.parametrize("which", NETWORKS)
def test_the_same_seed_draws_the_same(which):
    network = NETWORKS[which]
    first, again, other = (draw(network, 30, Stream(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_draws_differ_from_each_other():
    edges = draw(NETWORKS["search"], 300, Stream(0))
    assert len(np.unique(edges, axis=0)) > 250


def test_draws_use_every_operator_and_every_input():
    network = NETWORKS["search"]
    edges = draw(network, 2000, Stream(0))
    used = {int(node) for node in network.edge_source[edges.any(axis=0)]}
    assert used == set(range(network.n_nodes))


def test_low_fan_in_draws_have_fewer_edges():
    prior = Prior(maximum_edges=200)
    sizes = [
        draw(NETWORKS["search"], 400, Stream(0), replace(prior, low_fan_in=share)).sum(axis=1).mean()
        for share in (0.0, 1.0)
    ]
    assert sizes[1] < 0.8 * sizes[0]


@pytest.mark.parametrize("which", NETWORKS)
def test_mutants_are_sound(which):
    network, prior = NETWORKS[which], Prior()
    for seed in range(12):
        stream = Stream(seed)
        parents = draw(network, 40, stream, prior)
        before = parents.copy()
        assert_sound(network, mutate(network, parents, stream, prior), 40, prior)
        assert np.array_equal(parents, before)


def test_mutants_differ_from_their_parents_and_resemble_them():
    network = NETWORKS["search"]
    parents = draw(network, 300, Stream(0))
    children = mutate(network, parents, Stream(1))
    changed = (children != parents).sum(axis=1)
    assert (changed > 0).mean() > 0.6
    assert np.median(changed) < 10


def test_the_same_seed_mutates_the_same():
    network = NETWORKS["search"]
    parents = draw(network, 30, Stream(0))
    first, again, other = (mutate(network, parents, Stream(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_mutant_that_would_be_too_large_is_its_parent():
    network = NETWORKS["search"]
    parents = draw(network, 100, Stream(0))
    tight = Prior(maximum_edges=1)
    children = mutate(network, parents, Stream(1), tight)
    assert np.all((children == parents).all(axis=1) | (children.sum(axis=1) == 1))


@pytest.mark.parametrize("skip", ["none", "inputs", "all"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_every_skip_mode_can_be_drawn_from(skip, depth):
    network = Network(2, ({"square": 1, "mul": 1, "div": 1},) * depth, skip=skip, bias=True)
    assert_sound(network, draw(network, 30, Stream(0)), 30, Prior())


@pytest.mark.parametrize("skip", ["none", "inputs"])
def test_every_skip_mode_can_be_mutated(skip):
    network = Network(2, ({"square": 1, "mul": 1, "div": 1},) * 2, skip=skip, bias=True)
    parents = draw(network, 60, Stream(0))
    for seed in range(10):
        children = mutate(network, parents, Stream(seed))
        assert_sound(network, children, 60, Prior())
        assert not np.array_equal(children, parents)


def test_powers_are_drawn_without_a_bias_too():
    network = Network(2, ({"mul": 1, "pow": 2},))
    edges = draw(network, 200, Stream(0))
    assert edges[:, network.edge_source == network.one].any()


FOUR_LAYERS = """
from ceql.network import Network
from ceql.network.sampling import Stream, draw
print(len(draw(Network(1, (("square",),) * 4, skip="none"), 5, Stream(0))))
"""


def test_four_layers_without_skips_can_be_drawn_from():
    """In a process of its own, since it did not end once."""
    done = subprocess.run([sys.executable, "-c", FOUR_LAYERS], timeout=120, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "5")


def test_a_start_depends_on_its_number_and_not_on_who_draws_it():
    network = NETWORKS["search"]
    whole = draw(network, 300, Stream(5))
    assert np.array_equal(draw(network, 300, Stream(5, threads=3)), whole)
    assert np.array_equal(draw(network, 100, Stream(5, first=150)), whole[150:250])
    children = mutate(network, whole, Stream(6))
    assert np.array_equal(mutate(network, whole[150:250], Stream(6).after(150)), children[150:250])


def test_what_cannot_be_drawn_is_said():
    network = Network(1, (("square",),) * 3, skip="none")  # needs an edge into each layer and one out of the last
    with pytest.raises(InputError, match="no sub-network of this library keeps to the limits"):
        draw(network, 1, Stream(0), Prior(maximum_edges=3))
