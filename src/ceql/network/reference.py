"""The network in plain complex128 arithmetic: slow, obvious, and what the core's real arithmetic is tested against."""

from __future__ import annotations

import numpy as np

from ceql.network.network import OUTPUT, Network


def forward(network: Network, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The output for complex weights, one per edge (zero where an edge is gone), at the rows of `x`."""
    nodes = np.zeros((network.n_nodes, len(x)))
    nodes[: network.n_inputs] = x.T
    nodes[network.one] = 1.0
    arguments: dict[int, list[np.ndarray]] = {}
    for unit, operator in enumerate(network.units):
        if operator.arity == 0:
            nodes[network.node(unit)] = operator.surrogate()
    for s in network.sums:
        total = weights[s.first : s.last] @ nodes[network.edge_source[s.first : s.last]]
        if s.unit == OUTPUT:
            return np.real(total)
        collected = arguments.setdefault(s.unit, [])
        collected.append(np.asarray(total, complex))
        operator = network.units[s.unit]
        if len(collected) == operator.arity:
            nodes[network.node(s.unit)] = operator.surrogate(*collected)
    raise AssertionError("a network ends in its readout")
