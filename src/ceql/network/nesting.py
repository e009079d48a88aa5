"""Which operators may not stand inside which, as bits of one number per unit: the core tells from them what nests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ceql.network.wiring import Wiring
from ceql.operators import Operator

Nesting = Sequence[tuple[str, Sequence[str]]]


def nesting_bits(network: Wiring, nesting: Nesting) -> tuple[np.ndarray, np.ndarray]:
    """Per unit, the operators that it is and those that may not stand inside it."""
    table = {outer: tuple(inner) for outer, inner in nesting}
    bit = {name: np.int64(1 << k) for k, name in enumerate(sorted({n for inner in table.values() for n in inner}))}
    parts = [_parts(operator) if nesting else () for operator in network.units]
    own = [_bits(names, bit) for names in parts]
    banned = [_bits([name for part in names for name in table.get(part, ())], bit) for names in parts]
    return np.array(own, np.int64), np.array(banned, np.int64)


def _parts(operator: Operator) -> tuple[str, ...]:
    """The operators it counts as: one of the user's own counts as all that its formula consists of."""
    if operator.definition is None:
        return (operator.name,)
    from ceql.expression.operations import contained

    return tuple(contained(operator.definition[1]))


def _bits(names: Sequence[str], bit: dict[str, np.int64]) -> np.int64:
    return np.bitwise_or.reduce([bit[name] for name in names if name in bit] or [np.int64(0)])
