"""Converts weights on live edges into a SymPy expression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ceql.network.walk import walk
from ceql.network.wiring import OUTPUT, Sum, Wiring

if TYPE_CHECKING:
    from ceql.data.dataset import Scaling


def in_units(network: Wiring, edges: np.ndarray, params: np.ndarray, symbols: Sequence[Any], scaling: Scaling) -> Any:
    """Return the formula in the user's units. The scales are powers of two, so no digit is lost."""
    scaled = [s / float(k) for s, k in zip(symbols, scaling.x, strict=True)]
    return scaling.y * extract(network, edges, params, scaled)


def extract(network: Wiring, edges: np.ndarray, params: np.ndarray, symbols: Sequence[sympy.Expr]) -> sympy.Expr:
    """Return the real formula of a network whose imaginary parts are dropped or negligible.

    On the real axis the surrogate of log(a) is log|a|, but the formula has log(a). `upright` negates arguments that are
    negative throughout; the caller must check the result on the data.
    """

    def total(s: Sum, nodes: Mapping[int, sympy.Expr]) -> sympy.Expr:
        live = (e for e in range(s.first, s.last) if edges[e])
        return sympy.Add(*(sympy.Float(float(params[e])) * nodes[int(network.edge_source[e])] for e in live))

    def apply(unit: int, arguments: Sequence[sympy.Expr]) -> sympy.Expr:
        # A unit without arguments feeds nothing in a cleaned network; it must not divide by zero here.
        dead = any(part == 0 for part in arguments)
        return sympy.Integer(0) if dead else network.units[unit].symbolic(*arguments)

    return walk(network, [*symbols, sympy.Integer(1)], total, apply)


def upright(network: Wiring, edges: np.ndarray, params: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the parameters with the argument of a log negated wherever it is negative in all rows of `x`."""
    params = params.copy()

    def total(s: Sum, nodes: Mapping[int, np.ndarray]) -> np.ndarray:
        live = np.flatnonzero(edges[s.first : s.last]) + s.first
        value = sum((params[e] * nodes[int(network.edge_source[e])] for e in live), np.zeros(len(x)))
        if s.unit != OUTPUT and network.units[s.unit].name == "log" and len(live) and (value < 0).all():
            params[live] = -params[live]
            return -value
        return value

    def apply(unit: int, arguments: Sequence[np.ndarray]) -> np.ndarray:
        return np.nan_to_num(network.units[unit].real(*arguments)) + np.zeros(len(x))

    walk(network, [*x.T, np.ones(len(x))], total, apply)
    return params
