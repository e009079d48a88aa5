"""Encodes which operators may not be nested inside which, as bits per unit, for the core to check."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ceql.network.wiring import Wiring
from ceql.operators import Operator

Nesting = Sequence[tuple[str, Sequence[str]]]


def nesting_bits(network: Wiring, nesting: Nesting) -> tuple[np.ndarray, np.ndarray]:
    """Return two bit masks per unit: the operators that it consists of, and those that may not occur inside it."""
    table = {outer: tuple(inner) for outer, inner in nesting}
    bit = {name: np.int64(1 << k) for k, name in enumerate(sorted({n for inner in table.values() for n in inner}))}
    parts = [_parts(operator) if nesting else () for operator in network.units]
    own = [_bits(names, bit) for names in parts]
    banned = [_bits([name for part in names for name in table.get(part, ())], bit) for names in parts]
    return np.array(own, np.int64), np.array(banned, np.int64)


def _parts(operator: Operator) -> tuple[str, ...]:
    """Return the operators it counts as; a user's own operator counts as all operators in its formula."""
    if operator.definition is None:
        return (operator.name,)
    from ceql.expression.operations import contained

    return tuple(contained(operator.definition[1]))


def _bits(names: Sequence[str], bit: dict[str, np.int64]) -> np.int64:
    return np.bitwise_or.reduce([bit[name] for name in names if name in bit] or [np.int64(0)])
