"""Sets of terms with a sum that is nearly the same in all rows.

A sum of terms vanishes on a surface. To first order, the distance of a row from it is the value of the sum divided by
the size of its gradient, with columns in units of their standard deviations. This treats noise in every column
correctly, does not depend on the scale of the sum, and does not reward terms that are merely nearly constant. For a set
of terms, the smallest ratio of the mean squares of values and gradients is an eigenvalue of a pair of small matrices,
so that many thousand sets can be compared in a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ceql.expression.prices import Prices
from ceql.relations.policy import SupportPolicy
from ceql.relations.terms import Dictionary

Array = np.ndarray
Support = tuple[int, ...]  # places of terms, in order
_LEAST = 1e-200  # stands for a gradient of zero
_STEPS = 6  # steps of Newton's method; a tiny root takes one


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean products of the centred terms and of their gradients, and the prices of terms.

    Where gradients vary a lot, a few rows may hide the others. Rows are therefore weighted in several ways: the true
    relation is close in all of them.
    """

    values: Array  # (weightings, terms, terms)
    slopes: Array  # (weightings, terms, terms)
    prices: Array  # price of each term in a sum, including its constant
    rows: int
    policy: SupportPolicy
    mixed: Moments | None = None  # moments of the same terms for shuffled columns

    def say_nothing(self, supports: Array, distances: Array) -> Array:
        """Which sets are about as close when the columns are shuffled, as happens for columns with few values."""
        if self.mixed is None:
            return np.zeros(len(supports), bool)
        return self.mixed.distances(supports, 0) <= self.policy.trivial * distances

    def distances(self, supports: Array, weighting: int) -> Array:
        """The smallest squared distance for each of these sets of terms, which all have the same size."""
        places = supports[:, :, None], supports[:, None, :]
        found = _least_eigenvalues(self.values[weighting][places], self.slopes[weighting][places])
        return np.maximum(found, self.policy.least_distance)

    def at_first(self, supports: Array) -> Array:
        """The criterion in the first weighting, up to a constant."""
        distances = self.distances(supports, 0)
        return np.where(self.say_nothing(supports, distances), np.inf, self._scores(distances, supports))

    def scores(self, supports: Array) -> Array:
        """The criterion in the worst weighting, up to a constant."""
        worst = np.max([self.distances(supports, weighting) for weighting in range(len(self.values))], axis=0)
        return np.where(self.say_nothing(supports, worst), np.inf, self._scores(worst, supports))

    def _scores(self, distances: Array, supports: Array) -> Array:
        return self.rows * np.log(distances) + 2.0 * self.prices[supports].sum(axis=1)


def _least_eigenvalues(values: Array, slopes: Array) -> Array:
    """The smallest generalised eigenvalues of pairs of matrices, the second of which is positive definite."""
    if values.shape[-1] == 2:
        return _of_pairs(values, slopes)
    if values.shape[-1] == 3:
        return _of_triples(values, slopes)
    triangle = np.linalg.cholesky(slopes)
    half = np.linalg.solve(triangle, values)
    whole = np.linalg.solve(triangle, half.transpose(0, 2, 1))
    return np.linalg.eigvalsh(0.5 * (whole + whole.transpose(0, 2, 1)))[:, 0]


def _of_pairs(values: Array, slopes: Array) -> Array:
    """The smallest eigenvalues of pairs of 2x2 matrices: the smaller root of a quadratic, written without
    cancellation."""
    a = slopes[:, 0, 0] * slopes[:, 1, 1] - slopes[:, 0, 1] ** 2
    b = values[:, 0, 0] * slopes[:, 1, 1] + values[:, 1, 1] * slopes[:, 0, 0]
    b = b - 2.0 * values[:, 0, 1] * slopes[:, 0, 1]
    c = values[:, 0, 0] * values[:, 1, 1] - values[:, 0, 1] ** 2
    return 2.0 * c / (b + np.sqrt(np.maximum(b * b - 4.0 * a * c, 0.0)))


def _of_triples(values: Array, slopes: Array) -> Array:
    """The smallest eigenvalues of pairs of 3x3 matrices: the smallest root of a cubic, by Newton's method from zero."""
    a, b = values.reshape(-1, 9).T, slopes.reshape(-1, 9).T
    c0, c1, c2, c3 = _determinant(a, a, a), _mixed(a, a, b), _mixed(b, b, a), _determinant(b, b, b)
    root = np.zeros(len(values))
    for _ in range(_STEPS):
        slope = -c1 + root * (2.0 * c2 - 3.0 * root * c3)
        value = c0 + root * (-c1 + root * (c2 - root * c3))
        root = np.where(slope < 0.0, root - value / np.where(slope < 0.0, slope, -1.0), root)
    return root


def _mixed(a: Array, b: Array, other: Array) -> Array:
    """The sum of the determinants in which one row is replaced by that of the other matrix."""
    return _determinant(a, b, other) + _determinant(a, other, b) + _determinant(other, a, b)


def _determinant(first: Array, second: Array, third: Array) -> Array:
    """The determinants of matrices whose rows come from three different arrays of matrices."""
    minor = second[4] * third[8] - second[5] * third[7], second[3] * third[8] - second[5] * third[6]
    return first[0] * minor[0] - first[1] * minor[1] + first[2] * (second[3] * third[7] - second[4] * third[6])


def moments_of(
    dictionary: Dictionary, codes: Array, prices: Prices, policy: SupportPolicy, mixed: Dictionary | None = None
) -> Moments:
    """The moments of a dictionary, centred within the groups, since the constant of each group is free.

    `mixed` has the same terms for shuffled columns.
    """
    shares = gradient_shares(dictionary)
    rows = len(shares)
    each = [_weighted_products(dictionary, codes, weight, policy) for weight in _weightings(shares, policy)]
    constant = prices.constant * np.log(rows)
    costs = np.array([term.price + prices.add + prices.mul + prices.leaf + constant for term in dictionary.terms])
    beside = None if mixed is None else moments_of(mixed, codes, prices, replace(policy, weightings=1))
    values, slopes = (np.array(part) for part in zip(*each, strict=True))
    return Moments(values, slopes, costs, rows, policy, beside)


