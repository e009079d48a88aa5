"""What may be added to a sum, judged by how much it explains beside the terms of the sum and their slopes.

With the slopes taken out as well, a slightly wrong number in the sum does no harm. An added term is judged with its own
slopes, so that its numbers need not lie on the grid. All of this is done by matrix products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from ceql.engine.pairs import Directions, PairRules, best_pairs
from ceql.sums.policy import SumSearchPolicy
from ceql.sums.terms import Sum, Term
from ceql.sums.view import Shelf, View, spanned
from ceql.sums.vocabulary import POLES

Proposal = tuple[float, Sum]  # the share of the rest that would be explained, and the sum

# Of the square of one direction, what others must leave of it, in the precision at hand.
_APART = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-11}
_IN_PAIRS = 1e-3  # in pairs, where rounding has gathered
_ROUNDED = 2e-6  # of a square, what rounding makes of products of directions of which nearly nothing is left
_TOO_MUCH = 1.01  # explained: it is rounding that explains
_NEW_SLOPE = 1e-9  # of the length of the longest combination of terms and slopes, what a shorter one must have
_HUGE = 1e100  # values whose squares are nearly too large for a number
_AT_ONCE = 64  # first terms of pairs, so that they stay in the cache
_ROUNDING = 1e-12  # of the rest, below which it is explained in a scan


@dataclass(frozen=True, eq=False)
class Surroundings:
    """An orthonormal basis of a sum's terms and slopes beside what is projected out, and the rest, of length one."""

    basis: np.ndarray
    rest: np.ndarray

    def like(self, columns: np.ndarray) -> Surroundings:
        """In the precision of these columns."""
        return Surroundings(self.basis.astype(columns.dtype), self.rest.astype(columns.dtype))


def surroundings(found: Sum, view: View, slopes_too: bool = True) -> Surroundings | None:
    """The surroundings of a sum; None if nothing of y is left, or a column is huge or not finite. Known numbers need no
    slopes."""
    table = view.table
    rest = view.beside(table.y)
    basis = np.zeros((len(rest), 0))
    if found.terms:
        columns, by_term = table.columns_of(found)
        if not (np.abs(columns) < _HUGE).all():
            return None
        weights = np.linalg.lstsq(view.beside(columns), rest, rcond=None)[0]
        ends = np.cumsum([term.columns for term in found.terms])[:-1]
        slopes = [slope @ c for slopes, c in zip(by_term, np.split(weights, ends), strict=True) for slope in slopes]
        basis = _orthonormal(view.beside(np.column_stack([columns, *slopes] if slopes_too else [columns])))
        rest = rest - basis @ (basis.T @ rest)
        rest = rest - basis @ (basis.T @ rest)
    length = float(np.linalg.norm(rest))
    if not np.isfinite(length) or length <= 0.0:
        return None
    return Surroundings(basis, rest / length)


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    columns = columns[:, (np.abs(columns) < _HUGE).all(axis=0)]
    size = np.linalg.norm(columns, axis=0)
    return spanned(columns[:, size > 0.0] / size[size > 0.0], _NEW_SLOPE)


