"""Which sub-networks keep to the constraints, for many masks at once: none nests what it must not or lacks an input.

Every node carries the set of operators at or below it as bits of one number. One pass from the inputs to the output
gives it for all masks together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ceql.network.wiring import OUTPUT, Wiring
from ceql.operators import Operator

Nesting = Sequence[tuple[str, Sequence[str]]]


def permitted(
    network: Wiring, edges: np.ndarray, nesting: Nesting = (), needed: Sequence[Sequence[int]] = ()
) -> np.ndarray:
    """Per row of clean `edges`, whether it nests nothing forbidden and uses one input of each group in `needed`."""
    fine = np.ones(len(edges), bool)
    for group in needed:
        fine &= edges[:, np.isin(network.edge_source, list(group))].any(axis=1)
    return fine & ~_nests(network, edges, nesting) if nesting else fine


def _nests(network: Wiring, edges: np.ndarray, nesting: Nesting) -> np.ndarray:
    table = {outer: tuple(inner) for outer, inner in nesting}
    bit = {name: np.int64(1 << k) for k, name in enumerate(sorted({n for inner in table.values() for n in inner}))}
    own = [_bits(_parts(operator), bit) for operator in network.units]
    banned = [
        _bits([name for part in _parts(operator) for name in table.get(part, ())], bit) for operator in network.units
    ]
    below = np.zeros((network.n_nodes, len(edges)), np.int64)
    columns = np.ascontiguousarray(edges.T)
    guilty = np.zeros(len(edges), bool)
    for s in network.sums:
        if s.unit == OUTPUT:
            break
        live = columns[s.first : s.last]
        inside = np.bitwise_or.reduce(np.where(live, below[network.edge_source[s.first : s.last]], 0), axis=0)
        guilty |= (inside & banned[s.unit]) != 0
        node = network.node(s.unit)
        below[node] |= inside | np.where(live.any(axis=0), own[s.unit], 0)
    return guilty


def _parts(operator: Operator) -> tuple[str, ...]:
    """The operators it counts as: one of the user's own counts as all that its formula consists of."""
    if operator.definition is None:
        return (operator.name,)
    from ceql.expression.operations import contained

    return tuple(contained(operator.definition[1]))


def _bits(names: Sequence[str], bit: dict[str, np.int64]) -> np.int64:
    return np.bitwise_or.reduce([bit[name] for name in names if name in bit] or [np.int64(0)])
