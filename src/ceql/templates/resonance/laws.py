"""Laws for the dependence of a centre frequency on the conditions: small sums of their powers, roots and products.

These are the one-layer networks of {const, id, square, sqrt, mul} whose inner weights are one. A law is chosen by how
well it predicts conditions that it was not fitted to, leaving out one at a time: with a handful of conditions, the
quality of the fit alone would always favour the most flexible law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import sympy

_FEW = 6  # up to this many basis functions all combinations are tried; with more, the best one is added each time
_GAIN = 0.98  # another coefficient must lower the error to this share, or further if there are few conditions
_EXACT = 1e-6  # relative prediction error below which no coefficient is added
_CURVED = 1.03
_SPAN = 3.0  # the logarithm of a condition is tried if its largest value is this many times its smallest
_MOST = 8  # most coefficients besides the constant

Law = tuple[int, ...]  # indices of its basis functions; there is always a constant as well


@dataclass(frozen=True)
class Function:
    """A basis function of the conditions, numerically and in SymPy."""

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
    """Return the basis functions that differ on these conditions; roots only of conditions that are never negative.

    With `logarithms`, also logarithms of conditions that span a large factor, such as amplitudes of an excitation.
    """
    varying = [k for k in range(conditions.shape[1]) if np.ptp(conditions[:, k]) > 0]
    functions = [Function("id", (k,)) for k in varying]
    for k in varying:
        if len(np.unique(conditions[:, k])) > 2:  # on two values every function is a straight line
            functions += [Function("sqrt", (k,))] if conditions[:, k].min() >= 0 else []
            functions.append(Function("square", (k,)))
            if logarithms and conditions[:, k].min() > 0 and conditions[:, k].max() >= _SPAN * conditions[:, k].min():
                functions.append(Function("log", (k,)))
    functions += [Function("mul", pair) for pair in combinations(varying, 2)]
    return tuple(functions)


def prices(functions: Sequence[Function]) -> np.ndarray:
    """Return the factors on the errors of functions: of two that predict equally well, the linear one is preferred."""
    return np.array([1.0 if function.kind == "id" else _CURVED for function in functions])


def choose(columns: np.ndarray, values: np.ndarray, price: np.ndarray) -> Law:
    """Return the law with the smallest prediction error; each further coefficient must reduce it enough.

    `columns` is (n, K), the basis at the conditions, and `price` that of each function. NaN in `values` marks
    conditions for which nothing is known.
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
        left = n - len(best) - 1  # degrees of freedom
        if errors[chosen] > _GAIN * (left - 1) / left * error:
            break
        best, error = candidates[chosen], errors[chosen]
    return best


def prediction_error(columns: np.ndarray, values: np.ndarray, law: Law) -> float:
    """Return the root mean square error of predicting each condition from a fit to all others."""
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
    """Return least-squares coefficients: the constant, then one per basis function, zero for those not in the law."""
    known = np.isfinite(values)
    design = np.column_stack([np.ones(known.sum()), columns[known][:, list(law)]])
    found = np.zeros(1 + columns.shape[1])
    found[[0, *(1 + k for k in law)]] = np.linalg.lstsq(design, values[known], rcond=None)[0]
    return found
