"""What may be added to a sum, judged by how much of the rest it explains beside the sum's terms and their slopes.

With the slopes taken out as well, a number of the sum that is a little off does no harm; and a term that is added is
judged with its own slopes, so that it need not lie on the grid. All of it is matrix products.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ceql.sums.terms import Sum, Term
from ceql.sums.view import Shelf, View, spanned

Proposal = tuple[float, Sum]  # the share of the rest that would be explained, and the sum

# Of the square of one direction, what others must leave of it, in the precision at hand.
_APART = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-11}
_IN_PAIRS = 1e-3  # in pairs, where rounding has gathered
_TOO_MUCH = 1.01  # explained: it is rounding that explains
_NEW_SLOPE = 1e-9  # of the length of the longest combination of terms and slopes, what a shorter one must have
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
    """None where nothing is left of y, or a column is not finite. Numbers that are known need no slopes."""
    table = view.table
    rest = view.beside(table.y)
    basis = np.zeros((len(rest), 0))
    if found.terms:
        columns, by_term = table.columns_of(found)
        if not np.isfinite(columns).all():
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
    size = np.linalg.norm(columns, axis=0)
    usable = np.isfinite(size) & (size > 0.0)
    return spanned(columns[:, usable] / size[usable], _NEW_SLOPE)


@dataclass(frozen=True, eq=False)
class Beside:
    """The terms of a shelf beside a sum."""

    shelf: Shelf
    near: Surroundings

    @cached_property
    def against(self) -> np.ndarray:
        """The basis times every direction: (width, basis, terms)."""
        return np.stack([self.near.basis.T @ one for one in self.shelf.directions])

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
        """What of the rest lies along each direction: (width, terms)."""
        plain = np.stack([self.near.rest @ one for one in self.shelf.directions])
        return np.einsum("kwf,wf->kf", self.mixing, plain)

    @property
    def gain(self) -> np.ndarray:
        return np.sum(self.along**2, axis=0)

    def directions(self, places: slice | np.ndarray) -> np.ndarray:
        """Orthonormal beside the sum: (width, rows, places)."""
        plain = np.stack(
            [
                one[:, places] - self.near.basis @ c[:, places]
                for one, c in zip(self.shelf.directions, self.against, strict=True)
            ]
        )
        mixing = self.mixing[:, :, places]
        return np.stack([np.sum(plain[: k + 1] * mixing[k, : k + 1, None], axis=0) for k in range(len(plain))])


class Scan:
    """All that is worked out once of the view beside a sum."""

    def __init__(self, view: View, found: Sum, near: Surroundings) -> None:
        self.view, self.found = view, found
        self.policy = view.table.policy
        self.shelves = [Beside(shelf, near.like(shelf.directions)) for shelf in view.shelves]

    def single_terms(self) -> Iterator[Proposal]:
        """A monomial with a factor."""
        for beside in self.shelves:
            gain = beside.gain
            for (k,) in _best(gain, beside.shelf.prices, self.policy.refined, self.policy.weights_of_misfit[0]):
                yield float(gain[k]), with_terms(self.found, beside.shelf.term(k))

    def groups(self) -> Iterator[Proposal]:
        """Two monomials of low degree that share a factor with numbers."""
        for beside in self.shelves:
            if beside.shelf.width > 1:
                yield from self._groups(beside)

    def _groups(self, beside: Beside) -> Iterator[Proposal]:
        shelf, linear = beside.shelf, beside.shelf.block.linear
        prices = self.view.table.monomials.prices
        low = [m for m in np.unique(shelf.places[:, 0]).tolist() if prices[m] <= self.policy.monomial]
        where = {m: np.flatnonzero(shelf.places[:, 0] == m) for m in low}
        for i, a in enumerate(low):
            for b in low[i + 1 :]:
                factors, at_a, at_b = np.intersect1d(
                    shelf.places[where[a], 1], shelf.places[where[b], 1], return_indices=True
                )
                if not len(factors):
                    continue
                one, other = where[a][at_a], where[b][at_b]
                gain = self._together(beside, one, other, linear)
                for (k,) in _best(gain, shelf.prices[one], 1, self.policy.weights_of_misfit[0]):
                    factor = shelf.block.factors[factors[k]]
                    yield float(gain[k]), with_terms(self.found, Term((a, b), (factor,)))

    def _together(self, beside: Beside, one: np.ndarray, other: np.ndarray, linear: int) -> np.ndarray:
        """What terms explain two by two, without their slopes."""
        first, second = beside.directions(one)[:linear], beside.directions(other)[:linear]
        gain = np.sum(beside.along[:linear, one] ** 2, axis=0)
        taken: list[np.ndarray] = []
        rest = beside.near.rest
        for k in range(linear):
            column = second[k]
            for before in [*first, *taken]:
                column = column - before * np.einsum("nf,nf->f", before, column)
            size = np.einsum("nf,nf->f", column, column)
            fresh = size > _IN_PAIRS
            column = np.where(fresh, column / np.sqrt(np.where(fresh, size, 1.0)), 0.0)
            taken.append(column)
            gain = gain + (rest @ column) ** 2
        return gain

    def pairs(self) -> list[Iterator[Proposal]]:
        """Two more terms, by their widths: the second with no number inside or with one."""
        narrow = [beside for beside in self.shelves if beside.shelf.width <= 2]
        return [
            self._pairs(beside, other)
            for beside in self.shelves
            for other in narrow
            if beside is other or beside.shelf.width > other.shelf.width
        ]

    def free_pairs(self) -> Iterator[Proposal]:
        """Of terms without numbers."""
        for beside in self.shelves:
            if beside.shelf.width == 1:
                yield from self._pairs(beside, beside)

    def _pairs(self, one: Beside, other: Beside) -> Iterator[Proposal]:
        policy = self.policy
        count, others = (len(b.shelf.places[: policy.in_pairs[min(b.shelf.width, 3) - 1]]) for b in (one, other))
        first = one.directions(slice(0, count)).astype(np.float32)
        second = other.directions(slice(0, others)).astype(np.float32)
        along = one.along[:, :count].astype(np.float32)
        rest = one.near.rest.astype(np.float32)[:, None] - np.einsum("knf,kf->nf", first, along)
        across = [[a.T @ b for b in second] for a in first]
        u = [rest.T @ b for b in second]
        present = (other.mixing[range(len(second)), range(len(second)), :others] > 0.0).astype(np.float32)
        left = [
            [
                (present[c] if c == d else np.float32(0.0)) - np.sum([a[c] * a[d] for a in across], axis=0)
                for d in range(c + 1)
            ]
            for c in range(len(second))
        ]
        gain = _solved(u, left) + np.sum(along**2, axis=0)[:, None]
        gain = np.where(gain < _TOO_MUCH, gain, 0.0)
        if one is other:
            gain = np.triu(gain, 1)
        prices = one.shelf.prices[:count, None] + other.shelf.prices[:others]
        for i, j in _best(gain, prices, policy.refined, policy.weights_of_misfit[0]):
            yield float(gain[i, j]), with_terms(self.found, one.shelf.term(i), other.shelf.term(j))


def _solved(u: list[np.ndarray], left: list[list[np.ndarray]]) -> np.ndarray:
    """u' L^-1 u of one or two rows; directions of which too little is left are left out."""
    fresh = left[0][0] > _IN_PAIRS
    first = np.where(fresh, u[0] ** 2 / np.where(fresh, left[0][0], 1.0), 0.0)
    if len(u) == 1:
        return first
    share = np.where(fresh, left[1][0] / np.where(fresh, left[0][0], 1.0), 0.0)
    rest, size = u[1] - share * u[0], left[1][1] - share * left[1][0]
    # The second direction is a slope: it may add to the term, never stand for it.
    usable = fresh & (size > _IN_PAIRS)
    return first + np.where(usable, rest**2 / np.where(usable, size, 1.0), 0.0)


