"""The clean-up in the core: a fixed point that adds nothing and leaves the output alone where dead units are zero."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.network import Network, clean_up
from ceql.network.reference import forward
from ceql.training import recipes

laws = settings(derandomize=True, deadline=None, max_examples=60)
ZERO_AT_ZERO = ("id", "const", "square", "cube", "mul", "sqrt", "sin", "asin", "sinh", "tanh", "cbrt", "abs")
NETWORKS = {
    "paper": recipes.paper().network(2),
    "all": Network(2, ({"mul": 2, "div": 1, "exp": 1}, {"log": 1, "sin": 2}, {"sqrt": 1, "pow": 1}), "all", True),
    "none": Network(1, (("square", "const"), ("mul", "div"), ("id", "cos")), "none"),
}
seeds = st.integers(0, 2**32 - 1)


def random_edges(network: Network, seed: int, rows: int | None = None) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shape = network.n_edges if rows is None else (rows, network.n_edges)
    return rng.random(shape) < rng.uniform(0.1, 0.9)


def live_units(network: Network, edges: np.ndarray) -> np.ndarray:
    """Which units feed something."""
    return np.isin(np.arange(network.n_inputs + 1, network.n_nodes), network.edge_source[edges])


@pytest.mark.parametrize("which", NETWORKS)
@laws
@given(seed=seeds)
def test_it_never_adds_and_is_done_after_once(which, seed):
    network = NETWORKS[which]
    edges = random_edges(network, seed, 5)
    before = edges.copy()
    cleaned = clean_up(network, edges)
    assert np.array_equal(edges, before)
    assert np.all(cleaned <= edges)
    assert np.array_equal(clean_up(network, cleaned), cleaned)


@pytest.mark.parametrize("which", NETWORKS)
@laws
@given(seed=seeds)
def test_what_is_left_is_whole_and_reaches_the_output(which, seed):
    network = NETWORKS[which]
    cleaned = clean_up(network, random_edges(network, seed))
    live = live_units(network, cleaned)
    for unit in range(len(network.units)):
        arguments = [cleaned[s.first : s.last].any() for s in network.sums if s.unit == unit]
        assert all(arguments) or not live[unit]  # what feeds something is complete
        assert live[unit] or not any(arguments)  # what is complete feeds something


@pytest.mark.parametrize("which", NETWORKS)
@laws
@given(seed=seeds)
def test_rows_are_cleaned_one_by_one(which, seed):
    network = NETWORKS[which]
    edges = random_edges(network, seed, 4)
    assert np.array_equal(clean_up(network, edges), [clean_up(network, row) for row in edges])


@laws
@given(
    layers=st.lists(st.lists(st.sampled_from(ZERO_AT_ZERO), min_size=1, max_size=4), min_size=1, max_size=3),
    skip=st.sampled_from(["none", "inputs", "all"]),
    bias=st.booleans(),
    seed=seeds,
)
def test_dead_units_that_are_zero_go_without_a_change(layers, skip, bias, seed):
    network = Network(2, tuple(layers), skip=skip, bias=bias)
    edges = random_edges(network, seed)
    rng = np.random.default_rng(seed)
    weights = rng.normal(0, 0.5, network.n_edges) + 0.2j * rng.normal(size=network.n_edges)
    x = rng.uniform(-1, 1, (30, 2))
    before = forward(network, np.where(edges, weights, 0), x)
    after = forward(network, np.where(clean_up(network, edges), weights, 0), x)
    assert np.allclose(after, before, rtol=1e-12, atol=1e-12)


def edge(network: Network, unit: int, position: int, source: int) -> int:
    (s,) = [s for s in network.sums if (s.unit, s.position) == (unit, position)]
    return s.first + list(network.edge_source[s.first : s.last]).index(source)


def test_a_division_without_a_denominator_goes_as_a_whole():
    network = Network(1, (("div", "square"),), bias=True)
    edges = np.ones(network.n_edges, bool)
    for source in (0, network.one):
        edges[edge(network, 0, 1, source)] = False
    cleaned = clean_up(network, edges)
    assert not any(cleaned[edge(network, 0, 0, source)] for source in (0, network.one))
    assert not cleaned[edge(network, -1, 0, network.node(0))]
    assert cleaned.sum() == edges.sum() - 3


def test_a_cut_cascades_through_the_layers():
    network = Network(1, (("square",), ("log",), ("sqrt",)), skip="none")
    edges = np.ones(network.n_edges, bool)
    edges[0] = False
    assert not clean_up(network, edges).any()
    edges = np.ones(network.n_edges, bool)
    edges[-1] = False
    assert not clean_up(network, edges).any()


def test_a_full_network_stays_full():
    for name, network in NETWORKS.items():
        if name != "paper":
            assert clean_up(network, np.ones(network.n_edges, bool)).all()
    # in the paper's network, too: const units have nothing that could be empty
    assert clean_up(NETWORKS["paper"], np.ones(93, bool)).all()
