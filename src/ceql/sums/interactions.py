"""Which columns of a table act together: pairs whose products say what functions of single columns do not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.polynomial import chebyshev

Pair = tuple[int, int]


@dataclass(frozen=True)
class InteractionPolicy:
    """How products of two columns are weighed against the rest."""

    degree: int = 6  # Functions of single columns, up to this degree,
    degree_of_products: int = 4  # and products of two columns, up to this one.
    passes: int = 3  # Rows far off, near a pole say, count less: they are weighed anew this often,
    far: float = 3.0  # beyond this many times the middle of what is left.
    significant: float = 5.0  # What each product of a pair explains, in units of what chance does.
    rows_a_function: float = 2.0  # With fewer rows than this for each function nothing can be told.


def interacting(
    x: np.ndarray, y: np.ndarray, known: np.ndarray, root_weight: np.ndarray, policy: InteractionPolicy
) -> frozenset[Pair]:
    """The pairs of columns that act together in y beside columns that are known; y and these are weighted.

    All pairs where the rows cannot tell.
    """
    pairs = list(combinations(range(x.shape[1]), 2))
    bases = [chebyshev.chebvander(scaled(column), policy.degree)[:, 1:] for column in x.T]
    alone = np.concatenate([np.ones((len(x), 1)), *bases], axis=1) * root_weight[:, None]
    products = {(j, k): _products(bases[j], bases[k], policy) * root_weight[:, None] for j, k in pairs}

    def without(*pair: Pair) -> np.ndarray:
        return np.concatenate([known, alone, *(products[p] for p in pairs if p not in pair)], axis=1)

    every = without()
    spare = len(x) - every.shape[1]
    if len(x) < policy.rows_a_function * every.shape[1]:
        return frozenset(pairs)
    weight = np.ones(len(x))
    for _ in range(policy.passes):
        left = np.abs(_left(every, y, weight))
        weight = 1.0 / np.hypot(1.0, left / (policy.far * np.median(left) or 1.0))
    least = _misfit(every, y, weight)
    return frozenset(
        pair
        for pair in pairs
        if _misfit(without(pair), y, weight) > least * (1.0 + policy.significant * products[pair].shape[1] / spare)
    )


def scaled(column: np.ndarray) -> np.ndarray:
    """To the range from -1 to 1."""
    low, high = column.min(), column.max()
    return 2.0 * (column - low) / (high - low if high > low else 1.0) - 1.0


def _products(one: np.ndarray, other: np.ndarray, policy: InteractionPolicy) -> np.ndarray:
    most = policy.degree_of_products
    return np.stack([one[:, a] * other[:, b] for a in range(most) for b in range(most) if a + b + 2 <= most], axis=1)


def _left(columns: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return y - columns @ np.linalg.lstsq(columns * weight[:, None], y * weight, rcond=None)[0]


def _misfit(columns: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    return float(np.sum((weight * _left(columns, y, weight)) ** 2))