@dataclass(frozen=True, eq=False)
class Beside:
    """The terms of a shelf beside a sum."""

    shelf: Shelf
    near: Surroundings
    against: np.ndarray  # the basis times every direction: (width, basis, terms)
    rest_along: np.ndarray  # the rest times every direction: (width, terms)

    @cached_property
    def mixing(self) -> np.ndarray:
        """What makes the directions orthonormal again beside the sum: (width, width, terms), lower triangles."""
        width, _, count = self.shelf.directions.shape
        c = self.against
        gram = -np.einsum("wbf,vbf->wvf", c, c)
        mixing = np.zeros((width, width, count), c.dtype)
        for k in range(width):
            gram[k, k] += self.shelf.present[k]
            own = np.zeros((width, count), c.dtype)
            own[k] = 1.0
            left = gram[k, k].copy()
            for before in range(k):
                share = np.einsum("wf,wf->f", mixing[before], gram[:, k])
                own -= share * mixing[before]
                left -= share**2
            fresh = left > _APART[c.dtype]
            mixing[k] = np.where(fresh, own / np.sqrt(np.where(fresh, left, 1.0)), 0.0)
        return mixing

    @cached_property
    def along(self) -> np.ndarray:
        """What of the rest lies along each direction, beside the sum: (width, terms)."""
        return np.einsum("kwf,wf->kf", self.mixing, self.rest_along)

    @property
    def gain(self) -> np.ndarray:
        return np.sum(self.along**2, axis=0)

    def directions(self, places: slice | np.ndarray, width: int | None = None) -> np.ndarray:
        """Orthonormal beside the sum: (width, rows, places); all of each term or its first ones."""
        columns, mixing = self.shelf.directions[:width], self.mixing[:width, :, places]
        plain = np.empty((len(columns), columns.shape[1], mixing.shape[2]), columns.dtype)
        for one, against, left in zip(columns, self.against, plain, strict=False):
            np.subtract(one[:, places], np.matmul(self.near.basis, against[:, places], out=left), out=left)
        for k in range(len(plain) - 1, -1, -1):  # from the last, since each takes up those before it
            plain[k] *= mixing[k, k]
            for before in range(k):
                plain[k] += plain[before] * mixing[k, before]
        return plain

    def first(self, most: int) -> Directions:
        """The terms that come first, as they are tried in pairs."""
        own = np.arange(self.shelf.width)
        present = self.mixing[own, own, :most] > 0.0
        return Directions(self.directions(slice(0, most)), self.shelf.prices[:most], present)


def beside_each(shelf: Shelf, near: Sequence[Surroundings]) -> list[Beside]:
    """The terms of a shelf beside each of several sums: they are read once for all of them."""
    near = [one.like(shelf.directions) for one in near]
    columns = np.concatenate([part for one in near for part in (one.basis, one.rest[:, None])], axis=1).T
    products = np.stack([columns @ one for one in shelf.directions])
    ends = np.cumsum([one.basis.shape[1] + 1 for one in near])[:-1]
    parts = zip(near, np.split(products, ends, axis=1), strict=True)
    return [Beside(shelf, one, part[:, :-1], part[:, -1]) for one, part in parts]


class Scan:
    """All that is worked out once of the view beside a sum."""

    def __init__(self, view: View, found: Sum, near: Surroundings, threads: int = 1) -> None:
        self.view, self.found, self.rest, self.threads = view, found, near.rest, threads
        self.policy = view.table.policy
        self.shelves = [beside_each(shelf, [near])[0] for shelf in view.shelves]

    def single_terms(self) -> Iterator[Proposal]:
        """A monomial with a factor."""
        for beside in self.shelves:
            yield from _single_terms(self.found, beside, self.policy)

    def groups(self) -> Iterator[Proposal]:
        """Two monomials of low degree that share a factor with numbers."""
        for beside in self.shelves:
            if beside.shelf.width > 1:
                yield from self._groups(beside)

    def _groups(self, beside: Beside) -> Iterator[Proposal]:
        shelf, linear = beside.shelf, beside.shelf.block.linear
        prices = self.view.table.monomials.prices
        low = [m for m in shelf.monomials if prices[m] <= self.policy.monomial]
        for a, b in combinations(low, 2):
            factors, one, other, products = shelf.shared(a, b)
            if not len(factors):
                continue
            gains = np.sum(beside.along[:linear, one] ** 2, axis=0) + _added(beside, one, other, products)
            for gain, k in _best(gains, shelf.prices[one], 1, self.policy.weights_of_misfit[0]):
                yield gain, with_terms(self.found, Term((a, b), (shelf.block.factors[factors[k]],)))

    @cached_property
    def _in_pairs(self) -> list[tuple[Shelf, Directions]]:
        """What is tried in pairs."""
        most = self.policy.in_pairs
        return [(b.shelf, b.first(most[min(b.shelf.width, len(most)) - 1])) for b in self.shelves]

    def pairs(self) -> list[Iterator[Proposal]]:
        """Two more terms, by their widths: the second with no number inside or with one."""
        narrow = [of_shelf for of_shelf in self._in_pairs if of_shelf[0].width <= 2]
        return [
            self._pairs(one, other)
            for one in self._in_pairs
            for other in narrow
            if one is other or one[0].width > other[0].width
        ]

    def free_pairs(self) -> Iterator[Proposal]:
        """Of terms without numbers."""
        for of_shelf in self._in_pairs:
            if of_shelf[0].width == 1:
                yield from self._pairs(of_shelf, of_shelf)

    def _pairs(self, one: tuple[Shelf, Directions], other: tuple[Shelf, Directions]) -> Iterator[Proposal]:
        (shelf, first), (other_shelf, second) = one, other
        rules = PairRules(self.policy.refined, self.policy.weights_of_misfit[0], _IN_PAIRS, _TOO_MUCH, _ROUNDING)
        ordered, threads = one is other, self.threads
        for gain, i, j in best_pairs(first, second, self.rest, rules, ordered=ordered, threads=threads):
            yield gain, with_terms(self.found, shelf.term(i), other_shelf.term(j))


