"""A view of the rows: the terms that may be added to a sum, beside functions that are projected out.

What remains of the data beside smooth functions of a column shows its terms that are not smooth. What remains beside
functions of all columns but one shows the terms with that column. So only a few terms of a sum are seen at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.polynomial import chebyshev

from ceql.engine import fit
from ceql.sums.interactions import Pair, scaled
from ceql.sums.table import Block, Table, term_of
from ceql.sums.terms import NOTHING, Sum, Term

_NEW_FUNCTION = 1e-11  # of the length of the longest combination of functions, what a shorter one must have
_AT_ONCE = 128  # terms
_DEGREE_OF_A_KINK = 4.0  # of the polynomials that are as simple as the first function with a kink
_NEAR_ZERO = 0.1  # of the largest size in a column
_LEFT = 1e-7  # of a column's length, what the projection must leave of it: double precision has no more


@dataclass(frozen=True, eq=False)
class Shelf:
    """Monomials with the factors of a block, the cheapest first: directions beside what is projected out."""

    block: Block
    places: np.ndarray  # (terms, 2): monomial and factor
    prices: np.ndarray
    directions: (
        np.ndarray
    )  # (width, coordinates, terms), orthonormal for each term; in double precision if there is but one

    @property
    def width(self) -> int:
        return self.directions.shape[0]

    @cached_property
    def present(self) -> np.ndarray:
        """Which directions are there: (width, terms)."""
        return np.any(self.directions != 0.0, axis=1)

    @cached_property
    def monomials(self) -> list[int]:
        """Those that there are terms of."""
        return np.unique(self.places[:, 0]).tolist()

    def with_monomial(self, monomial: int) -> np.ndarray:
        """The places of its terms."""
        known = self._with_monomial.get(monomial)
        if known is None:
            known = self._with_monomial[monomial] = np.flatnonzero(self.places[:, 0] == monomial)
        return known

    def shared(self, a: int, b: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The factors that two monomials both have, the places of their terms, and the products of the directions of
        these, slopes left out: (linear, linear, factors)."""
        known = self._shared.get((a, b))
        if known is None:
            first, second = self.with_monomial(a), self.with_monomial(b)
            of_both = np.intersect1d(self.places[first, 1], self.places[second, 1], return_indices=True)
            factors, one, other = of_both[0], first[of_both[1]], second[of_both[2]]
            linear = self.directions[: self.block.linear]
            products = np.einsum("wnf,vnf->wvf", linear[:, :, one], linear[:, :, other], dtype=float)
            known = self._shared[a, b] = factors, one, other, products
        return known

    @cached_property
    def _with_monomial(self) -> dict[int, np.ndarray]:
        return {}

    @cached_property
    def _shared(self) -> dict[tuple[int, int], tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        return {}

    @cached_property
    def _terms(self) -> dict[int, Term]:
        return {}

    def term(self, index: int) -> Term:
        known = self._terms.get(index)
        if known is None:  # each is made once, with all that it works out of itself
            m, f = self.places[index].tolist()
            known = self._terms[index] = term_of(m, self.block.factors[f])
        return known


@dataclass(frozen=True, eq=False)
class View:
    """The table, the functions that are projected out, and the columns that a term has to touch to be seen."""

    table: Table
    nuisance: np.ndarray  # (rows, functions), weighted, orthonormal
    touching: frozenset[int] | None = None
    within: frozenset[int] | None = None  # the columns that a term may have
    base: Sum = NOTHING  # of what is projected out, the terms that are known

    @cached_property
    def samples(self) -> fit.Samples:
        """For the core: those of the table, mixed into what is not projected out."""
        given = self.table.samples
        return replace(given, mixing=self._complement.T) if self.nuisance.shape[1] else given

    @cached_property
    def left(self) -> float:
        """The share of the size of y that is not projected out."""
        return float(np.sum(self.beside(self.table.y) ** 2)) / self.table.size

    @cached_property
    def _complement(self) -> np.ndarray:
        return np.linalg.qr(self.nuisance, mode="complete")[0][:, self.nuisance.shape[1] :]

    def beside(self, columns: np.ndarray) -> np.ndarray:
        """What is left of columns, in as many coordinates as there are rows more than functions projected out."""
        return self._complement.T @ columns if self.nuisance.shape[1] else columns

    @cached_property
    def shelves(self) -> tuple[Shelf, ...]:
        """One for each block, as far as there is room."""
        found = [self._shelf(block) for block in self.table.blocks]
        return tuple(shelf for shelf in found if len(shelf.places))

    def _shelf(self, block: Block) -> Shelf:
        table, policy = self.table, self.table.policy
        prices = table.monomials.prices[:, None] + block.prices
        # All factors with the simplest monomials, rather than the cheapest factors with all of them.
        inner = table.inners.prices[[factor.inner for factor in block.factors]]
        plainness = table.monomials.prices[:, None] + 0.3 * inner + 1e-3 * block.prices
        seen = self._seen(block)
        order = np.argsort(np.where(seen, plainness, np.inf), axis=None, kind="stable")
        order = order[: min(policy.most_terms, int(seen.sum()))]
        order = order[np.argsort(prices.ravel()[order], kind="stable")]
        places = np.stack(np.unravel_index(order, prices.shape), axis=1)
        return self._filled(block, places, prices[tuple(places.T)], table.monomials.values[:, places[:, 0]])

    def products(self, block: Block, column: np.ndarray) -> Shelf:
        """A column with every factor of a column."""
        plain = np.flatnonzero([factor.inner < len(self.table.symbols) for factor in block.factors])
        places = np.stack([np.zeros(len(plain), int), plain], axis=1)
        columns = np.broadcast_to(column[:, None], (len(column), len(plain)))
        return self._filled(block, places, block.prices[plain], columns)

    def _filled(self, block: Block, places: np.ndarray, prices: np.ndarray, monomials: np.ndarray) -> Shelf:
        """A few terms at a time, so that they stay in the cache."""
        precision = np.float64 if block.width == 1 else np.float32
        pieces = [np.zeros((block.width, len(self.table.y) - self.nuisance.shape[1], 0), precision)]
        good = np.zeros(len(places), bool)
        for first in range(0, len(places), _AT_ONCE):
            piece = slice(first, first + _AT_ONCE)
            columns = block.by_column[:, :, places[piece, 1]] * monomials[:, piece]
            directions = self._orthonormal(columns)
            good[piece] = directions[0].any(axis=0)
            pieces.append(directions[:, :, good[piece]].astype(precision))
        return Shelf(block, places[good], prices[good], np.concatenate(pieces, axis=2))

    def _seen(self, block: Block) -> np.ndarray:
        """Which monomials with which factors have a column that counts."""
        seen = np.ones((len(self.table.monomials.prices), len(block.factors)), bool)
        if self.touching is not None:
            seen &= self._touches(block, self.touching)
        if self.within is not None:
            seen &= ~self._touches(block, frozenset(range(len(self.table.symbols))) - self.within)
        return seen

    def _touches(self, block: Block, columns: frozenset[int]) -> np.ndarray:
        table, symbols = self.table, {self.table.symbols[k] for k in columns}
        inners = table.inners.touching(symbols)[[factor.inner for factor in block.factors]]
        return table.monomials.touching(symbols)[:, None] | (inners & np.array([f.kind > 0 for f in block.factors]))

    def _orthonormal(self, columns: np.ndarray) -> np.ndarray:
        """Each term's columns beside the nuisance and the ones before; zero where nothing is left."""
        with np.errstate(all="ignore"):
            size = np.sqrt(np.einsum("wnf,wnf->wf", columns, columns))
            usable = (size > 0.0) & np.isfinite(size)
            flat = columns * np.where(usable, 1.0 / size, 0.0)[:, None]
        if not usable.all():
            flat = np.where(usable[:, None], flat, 0.0)
        flat = self.beside(flat)
        for k in range(len(flat)):
            for before in range(k):
                flat[k] -= flat[before] * np.einsum("nf,nf->f", flat[before], flat[k])
            left = np.sqrt(np.einsum("nf,nf->f", flat[k], flat[k]))
            flat[k] *= np.where(left > _LEFT, 1.0 / np.where(left > _LEFT, left, 1.0), 0.0)
        return flat


def plain_view(table: Table) -> View:
    """With nothing projected out."""
    return View(table, np.zeros((len(table.y), 0)))


def view_beside(
    table: Table,
    functions: np.ndarray,
    touching: frozenset[int] | None = None,
    within: frozenset[int] | None = None,
    base: Sum = NOTHING,
) -> View:
    """With these functions, (rows, functions), projected out."""
    weighted = functions * table.root_weight[:, None]
    length = np.linalg.norm(weighted, axis=0)
    usable = np.isfinite(length) & (length > 0.0)
    return View(table, spanned(weighted[:, usable] / length[usable], _NEW_FUNCTION), touching, within, base)


def spanned(columns: np.ndarray, least: float) -> np.ndarray:
    """An orthonormal basis, without directions whose size is below this share of the largest."""
    directions, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return directions[:, sizes > least * sizes.max(initial=0.0)]


def smooth_functions(column: np.ndarray, degree: int) -> np.ndarray:
    """Chebyshev polynomials of a column, up to a degree."""
    return chebyshev.chebvander(scaled(column), degree)


def functions_of(
    x: np.ndarray, columns: Sequence[int], count: int, apart: Collection[Pair] = (), dearer: float = 1.0
) -> np.ndarray:
    """Functions of these columns and products of two, the simplest first: polynomials, and powers with a kink at zero.

    Products of columns that do not act together (`apart`) cost `dearer` times as much as others.
    """
    most = -(-count // max(len(columns), 1)) + 1  # dearer ones would come after `count` functions of one column
    alone = {k: _with_prices(x[:, k], most) for k in columns}
    chosen = [(0.0, np.ones(len(x)), None), *((price, own, None) for k in columns for price, own in alone[k])]
    for j, k in combinations(columns, 2):
        price = 2.0 * (dearer if (j, k) in apart else 1.0)
        # A column times a function of another is what terms of two columns mostly are.
        chosen += [
            (price * (max(a, b) if min(a, b) == 1.0 else a + b), one, other)
            for a, one in alone[j]
            for b, other in alone[k]
            if price * max(a, b) < most
        ]
    chosen.sort(key=lambda entry: entry[0])
    return np.stack([one if other is None else one * other for _, one, other in chosen[:count]], axis=1)


def _with_prices(column: np.ndarray, most: int) -> list[tuple[float, np.ndarray]]:
    """Polynomials, priced by their degree, and functions with a kink, which polynomials follow only slowly."""
    smooth = smooth_functions(column, most)
    found = [(float(a), smooth[:, a]) for a in range(1, most)]
    return [*found, *((_DEGREE_OF_A_KINK + k, kink) for k, kink in enumerate(_kinks(column)))]


def _kinks(column: np.ndarray) -> list[np.ndarray]:
    """Powers that are not polynomials, if the column comes near zero or crosses it."""
    size = np.abs(column) / np.abs(column).max(initial=np.finfo(float).tiny)
    if column.min() < 0.0 < column.max():
        sign = np.sign(column)
        return [size, sign * size**2, sign * np.cbrt(size), size ** (2 / 3)]
    return [np.sqrt(size), np.cbrt(size), size ** (2 / 3), size**1.5] if size.min() < _NEAR_ZERO else []
