"""Which columns of a table act together: pairs whose products explain more than functions of single columns do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.polynomial import chebyshev

Pair = tuple[int, int]


@dataclass(frozen=True)
class InteractionPolicy:
    """How products of two columns are weighed against the rest."""

    degree: int = 10  # highest degree of functions of a single column
    degree_beside: int = 6  # highest degree of functions that are multiplied by another column
    degree_of_both: int = 2  # highest degree of each factor in products of functions of two columns
    passes: int = 5  # rounds of reweighting in which outlying rows, such as those near a pole, lose weight
    far: float = 2.0  # rows lose weight beyond this many times the median residual
    significant: float = 2.0  # a pair acts together if each of its products explains this many times what chance would
    nothing_left: float = 1e-12  # a share of the square of y that is too small to be examined
    rows_a_function: float = 1.6  # with fewer rows per function, no further pairs can be found


def interacting(
    x: np.ndarray, y: np.ndarray, known: np.ndarray, root_weight: np.ndarray, policy: InteractionPolicy
) -> frozenset[Pair]:
    """The pairs of columns that act together in y beside the columns `known`; y and these are weighted.

    The pair that explains most is found first, then the one that explains most beside it, and so on: all pairs together
    would need more functions than the rows can distinguish. If the rows are too few even for the first pair, all pairs
    are returned.
    """
    pairs = list(combinations(range(x.shape[1]), 2))
    bases = [chebyshev.chebvander(scaled(column), policy.degree) for column in x.T]
    products = {(j, k): _products(bases[j], bases[k], policy) * root_weight[:, None] for j, k in pairs}
    alone = np.concatenate([bases[0][:, :1], *(basis[:, 1:] for basis in bases)], axis=1) * root_weight[:, None]
    columns = np.concatenate([known, alone], axis=1)
    found: list[Pair] = []
    while len(found) < len(pairs):
        more = products[pairs[0]].shape[1]
        if len(x) < policy.rows_a_function * (columns.shape[1] + more):
            return frozenset(found or pairs)
        ratios = _ratios(columns, y, {pair: products[pair] for pair in pairs if pair not in found}, policy)
        best = max(ratios, key=lambda pair: ratios[pair])
        if ratios[best] < policy.significant:
            break
        found.append(best)
        columns = np.concatenate([columns, products[best]], axis=1)
    return frozenset(found)


def _ratios(
    columns: np.ndarray, y: np.ndarray, products: dict[Pair, np.ndarray], policy: InteractionPolicy
) -> dict[Pair, float]:
    """What each product of a pair explains beside the columns, in multiples of what chance would."""
    weight = _robust_weight(columns, y, policy)
    basis = np.linalg.qr(columns * weight[:, None])[0]
    rest = _beside(basis, y * weight)
    left = float(rest @ rest)
    if left < policy.nothing_left * float(y @ y):
        return dict.fromkeys(products, 0.0)
    ratios = {}
    for pair, own in products.items():
        directions = np.linalg.qr(_beside(basis, own * weight[:, None]))[0]
        explained = float(np.sum((directions.T @ rest) ** 2))
        spare = len(y) - basis.shape[1] - own.shape[1]
        by_chance = max(left - explained, np.finfo(float).eps * left) / spare
        ratios[pair] = explained / own.shape[1] / by_chance
    return ratios


def _robust_weight(columns: np.ndarray, y: np.ndarray, policy: InteractionPolicy) -> np.ndarray:
    weight = np.ones(len(y))
    for _ in range(policy.passes):
        basis = np.linalg.qr(columns * weight[:, None])[0]
        left = np.abs(_beside(basis, y * weight)) / weight
        weight = 1.0 / np.hypot(1.0, left / (policy.far * float(np.median(left)) or 1.0))
    return weight


def _beside(basis: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return columns - basis @ (basis.T @ columns)


def scaled(column: np.ndarray) -> np.ndarray:
    """To the range from -1 to 1."""
    low, high = column.min(), column.max()
    return 2.0 * (column - low) / (high - low if high > low else 1.0) - 1.0


def _products(one: np.ndarray, other: np.ndarray, policy: InteractionPolicy) -> np.ndarray:
    """Products of Chebyshev polynomials of two columns, mostly a column times a function of the other."""
    most, both = policy.degree_beside, range(2, policy.degree_of_both + 1)
    degrees: Sequence[Pair] = [
        *((1, b) for b in range(1, most + 1)),
        *((a, 1) for a in range(2, most + 1)),
        *((a, b) for a in both for b in both),
    ]
    return np.stack([one[:, a] * other[:, b] for a, b in degrees], axis=1)