def _added(beside: Beside, one: np.ndarray, other: np.ndarray, products: np.ndarray) -> np.ndarray:
    """What second terms of a shelf explain beside first ones, two by two, without their slopes.

    Of the directions of both the products are known: (linear, linear, terms).
    """
    linear = len(products)
    mix, mix_other = (beside.mixing[:linear, :linear, places] for places in (one, other))
    products = products - np.einsum("wbf,vbf->wvf", *(beside.against[:linear, :, k] for k in (one, other)))
    products = np.einsum("avf,cvf->acf", np.einsum("awf,wvf->avf", mix, products), mix_other)
    largest = np.max([mix[k, k] for k in range(linear)], axis=0) * np.max(
        [mix_other[k, k] for k in range(linear)], axis=0
    )
    least = np.maximum(_IN_PAIRS, _ROUNDED * largest)
    rest = beside.along[:linear, other] - np.einsum("af,acf->cf", beside.along[:linear, one], products)
    gram = -np.einsum("acf,adf->cdf", products, products)
    gain = np.zeros(products.shape[2])
    for k in range(linear):
        left = gram[k, k] + (mix_other[k, k] > 0.0)
        fresh = left > least
        inverse = np.where(fresh, 1.0 / np.where(fresh, left, 1.0), 0.0)
        gain += rest[k] ** 2 * inverse
        for after in range(k + 1, linear):
            share = gram[k, after] * inverse
            rest[after] -= share * rest[k]
            gram[after, after] -= share * gram[k, after]
            for last in range(after + 1, linear):
                gram[after, last] -= share * gram[k, last]
    return gain


def _single_terms(found: Sum, beside: Beside, policy: SumSearchPolicy) -> Iterator[Proposal]:
    for gain, k in _best(beside.gain, beside.shelf.prices, policy.refined, policy.weights_of_misfit[0]):
        yield gain, with_terms(found, beside.shelf.term(k))


