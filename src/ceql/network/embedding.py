"""Converts a formula into edges and weights of a network: the inverse of `extract`.

Sums become weighted sums. Everything else becomes a free unit in the first layer that has access to its arguments, or
in the last layer that leaves room for the units above it. A product of sums is one unit; a product of many factors is
split in halves. A formula does not fit if the library lacks a unit for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sympy import E, Mul, Rational

from ceql.expression.symbolic import Expr, above_and_below
from ceql.network.wiring import OUTPUT, Wiring
from ceql.operators import functions

Weights = dict[int, float]  # weight by node


class _Misfit(Exception):
    """The formula does not fit into the network."""


def embed(
    expression: Expr,
    network: Wiring,
    symbols: Sequence[Any],
    x_scale: Sequence[float] | np.ndarray,
    y_scale: float,
    late: bool = False,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return edges and parameters that compute the formula over scaled columns; None if it does not fit.

    Units are placed in layers as early as possible, or as `late` as possible.
    """
    try:
        return _Builder(network, symbols, x_scale, late).build(expression, y_scale)
    except _Misfit:
        return None


class _Builder:
    def __init__(
        self, network: Wiring, symbols: Sequence[Any], x_scale: Sequence[float] | np.ndarray, late: bool
    ) -> None:
        self.network, self.late = network, late
        self.inputs: Mapping[Any, tuple[int, float]] = {s: (k, float(x_scale[k])) for k, s in enumerate(symbols)}
        self.free = set(range(len(network.units)))
        self.known: dict[Expr, Weights] = {}
        self.weights: dict[int, float] = {}  # weight by edge

    def build(self, expression: Expr, y_scale: float) -> tuple[np.ndarray, np.ndarray]:
        readout = self.linear(expression, len(self.network.layers) - 1)
        self._connect(OUTPUT, 0, {node: weight / y_scale for node, weight in readout.items()})
        edges, params = np.zeros(self.network.n_edges, bool), np.zeros(self.network.n_params)
        for edge, weight in self.weights.items():
            edges[edge], params[edge] = True, weight
        if not edges.any() or not np.isfinite(params).all():
            raise _Misfit
        return edges, params

    def linear(self, expression: Expr, last: int) -> Weights:
        """Return the expression as a weighted sum over nodes up to layer `last`."""
        total: Weights = {}
        for term in expression.as_ordered_terms() if expression.is_Add else [expression]:
            for node, weight in self._term(term, last).items():
                total[node] = total.get(node, 0.0) + weight
        return {node: weight for node, weight in total.items() if weight != 0.0}

    def _term(self, term: Expr, last: int) -> Weights:
        if term.is_number:
            return {self.network.one: _real(term)}
        numbers = [factor for factor in Mul.make_args(term) if factor.is_number]
        rest = Mul(*(factor for factor in Mul.make_args(term) if not factor.is_number))
        factor = _real(Mul(*numbers))
        if rest in self.inputs:
            node, scale = self.inputs[rest]
            return {node: factor * scale}
        if rest.is_Add:
            return {node: factor * weight for node, weight in self.linear(rest, last).items()}
        if rest not in self.known:
            self.known[rest] = self._unit(rest, last)
        return {node: factor * weight for node, weight in self.known[rest].items()}

    def _unit(self, rest: Expr, last: int) -> Weights:
        if rest.is_Mul:
            return self._product(rest, last)
        if rest.is_Pow and rest.base is not E:
            return self._power(rest.base, rest.exp, last)
        if rest.is_Pow:
            return self._place(last, "exp", rest.exp)
        function = functions.of_kind(rest.func)
        if function is None:
            raise _Misfit
        return self._place(last, function.name, rest.args[0])

    def _product(self, rest: Expr, last: int) -> Weights:
        above, below = above_and_below(rest)
        if below:
            return self._place(last, "div", Mul(*above), Mul(*below))
        half = len(above) // 2
        return self._place(last, "mul", Mul(*above[:half]), Mul(*above[half:]))

    def _power(self, base: Expr, exponent: Expr, last: int) -> Weights:
        if not exponent.is_number:
            return self._place(last, "exp", exponent * functions.get("log").symbolic(base))
        if exponent.is_negative:
            return self._place(last, "div", Rational(1), base ** (-exponent))
        left = {self.network.units[unit].name for unit in self.free}
        for name, power in (("square", Rational(2)), ("cube", Rational(3)), ("sqrt", Rational(1, 2))):
            if exponent == power and name in left:
                return self._place(last, name, base)
        if exponent.is_Integer:
            half = int(exponent) // 2
            return self._place(last, "mul", base**half, base ** (int(exponent) - half))
        return self._place(last, "pow", base, exponent)

    def _place(self, last: int, name: str, *arguments: Expr) -> Weights:
        sums = [self.linear(argument, last - 1) for argument in arguments]
        if not all(sums):
            raise _Misfit
        early_enough = [unit for unit in self.free if self.network.layer_of_unit[unit] <= last]
        for unit in sorted(early_enough, reverse=self.late):
            if self.network.units[unit].name == name and self._sees(unit, sums):
                self.free.discard(unit)
                for position, weights in enumerate(sums):
                    self._connect(unit, position, weights)
                return {self.network.node(unit): 1.0}
        raise _Misfit

    def _sees(self, unit: int, sums: list[Weights]) -> bool:
        own = [s for s in self.network.sums if s.unit == unit]
        sources = [set(self.network.edge_source[s.first : s.last].tolist()) for s in own]
        return len(own) == len(sums) and all(set(w) <= seen for w, seen in zip(sums, sources, strict=True))

    def _connect(self, unit: int, position: int, weights: Weights) -> None:
        (s,) = (s for s in self.network.sums if s.unit == unit and s.position == position)
        for node, weight in weights.items():
            places = np.flatnonzero(self.network.edge_source[s.first : s.last] == node)
            if not len(places):
                raise _Misfit
            self.weights[s.first + int(places[0])] = weight


def _real(number: Expr) -> float:
    try:
        return float(number)
    except TypeError:
        raise _Misfit from None
