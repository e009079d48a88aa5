"""Which edges are alive, for many starts at once, and the cascade clean-up after a cut."""

from __future__ import annotations

import numpy as np

from ceql.network.network import OUTPUT, Network


def clean_up(network: Network, edges: np.ndarray) -> np.ndarray:
    """Removes edges that cannot matter, to a fixed point.

    A unit with an empty argument is gone as a whole (a division without a denominator, a product without a factor),
    and so is one that no longer reaches the output. `edges` is (..., n_edges); a copy is returned.
    """
    edges = np.array(edges, bool)
    shape = edges.shape
    edges = edges.reshape(-1, network.n_edges)
    firsts = np.array([s.first for s in network.sums])
    unit_of_sum = np.array([s.unit for s in network.sums])
    while True:
        before = edges.sum()
        filled = np.logical_or.reduceat(edges, firsts, axis=1)
        alive = np.ones((len(edges), network.n_nodes + 1), bool)  # the last column stands for the output
        for k, unit in enumerate(unit_of_sum):
            if unit != OUTPUT:
                alive[:, network.node(unit)] &= filled[:, k]
        used = np.zeros_like(alive)
        used[:, -1] = True
        for k in range(len(network.sums) - 1, -1, -1):
            s = network.sums[k]
            target = network.n_nodes if s.unit == OUTPUT else network.node(s.unit)
            sources = network.edge_source[s.first : s.last]
            kept = edges[:, s.first : s.last] & (alive[:, target] & used[:, target])[:, None] & alive[:, sources]
            edges[:, s.first : s.last] = kept
            used[:, sources] |= kept
        if edges.sum() == before:
            return edges.reshape(shape)


def live_units(network: Network, edges: np.ndarray) -> np.ndarray:
    """Which units still feed something, (..., n_units), for cleaned masks."""
    edges = np.asarray(edges, bool)
    used = np.zeros((*edges.shape[:-1], network.n_nodes), bool)
    for k in range(network.n_edges):
        used[..., network.edge_source[k]] |= edges[..., k]
    return used[..., network.n_inputs + 1 :]
