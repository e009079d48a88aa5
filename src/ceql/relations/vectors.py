"""For one set of terms at a time, the sum that the rows are closest to, with rows weighted by its own gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ceql.expression.prices import Prices
from ceql.relations.drafts import Draft, Level
from ceql.relations.policy import SupportPolicy
from ceql.relations.rows import Rows
from ceql.relations.supports import Support, by_all, gradient_shares, means
from ceql.relations.surface import thickness_of
from ceql.relations.terms import Dictionary, values_and_slopes

Array = np.ndarray
_LEAST = 1e-200  # stands for a gradient of zero
_RANK = 1e-13  # share of the largest gradient that is added to all so that none is zero


@dataclass(frozen=True, eq=False)
class NullVector:
    """A nearly constant sum of terms: its coefficients, and the squared distance of the rows from it."""

    support: Support
    level: Level
    coefficients: Array
    levels: Array  # one for each group that the level distinguishes
    distance: float


@dataclass(frozen=True, eq=False)
class Nearby:
    """The same terms in rows that were moved by some distance in random directions."""

    dictionary: Dictionary
    reach: float

    @classmethod
    def of(cls, dictionary: Dictionary, rows: Rows, reach: float) -> Nearby:
        return cls(values_and_slopes(dictionary.terms, rows.moved(reach, seed=0)), reach)


@dataclass(frozen=True, eq=False)
class VectorSearch:
    """Finds the best sum for a set of terms in these rows."""

    dictionary: Dictionary
    rows: Rows
    policy: SupportPolicy
    prices: Prices
    exact: float
    independent: float  # smallest sine of the angle to known surfaces for a sum that counts as another one
    mixed: Dictionary | None = None  # the terms for shuffled columns, if a column has few values
    nearby: Nearby | None = None  # given if surfaces are checked for several sheets

    @cached_property
    def _codes(self) -> dict[Level, Array | None]:
        return {Level.OWN: self.rows.codes, Level.ONE: np.zeros_like(self.rows.codes), Level.NONE: None}

    @property
    def widest(self) -> Level:
        return Level.OWN if self.rows.groups > 1 else Level.ONE

    def score(self, vector: NullVector) -> float:
        """The criterion, as far as it is known before numbers are rounded."""
        count = len(self.rows.x)
        constants = {Level.OWN: self.rows.groups, Level.ONE: 1, Level.NONE: 0}[vector.level] + len(vector.support) - 1
        price = sum(self.dictionary.terms[k].price for k in vector.support)
        price += (self.prices.add + self.prices.mul + self.prices.leaf) * constants
        price += self.prices.constant * constants * np.log(count)
        return count * np.log(max(vector.distance, self.exact)) + 2.0 * price

    def best(self, support: Support) -> NullVector:
        """The best sum over all kinds of levels, by the criterion."""
        kinds = [kind for kind in self._codes if kind is not Level.OWN or self.rows.groups > 1]
        return min((self.vector(support, kind) for kind in kinds), key=self.score)

    def thinned(self, vector: NullVector) -> NullVector:
        """The sum without the terms that are not worth their price."""
        while len(vector.support) > 2:
            shorter = [vector.support[:k] + vector.support[k + 1 :] for k in range(len(vector.support))]
            found = min(
                (self.best(support) for support in shorter if self._joins(support)), key=self.score, default=vector
            )
            if self.score(found) >= self.score(vector):
                break
            vector = found
        return vector

    def _joins(self, support: Support) -> bool:
        """Whether the set of terms involves more than one column."""
        return len(frozenset().union(*(self.dictionary.terms[k].columns for k in support))) > 1

    def vector(self, support: Support, level: Level) -> NullVector:
        few, codes = self.dictionary.only(support), self._codes[level]
        size = np.sqrt(np.mean(few.values**2, axis=0))
        values, slopes = few.values / size, few.slopes / size
        weight = by_all(gradient_shares(few), self.policy)
        best = NullVector(support, level, np.zeros(len(support)), np.zeros(1), np.inf)
        for _ in range(self.policy.weighings):
            weight = weight / weight.mean()
            root = np.sqrt(weight)[:, None]
            inner = values if codes is None else values - means(values, codes, weight)[codes]
            vector = _null_vector(inner * root, slopes * root)
            weight = 1.0 / self._floored(np.sum((slopes @ vector) ** 2, axis=0))
            sums = values @ vector
            levels = np.zeros(1) if codes is None else means(sums[:, None], codes, weight)[:, 0]
            distance = float(np.mean((sums - levels[0 if codes is None else codes]) ** 2 * weight))
            if distance < best.distance:
                best = NullVector(support, level, vector / size, levels, distance)
        if not self._is_another(few, best.coefficients) or self._says_nothing(best):
            return replace(best, distance=np.inf)
        return replace(best, distance=best.distance / self._thickness(best))

    def _is_another(self, few: Dictionary, coefficients: Array) -> bool:
        """Whether it typically crosses the surfaces that the rows lie on; one that follows from them would be
        tangent."""
        if self.rows.across is None:
            return True
        sizes = (np.linalg.norm(slopes @ coefficients, axis=0) for slopes in (few.slopes, few.whole))
        beside, whole = sizes
        return bool(np.median(beside / np.maximum(whole, _LEAST)) >= self.independent)

    def _says_nothing(self, vector: NullVector) -> bool:
        """Whether shuffled rows are about as close."""
        if self.mixed is None:
            return False
        squares = self._squares(vector, self.mixed)
        return bool(np.mean(squares) <= self.policy.trivial * max(vector.distance, self.exact))

    def _squares(self, vector: NullVector, elsewhere: Dictionary) -> Array:
        """Squared distances of other rows."""
        few, codes = elsewhere.only(vector.support), self._codes[vector.level]
        left = few.values @ vector.coefficients - vector.levels[0 if codes is None else codes]
        return left**2 / self._floored(np.sum((few.slopes @ vector.coefficients) ** 2, axis=0))

    def _floored(self, squares: Array) -> Array:
        return np.maximum(squares, max(self.policy.flat**2 * float(np.median(squares)), _LEAST))

    @np.errstate(all="ignore")
    def _thickness(self, vector: NullVector) -> float:
        """The thickness as for a finished relation: below 1 if the surface has several sheets."""
        if self.nearby is None or vector.distance <= self.exact:
            return 1.0
        squares = self._squares(vector, self.nearby.dictionary)
        return thickness_of(squares, self.nearby.reach**2 + vector.distance, self.policy)

    def draft(self, vector: NullVector) -> Draft:
        terms = tuple(self.dictionary.terms[k].expression for k in vector.support)
        return Draft(terms, tuple(map(float, vector.coefficients)), vector.level)


def best_drafts(search: VectorSearch, supports: Sequence[Support], most: int, apart: float) -> list[Draft]:
    """The sums of terms with the lowest criteria, none much worse than the best."""
    each = (search.vector(support, search.widest) for support in supports)
    vectors = sorted((vector for vector in each if np.isfinite(vector.distance)), key=search.score)
    if not vectors:
        return []
    if vectors[0].distance <= search.exact:  # exact sums leave out approximate ones
        likely = [vector.support for vector in vectors if vector.distance <= search.exact][: 2 * most]
    else:
        likely = [vector.support for vector in vectors[: 6 * most]]
        reach = search.policy.reach * np.sqrt(vectors[most // 2 if len(vectors) > most else 0].distance)
        nearby = Nearby.of(search.dictionary, search.rows, max(float(reach), search.policy.least_reach))
        search = replace(search, nearby=nearby)
    again = sorted((search.best(support) for support in likely), key=search.score)
    thinned: dict[tuple[Support, Level], NullVector] = {}
    for vector in again[: 2 * most]:
        thin = search.thinned(vector)
        thinned.setdefault((thin.support, thin.level), thin)
    ranked = sorted(thinned.values(), key=search.score)
    return [search.draft(v) for v in ranked[:most] if search.score(v) <= search.score(ranked[0]) + apart]


def _null_vector(values: Array, slopes: Array) -> Array:
    """The combination with the smallest values relative to its gradients; by QR, so that no digits are lost to
    squares."""
    stacked = slopes.reshape(-1, slopes.shape[-1])
    triangle = np.linalg.qr(stacked, mode="r")
    triangle = triangle + np.diag(np.full(len(triangle), _RANK * np.abs(np.diag(triangle)).max()))
    inverse = np.linalg.pinv(triangle)
    _, _, turned = np.linalg.svd(np.linalg.qr(values, mode="r") @ inverse)
    return inverse @ turned[-1]
