"""Start values for a template's parameters: sizes at which the terms of every sum are about equal.

Users do not say whether a capacitance is about 1 or 1e-6, but the formula and the table do: in 1/R + I*w*C both terms
are about equal at some frequency of the table, and the whole is as large as y. So each sum gives equations between the
logarithms of its parameters, the argument of an exponential is about 1, and least squares solves these equations. Each
start uses another row of the table in every equation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from ceql.expression.complex_parts import UNIT
from ceql.templates.reading import symbol
from ceql.templates.template import Parameter


@dataclass(frozen=True)
class SizePolicy:
    """The numbers that control start values; sizes are in decades."""

    # Spreads of starts around the balance; each is used for an equal share of the starts.
    spreads: tuple[float, ...] = (0.2, 0.2, 1.0, 3.0)
    near_about: float = 0.3  # largest spread for a parameter whose size the user has given
    belief: float = 10.0  # weight of that size, compared with 1 for a balance
    prior: float = 0.03  # weight of a size of 1, for parameters that the formula leaves open
    within: float = 0.5  # share of starts that are drawn uniformly between two bounds


@dataclass(frozen=True, eq=False)
class _Size:
    """The logarithm of a size: `weights` times the logarithms of the parameters, plus an offset for each row."""

    weights: np.ndarray
    offset: np.ndarray

    def __add__(self, other: _Size) -> _Size:
        return _Size(self.weights + other.weights, self.offset + other.offset)

    def __mul__(self, factor: float) -> _Size:
        return _Size(factor * self.weights, factor * self.offset)


class _Balance:
    """The equations that follow from a formula, each as a size that should be 1."""

    def __init__(self, names: Sequence[str], columns: Mapping[str, np.ndarray], rows: int) -> None:
        identity = np.eye(len(names))
        self._nothing = _Size(np.zeros(len(names)), np.zeros(rows))
        self._known = {symbol(name): _Size(identity[k], np.zeros(rows)) for k, name in enumerate(names)}
        self._known |= {symbol(name): _Size(np.zeros(len(names)), _decades(x)) for name, x in columns.items()}
        self._known[UNIT] = self._nothing
        self.equations: list[_Size] = []

    def of(self, expr: Any) -> _Size:
        if expr in self._known:
            return self._known[expr]
        if expr.is_number:
            return self._nothing + _Size(self._nothing.weights, np.array(np.log10(max(abs(complex(expr)), 1e-300))))
        if expr.is_Add:
            terms = [self.of(term) for term in expr.args]
            self.equations += [term + terms[0] * -1.0 for term in terms[1:]]
            return terms[0]
        if expr.is_Mul:
            return sum(map(self.of, expr.args), self._nothing)
        if expr.is_Pow and expr.base is not sympy.E:
            if expr.exp.is_number:
                return self.of(expr.base) * float(sympy.re(expr.exp))
            self.equations.append(self.of(expr.exp))
            return self.of(expr.base)
        for argument in expr.args:
            self.equations.append(self.of(argument))
        return self._nothing


def _decades(values: np.ndarray) -> np.ndarray:
    size = np.abs(values)
    positive = size[size > 0.0]
    return np.log10(np.maximum(size, positive.min() if len(positive) else 1.0))


def drawn_values(
    frame: Any,
    parameters: Mapping[str, Parameter],
    columns: Mapping[str, np.ndarray],
    y: np.ndarray,
    count: int,
    rng: np.random.Generator,
    policy: SizePolicy,
) -> np.ndarray:
    """Return start values of the parameters in this order, one row per start; the first has no spread."""
    balance = _Balance(list(parameters), columns, len(y))
    whole = balance.of(frame)
    size_of_y = _Size(np.zeros(len(parameters)), _decades(y))
    equations = [*balance.equations, whole + size_of_y * -1.0]
    weights = np.array([equation.weights for equation in equations])
    rows = rng.integers(len(y), size=(count, len(equations)))
    offsets = np.array([equation.offset for equation in equations])[np.arange(len(equations)), rows]
    abouts = [parameter.about for parameter in parameters.values()]
    belief = np.array([policy.prior if about is None else policy.belief for about in abouts])
    prior = np.array([0.0 if about is None else np.log10(about) for about in abouts])
    system = np.vstack([weights, np.diag(belief)])
    sides = np.column_stack([-offsets, np.tile(belief * prior, (count, 1))])
    sizes = sides @ np.linalg.pinv(system).T
    spreads = np.array(policy.spreads)[np.arange(count) % len(policy.spreads)]
    spread = np.minimum(spreads[:, None], np.where([about is None for about in abouts], np.inf, policy.near_about))
    spread[0] = 0.0
    sizes += spread * rng.standard_normal(sizes.shape)
    signs = rng.choice([-1.0, 1.0], sizes.shape)
    values = signs * 10.0 ** np.clip(sizes, -300.0, 300.0)
    for k, parameter in enumerate(parameters.values()):
        values[:, k] = _allowed(parameter, values[:, k], rng, policy)
    return values


def _allowed(parameter: Parameter, values: np.ndarray, rng: np.random.Generator, policy: SizePolicy) -> np.ndarray:
    """Return the values moved to the parameter's side of zero and into its bounds."""
    low, high = parameter.low, parameter.high
    if parameter.sign is not None:
        return np.abs(values) if parameter.sign == "+" else -np.abs(values)
    if low >= 0.0 or high <= 0.0:
        values = np.abs(values) if low >= 0.0 else -np.abs(values)
    if np.isfinite(low) and np.isfinite(high):
        anywhere = rng.uniform(low, high, len(values))
        values = np.where(rng.random(len(values)) < policy.within, anywhere, values)
        return np.where((values < low) | (values > high), anywhere, values)
    if np.isfinite(low):
        return np.where(values < low, low + np.abs(values), values)
    return np.where(values > high, high - np.abs(values), values)
