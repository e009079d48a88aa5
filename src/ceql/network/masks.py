"""Which edges are alive, for many starts at once, and the cascade clean-up after a cut."""

from __future__ import annotations

import numpy as np

from ceql.network.wiring import OUTPUT, Wiring


def clean_up(network: Wiring, edges: np.ndarray) -> np.ndarray:
    """Removes edges that cannot matter, to a fixed point.

    A unit with an empty argument is gone as a whole (a division without a denominator, a product without a factor),
    and so is one that no longer reaches the output. `edges` is (..., n_edges); a copy is returned.
    """
    edges = np.array(edges, bool)
    shape = edges.shape
    # One row per edge: what is read and written together then lies together.
    columns = np.ascontiguousarray(edges.reshape(-1, network.n_edges).T)
    while True:
        before = columns.sum()
        alive = np.ones((network.n_nodes + 1, columns.shape[1]), bool)  # the last row stands for the output
        for s in network.sums:
            if s.unit != OUTPUT:
                alive[network.node(s.unit)] &= columns[s.first : s.last].any(axis=0)
        used = np.zeros_like(alive)
        used[-1] = True
        for s in reversed(network.sums):
            target = network.n_nodes if s.unit == OUTPUT else network.node(s.unit)
            sources = network.edge_source[s.first : s.last]
            kept = columns[s.first : s.last]
            kept &= alive[target] & used[target]
            kept &= alive[sources]
            used[sources] |= kept
        if columns.sum() == before:
            return np.ascontiguousarray(columns.T).reshape(shape)
