"""From weights on live edges to a SymPy expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ceql.network import Searchable
from ceql.network.network import OUTPUT, Network

if TYPE_CHECKING:
    from ceql.data.dataset import Scaling


def in_units(
    network: Searchable, edges: np.ndarray, params: np.ndarray, symbols: Sequence[Any], scaling: Scaling
) -> Any:
    """The formula in the user's units: powers of two are put back into the symbols, so no digit is lost."""
    if not isinstance(network, Network):
        return network.in_units(edges, params, symbols, scaling)
    scaled = [s / float(k) for s, k in zip(symbols, scaling.x, strict=True)]
    return scaling.y * extract(network, edges, params, scaled)


def extract(network: Network, edges: np.ndarray, params: np.ndarray, symbols: Sequence[sympy.Expr]) -> sympy.Expr:
    """The real formula of a network. The imaginary parts must have been dropped, or be negligible, before.

    On the real axis the surrogate of log(a) is log|a|; what is written is log(a). `upright` turns arguments that are
    negative throughout, and the result is to be checked on the data.
    """
    nodes: dict[int, sympy.Expr] = dict(enumerate(symbols))
    nodes[network.one] = sympy.Integer(1)
    for unit, operator in enumerate(network.units):
        if operator.arity == 0:
            nodes[network.node(unit)] = operator.symbolic()
    arguments: dict[int, list[sympy.Expr]] = {}
    for s in network.sums:
        live = [e for e in range(s.first, s.last) if edges[e]]
        terms = [sympy.Float(float(params[e])) * nodes[int(network.edge_source[e])] for e in live]
        total = sympy.Add(*terms)
        if s.unit == OUTPUT:
            return total
        collected = arguments.setdefault(s.unit, [])
        collected.append(total)
        operator = network.units[s.unit]
        if len(collected) == operator.arity:
            # A unit without arguments feeds nothing in a cleaned network; it must not divide by zero here.
            dead = any(part == 0 for part in collected)
            nodes[network.node(s.unit)] = sympy.Integer(0) if dead else operator.symbolic(*collected)
    raise AssertionError("a network ends in its readout")


def upright(network: Searchable, edges: np.ndarray, params: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The same parameters with the argument of every log negated that is negative at all rows of `x`."""
    if not isinstance(network, Network):
        return network.upright(edges, params, x)
    params = params.copy()
    nodes = np.zeros((network.n_nodes, len(x)))
    nodes[: network.n_inputs] = x.T
    nodes[network.one] = 1.0
    arguments: dict[int, list[np.ndarray]] = {}
    for unit, operator in enumerate(network.units):
        if operator.arity == 0:
            nodes[network.node(unit)] = 1.0
    for s in network.sums[:-1]:
        live = np.flatnonzero(edges[s.first : s.last]) + s.first
        total = params[live] @ nodes[network.edge_source[live]] if len(live) else np.zeros(len(x))
        operator = network.units[s.unit]
        if operator.name == "log" and len(live) and (total < 0).all():
            params[live] = -params[live]
            total = -total
        collected = arguments.setdefault(s.unit, [])
        collected.append(total)
        if len(collected) == operator.arity and len(live):
            nodes[network.node(s.unit)] = np.nan_to_num(operator.real(*collected))
    return params
