"""The network in plain complex128 arithmetic: slow but simple, as a reference for the core's real arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ceql.network.walk import walk
from ceql.network.wiring import Sum, Wiring


def forward(network: Wiring, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the output at the rows of `x` for complex weights, one per edge, zero for removed edges."""

    def total(s: Sum, nodes: Mapping[int, np.ndarray]) -> np.ndarray:
        sources = network.edge_source[s.first : s.last]
        stacked = np.array([nodes[int(source)] for source in sources]).reshape(len(sources), len(x))
        return np.asarray(weights[s.first : s.last] @ stacked, complex)

    def apply(unit: int, arguments: Sequence[np.ndarray]) -> np.ndarray:
        return np.broadcast_to(network.units[unit].surrogate(*arguments), (len(x),))

    return np.real(walk(network, [*x.T, np.ones(len(x))], total, apply))