class Foremost:
    """The best places by gain, and as many by gain and price, collected piece by piece."""

    def __init__(self, most: int, weight: float) -> None:
        self._most, self._weight = most, weight
        nothing = np.zeros(0), np.zeros(0), np.zeros(0, int)
        self._best = [nothing, nothing]  # by each order: what it goes by, gain, place

    def look_at(self, gain: np.ndarray, prices: np.ndarray, first: int) -> None:
        score = np.maximum(1.0 - gain, gain.dtype.type(_ROUNDING))
        np.log(score, out=score)
        score *= -gain.dtype.type(self._weight)
        score -= prices
        for k, order in enumerate((gain.ravel(), score.ravel())):
            known, gains, places = self._best[k]
            enough = known.min() if len(known) == self._most else -np.inf
            fresh = np.flatnonzero(order > enough)
            if len(fresh) > self._most:
                fresh = fresh[np.argpartition(-order[fresh], self._most - 1)[: self._most]]
            known = np.concatenate([known, order[fresh]])
            chosen = np.argsort(-known, kind="stable")[: self._most]
            gains = np.concatenate([gains, gain.ravel()[fresh]])[chosen]
            self._best[k] = known[chosen], gains, np.concatenate([places, first + fresh])[chosen]

    @property
    def found(self) -> list[tuple[float, int]]:
        """Gains and places."""
        both = {int(p): float(g) for _, gains, places in self._best for g, p in zip(gains, places, strict=True)}
        return [(both[place], place) for place in sorted(both)]


def _best(gain: np.ndarray, prices: np.ndarray, most: int, weight: float) -> list[tuple[float, int]]:
    foremost = Foremost(most, weight)
    foremost.look_at(gain, prices, 0)
    return foremost.found


# ---- a term changed -------------------------------------------------------------------------------------------------


def swapped(view: View, found: Sum) -> Iterator[Proposal]:
    """Another term in place of one: the first were chosen knowing little."""
    others = [found.replaced(place) for place in range(len(found.terms))] if len(found.terms) > 1 else []
    tries = [(left, near) for left in others if (near := surroundings(left, view)) is not None]
    shelves = [beside_each(shelf, [near for _, near in tries]) for shelf in view.shelves] if tries else []
    for (left, _), *besides in zip(tries, *shelves, strict=True):
        for beside in besides:
            yield from _single_terms(left, beside, view.table.policy)


def multiplied(view: View, found: Sum) -> Iterator[Proposal]:
    """A term of the sum times a factor, the others staying."""
    table = view.table
    policy = table.policy
    for place, term in enumerate(found.terms):
        near = surroundings(found.replaced(place), view) if term.columns == 1 and len(term.factors) < 2 else None
        if near is None:
            continue
        own = table.columns_of(Sum((term,)))[0] / table.root_weight[:, None]
        taken = {factor.key for factor in term.factors}
        for block in table.blocks:
            if block.width > 2:
                continue
            shelf = view.products(block, own[:, 0])
            gains = beside_each(shelf, [near])[0].gain
            for gain, k in _best(gains, shelf.prices, policy.refined, policy.weights_of_misfit[0]):
                factor = block.factors[shelf.places[k, 1]]
                if factor.kind and factor.key not in taken:
                    yield gain, found.replaced(place, Term(term.monomials, (*term.factors, factor)))


def over_poles(view: View, found: Sum, near: Surroundings) -> Iterator[Proposal]:
    """A function over a pole that is known: beside the pole itself, what is left of it is smooth."""
    table, policy = view.table, view.table.policy
    known = [t for t in view.base.terms if t.columns == 1 and [f.kind in POLES for f in t.factors] == [True]]
    # A column over the pole is the pole itself and a constant: what is over it may be without that column.
    alone = (replace(term, monomials=(0,)) for term in known)
    for term in dict.fromkeys([*known, *alone]):
        own = table.columns_of(Sum((term,)))[0] / table.root_weight[:, None]
        for block in table.blocks:
            shelf = view.products(block, own[:, 0])
            gains = beside_each(shelf, [near])[0].gain
            for gain, k in _best(gains, shelf.prices, policy.refined, policy.weights_of_misfit[0]):
                factor = block.factors[shelf.places[k, 1]]
                if factor.kind and (view.within is None or factor.inner in view.within):
                    yield gain, with_terms(found, replace(term, factors=(*term.factors, factor)))


def with_terms(found: Sum, *terms: Term) -> Sum:
    return Sum((*found.terms, *terms))
