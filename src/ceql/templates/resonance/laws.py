"""How a centre frequency depends on the conditions: small sums of powers, roots and products of them.

These are the one-layer networks of {const, id, square, sqrt, mul} whose inner weights are one. A law is chosen by how
well it predicts a condition it was not fitted to, one condition after the other being left out: with a handful of
conditions a criterion of fit alone would always take the most flexible one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import sympy

_FEW = 6  # up to this many basis functions all pairs are tried, above it the best one is added each time
_GAIN = 0.98  # another coefficient must lower the error to this share, and further where conditions are few
_EXACT = 1e-6  # relative error of prediction that asks for nothing more
_CURVED = 1.03
_SPAN = 3.0  # a condition whose largest value is this many times its smallest may act by its logarithm
_MOST = 8  # coefficients beside the constant

Law = tuple[int, ...]  # of which basis functions it consists, beside a constant


@dataclass(frozen=True)
class Function:
    """One basis function of the conditions: values, and the same in SymPy."""

    kind: str  # "id", "square", "sqrt", "log" or "mul"
    columns: tuple[int, ...]

    def values(self, conditions: np.ndarray) -> np.ndarray:
        first, last = conditions[..., self.columns[0]], conditions[..., self.columns[-1]]
        if self.kind == "log":
            return np.log(np.maximum(first, np.finfo(float).tiny))
        with np.errstate(invalid="ignore"):
            return {"id": first, "square": first**2, "mul": first * last}.get(self.kind, np.sqrt(np.abs(first)))

    def symbolic(self, symbols: Sequence[sympy.Symbol]) -> sympy.Expr:
        first, last = symbols[self.columns[0]], symbols[self.columns[-1]]
        if self.kind == "log":
            return sympy.log(first)
        return {"id": first, "square": first**2, "mul": first * last}.get(self.kind, sympy.sqrt(first))


def basis(conditions: np.ndarray, logarithms: bool = False) -> tuple[Function, ...]:
    """The functions that differ on these conditions; roots only of what is never negative.

    With `logarithms` also those of conditions that span a factor, such as amplitudes of an excitation.
    """
    varying = [k for k in range(conditions.shape[1]) if np.ptp(conditions[:, k]) > 0]
    functions = [Function("id", (k,)) for k in varying]
    for k in varying:
        if len(np.unique(conditions[:, k])) > 2:  # on two values everything is a straight line
            functions += [Function("sqrt", (k,))] if conditions[:, k].min() >= 0 else []
            functions.append(Function("square", (k,)))
            if logarithms and conditions[:, k].min() > 0 and conditions[:, k].max() >= _SPAN * conditions[:, k].min():
                functions.append(Function("log", (k,)))
    functions += [Function("mul", pair) for pair in combinations(varying, 2)]
    return tuple(functions)


def prices(functions: Sequence[Function]) -> np.ndarray:
    """What a function's error counts for: of two that predict alike, the straight one is taken."""
    return np.array([1.0 if function.kind == "id" else _CURVED for function in functions])


def choose(columns: np.ndarray, values: np.ndarray, price: np.ndarray) -> Law:
    """The law with the smallest error of prediction; another coefficient must be worth it.

    `columns` is (n, K), the basis at the conditions, and `price` that of each function. NaN in `values` marks
    conditions where nothing is known.
    """
    known = np.isfinite(values)
    columns, values = columns[known], values[known]
    n = len(values)
    if n < 2 or columns.shape[1] == 0:
        return ()
    if n == 2:
        return (0,)
    best: Law = ()
    error = prediction_error(columns, values, best)
    while len(best) < min(_MOST, n - 2):
        count = columns.shape[1]
        if count <= _FEW:
            candidates: list[Law] = list(combinations(range(count), len(best) + 1))
        else:
            candidates = [(*best, k) for k in range(count) if k not in best]
        if not candidates or error <= _EXACT * np.abs(values).max():
            break
        errors = [prediction_error(columns, values, law) for law in candidates]
        chosen = int(np.argmin([e * price[list(law)].max() for e, law in zip(errors, candidates, strict=True)]))
        left = n - len(best) - 1  # conditions that are not used up by coefficients
        if errors[chosen] > _GAIN * (left - 1) / left * error:
            break
        best, error = candidates[chosen], errors[chosen]
    return best


def prediction_error(columns: np.ndarray, values: np.ndarray, law: Law) -> float:
    """Root mean square over conditions, each predicted from a fit to all the others."""
    design = np.column_stack([np.ones(len(values)), columns[:, list(law)]])
    q, r = np.linalg.qr(design)
    diagonal = np.abs(np.diag(r))
    if diagonal.min() < 1e-10 * diagonal.max():
        return np.inf
    leverage = np.sum(q**2, axis=1)
    if leverage.max() > 1.0 - 1e-9:
        return np.inf
    residual = values - q @ (q.T @ values)
    return float(np.sqrt(np.mean((residual / (1.0 - leverage)) ** 2)))


def coefficients(columns: np.ndarray, values: np.ndarray, law: Law) -> np.ndarray:
    """By least squares: the constant, then one coefficient per basis function, zero for those outside the law."""
    known = np.isfinite(values)
    design = np.column_stack([np.ones(known.sum()), columns[known][:, list(law)]])
    found = np.zeros(1 + columns.shape[1])
    found[[0, *(1 + k for k in law)]] = np.linalg.lstsq(design, values[known], rcond=None)[0]
    return found