def _weighted_products(
    dictionary: Dictionary, codes: Array, weight: Array, policy: SupportPolicy
) -> tuple[Array, Array]:
    root = np.sqrt(weight / weight.mean())[:, None]
    inner = (dictionary.values - means(dictionary.values, codes, weight)[codes]) * root
    size = np.sqrt(np.mean(inner**2, axis=0))
    values, rows = inner / size, len(inner)
    slopes = dictionary.slopes * root / size
    products = sum(part.T @ part for part in slopes) / rows
    return values.T @ values / rows, products + np.diag(policy.ridge * np.diag(products))


def _weightings(shares: Array, policy: SupportPolicy) -> list[Array]:
    """Weights of the rows: by the gradients of all terms together, and by those of the most dissimilar single terms."""
    floored = np.maximum(shares, policy.flat**2 * np.median(shares, axis=0))
    found = [by_all(shares, policy)]
    profiles = np.log(floored)
    profiles = profiles - profiles.mean(axis=0)
    away = np.full(shares.shape[1], np.inf)
    for _ in range(policy.weightings - 1):
        last = -np.log(found[-1])
        away = np.minimum(away, np.mean((profiles - (last - last.mean())[:, None]) ** 2, axis=0))
        found.append(1.0 / floored[:, int(np.argmax(away))])
    return found


def by_all(shares: Array, policy: SupportPolicy) -> Array:
    """The weights of rows by the gradients of all terms together."""
    return 1.0 / np.maximum(shares.mean(axis=1), policy.flat**2)


def gradient_shares(dictionary: Dictionary) -> Array:
    """The squared gradient of each term in each row, relative to its mean."""
    squares = np.sum(dictionary.slopes**2, axis=0)
    return squares / np.maximum(squares.mean(axis=0), _LEAST)


def means(values: Array, codes: Array, weight: Array) -> Array:
    """The weighted mean of each group."""
    totals = np.zeros((codes.max() + 1, values.shape[1]))
    np.add.at(totals, codes, values * weight[:, None])
    share = np.bincount(codes, weights=weight, minlength=len(totals))
    return totals / np.maximum(share, 1e-300)[:, None]


def search(moments: Moments, columns: Sequence[frozenset[int]], policy: SupportPolicy) -> list[list[Support]]:
    """The best sets of each size from two: from all pairs, all triples of cheap terms, and sets grown term by term."""
    count = len(columns)
    if count < 2:
        return []
    beam = _beam(np.array(list(combinations(range(count), 2))), moments, columns, policy.pairs, policy)
    found = [beam]
    if not beam:
        return []
    for size in range(3, min(policy.largest, count) + 1):
        grown = _grown(np.array(beam), count)
        if size == 3:
            cheap = np.sort(np.argsort(moments.prices, kind="stable")[: policy.in_triples])
            grown = np.unique(np.concatenate([grown, cheap[_triples(len(cheap))]]), axis=0)
        beam = _beam(grown, moments, columns, policy.triples if size == 3 else policy.beam, policy)
        beam = _swapped(beam, moments, columns, policy) if beam else beam
        if not beam:
            break
        found.append(beam)
        beam = beam[: policy.beam]
    return found


def _triples(count: int) -> Array:
    one, two, three = np.ogrid[:count, :count, :count]
    return np.argwhere((one < two) & (two < three))


def _grown(beam: Array, count: int) -> Array:
    wider = np.concatenate([np.repeat(beam, count, axis=0), np.tile(np.arange(count), len(beam))[:, None]], axis=1)
    return _different(wider)


def _different(supports: Array) -> Array:
    """The distinct sets without repeated terms, with their terms in order."""
    supports = np.sort(supports, axis=1)
    return np.unique(supports[(np.diff(supports, axis=1) > 0).all(axis=1)], axis=0)


def _swapped(
    beam: list[Support], moments: Moments, columns: Sequence[frozenset[int]], policy: SupportPolicy
) -> list[Support]:
    """The best of these sets and of their neighbours, in which one term is exchanged."""
    best = np.array(beam[: policy.swapped])
    sides = [np.delete(best, place, axis=1) for place in range(best.shape[1])]
    others = _grown(np.unique(np.concatenate(sides), axis=0), len(columns))
    both = np.unique(np.concatenate([np.array(beam), others]), axis=0)
    return _beam(both, moments, columns, max(len(beam), policy.beam), policy)


def _beam(
    supports: Array, moments: Moments, columns: Sequence[frozenset[int]], most: int, policy: SupportPolicy
) -> list[Support]:
    """The best sets, and the best few for each set of columns.

    Sets of a single column are left out, since they cannot be relations.
    """
    if len(supports) > policy.screened:
        supports = supports[np.argpartition(moments.at_first(supports), policy.screened)[: policy.screened]]
    scores = moments.scores(supports)
    order = np.argsort(scores, kind="stable")
    chosen: list[Support] = []
    taken: dict[frozenset[int], int] = {}
    for rank, place in enumerate(order):
        if np.isinf(scores[place]):
            break
        support = tuple(supports[place].tolist())
        held = frozenset().union(*(columns[k] for k in support))
        taken[held] = taken.get(held, 0) + 1
        if len(held) > 1 and (rank < most or taken[held] <= policy.a_set_of_columns):
            chosen.append(support)
        if rank > 20 * most:
            break
    return chosen
