"""Polynomials that are reduced term by term, which finds laws too long to be built up term by term.

All products of powers up to a degree are fitted at once in the integral form. The least important one is left out,
until one is left, and the sums with the best scores on the way are kept. A sum that is built up must be good with every
number of terms; one that is reduced need not be.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import sympy

from ceql.dynamics.integral_form import IntegralTarget
from ceql.dynamics.policy import ELIMINATION, EliminationPolicy
from ceql.dynamics.shapes import Shape, shape_of
from ceql.engine.one_thread import one_thread
from ceql.expression.prices import PRICES, structure_price
from ceql.formula import Formula

_RIDGE = 1e-10  # of a term: what keeps terms apart that are the same on these rows


@one_thread
def taken_down(
    target: IntegralTarget, symbols: Sequence[sympy.Symbol], floor: float, policy: EliminationPolicy = ELIMINATION
) -> list[Formula]:
    """The best sums on the way down from all products of powers, for every degree that has enough samples."""
    found: dict[Shape, Formula] = {}
    for degree in policy.degrees:
        terms = monomials(symbols, degree)
        if len(terms) <= min(policy.most_terms, policy.share * target.rows):
            for formula in _of_degree(target, terms, tuple(symbols), floor, policy):
                found.setdefault(shape_of(formula.expression), formula)
    return list(found.values())


def monomials(symbols: Sequence[sympy.Symbol], degree: int) -> list[Any]:
    """All products of powers up to this degree, the constant first."""
    powers = range(degree + 1)
    return [sympy.Mul(*group) for power in powers for group in combinations_with_replacement(symbols, power)]


def _of_degree(
    target: IntegralTarget, terms: list[Any], symbols: tuple[sympy.Symbol, ...], floor: float, policy: EliminationPolicy
) -> list[Formula]:
    values = np.column_stack([Formula(term, symbols, 0.0)(target.path.rows) for term in terms])
    columns = target.path.integrals(values)
    sizes = np.linalg.norm(columns, axis=0)
    usable = np.flatnonzero(np.isfinite(sizes) & (sizes > 0.0))
    columns = columns[:, usable] / sizes[usable]
    prices = np.array([structure_price(terms[k]) for k in usable]) + PRICES.add + PRICES.mul
    prices += PRICES.constant * np.log(target.rows)
    steps = []
    for kept, weights, left in _way_down(columns, target.values):
        loss = left / target.rows
        score = target.rows * np.log(loss + floor**2) + 2.0 * float(np.sum(prices[kept]))
        steps.append((score, loss, kept, weights))
    steps.sort(key=lambda step: step[0])
    found = []
    for _, loss, kept, weights in steps[: policy.kept]:
        parts = (sympy.Float(w / sizes[usable[k]]) * terms[usable[k]] for k, w in zip(kept, weights, strict=True))
        found.append(Formula(sympy.Add(*parts), symbols, float(loss)))
    return found


def _way_down(columns: np.ndarray, y: np.ndarray):
    """The remaining terms, their weights, and their sum of squared residuals, step by step."""
    kept = np.arange(columns.shape[1])
    while len(kept):
        own = columns[:, kept]
        q, r = np.linalg.qr(np.vstack([own, _RIDGE * np.eye(len(kept))]))
        inverse = np.linalg.inv(r)
        weights = inverse @ (q[: len(y)].T @ y)
        yield kept, weights, float(np.sum((own @ weights - y) ** 2))
        # What leaving a term out adds to the squares, all others fitted anew.
        kept = np.delete(kept, int(np.argmin(weights**2 / np.sum(inverse**2, axis=1))))
