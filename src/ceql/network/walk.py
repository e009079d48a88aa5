"""The traversal of a network from the inputs to the readout, for any kind of value that a visitor computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ceql.network.wiring import OUTPUT, Sum, Wiring

Value = TypeVar("Value")


def walk(
    wiring: Wiring,
    inputs: Sequence[Value],
    total: Callable[[Sum, Mapping[int, Value]], Value],
    apply: Callable[[int, Sequence[Value]], Value],
) -> Value:
    """Return the value of the readout.

    `inputs` are the values of the raw inputs and of the constant one. `total` computes a weighted sum from the nodes
    before it, and `apply` a unit from its arguments.
    """
    nodes: dict[int, Value] = dict(enumerate(inputs))
    for unit, operator in enumerate(wiring.units):
        if operator.arity == 0:
            nodes[wiring.node(unit)] = apply(unit, ())
    arguments: dict[int, list[Value]] = {}
    for s in wiring.sums:
        value = total(s, nodes)
        if s.unit == OUTPUT:
            return value
        collected = arguments.setdefault(s.unit, [])
        collected.append(value)
        if len(collected) == wiring.units[s.unit].arity:
            nodes[wiring.node(s.unit)] = apply(s.unit, collected)
    raise AssertionError("a network ends in its readout")