def _best(gain: np.ndarray, prices: np.ndarray, most: int, weight: float) -> list[tuple[int, ...]]:
    """Places of the best by gain, and as many by gain and price."""
    flat = gain.ravel()
    count = min(most, flat.size)
    if count == 0:
        return []
    score = np.broadcast_to(prices, gain.shape).ravel() + weight * np.log(np.maximum(1.0 - flat, _ROUNDING))
    index = np.unique([np.argpartition(key, count - 1)[:count] for key in (-flat, score)])
    return list(zip(*(part.tolist() for part in np.unravel_index(index, gain.shape)), strict=True))


# ---- a term changed -------------------------------------------------------------------------------------------------


def swapped(view: View, found: Sum) -> Iterator[Proposal]:
    """Another term in place of one: the first were chosen knowing little."""
    for place in range(len(found.terms)) if len(found.terms) > 1 else ():
        others = found.replaced(place)
        near = surroundings(others, view)
        if near is not None:
            yield from Scan(view, others, near).single_terms()


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
            gain = Beside(shelf, near.like(shelf.directions)).gain
            for (k,) in _best(gain, shelf.prices, policy.refined, policy.weights_of_misfit[0]):
                factor = block.factors[shelf.places[k, 1]]
                if factor.kind and factor.key not in taken:
                    yield float(gain[k]), found.replaced(place, Term(term.monomials, (*term.factors, factor)))


def with_terms(found: Sum, *terms: Term) -> Sum:
    return Sum((*found.terms, *terms))
