"""A view of the rows: the terms that may be added to a sum, beside functions that are projected out.

What is left of the data beside smooth functions of a column shows the terms that are not smooth; what is left beside
functions of all columns but one shows the terms with that one. So the terms of a sum are seen a few at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.polynomial import chebyshev

from ceql.engine import fit
from ceql.sums.table import Block, Table, term_of
from ceql.sums.terms import Term

_LEFT = 1e-7  # of a column's length, what the projection must leave of it: double precision has no more


@dataclass(frozen=True, eq=False)
class Shelf:
    """Monomials with the factors of a block, the cheapest first: directions beside what is projected out."""

    block: Block
    places: np.ndarray  # (terms, 2): monomial and factor
    prices: np.ndarray
    directions: np.ndarray  # (width, rows, terms), orthonormal for each term; in double precision if there is but one

    @property
    def width(self) -> int:
        return self.directions.shape[0]

    @cached_property
    def present(self) -> np.ndarray:
        """Which directions are there: (width, terms)."""
        return np.any(self.directions != 0.0, axis=1)

    def term(self, index: int) -> Term:
        m, f = self.places[index].tolist()
        return term_of(m, self.block.factors[f])


@dataclass(frozen=True, eq=False)
class View:
    """The table, the functions that are projected out, and the columns that a term has to touch to be seen."""

    table: Table
    nuisance: np.ndarray  # (rows, functions), weighted, orthonormal
    touching: frozenset[int] | None = None
    within: frozenset[int] | None = None  # the columns that a term may have

    @cached_property
    def samples(self) -> fit.Samples:
        """For the core: those of the table, then what is projected out."""
        given = self.table.samples
        unweighted = self.nuisance / self.table.root_weight[:, None]
        return fit.Samples.of(np.column_stack([given.x, unweighted]), given.y, given.weight)

    @cached_property
    def left(self) -> float:
        """The share of the size of y that is not projected out."""
        return float(np.sum(self.beside(self.table.y) ** 2)) / self.table.size

    def beside(self, columns: np.ndarray) -> np.ndarray:
        """Twice, so that no rounding of the first time is left."""
        once = columns - self.nuisance @ (self.nuisance.T @ columns)
        return once - self.nuisance @ (self.nuisance.T @ once)

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
        columns = monomials[:, :, None] * block.values[:, places[:, 1]]
        directions = self._orthonormal(columns.transpose(2, 0, 1))
        good = directions[0].any(axis=0)
        kept = directions[:, :, good]
        return Shelf(block, places[good], prices[good], kept if block.width == 1 else kept.astype(np.float32))

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
        width, rows, count = columns.shape
        size = np.linalg.norm(columns, axis=1)
        usable = (size > 0.0) & np.isfinite(size)
        with np.errstate(all="ignore"):
            flat = columns * np.where(usable, 1.0 / size, 0.0)[:, None]
        if not usable.all():
            flat = np.where(usable[:, None], flat, 0.0)
        flat = flat.transpose(1, 0, 2).reshape(rows, -1)
        flat = flat - self.nuisance @ (self.nuisance.T @ flat)  # once will do for what is left of them
        flat = flat.reshape(rows, width, count).transpose(1, 0, 2).copy()
        for k in range(width):
            for before in range(k):
                flat[k] -= flat[before] * np.einsum("nf,nf->f", flat[before], flat[k])
            left = np.linalg.norm(flat[k], axis=0)
            fresh = left > _LEFT
            flat[k] = np.where(fresh, flat[k] / np.where(fresh, left, 1.0), 0.0)
        return flat


def plain_view(table: Table) -> View:
    """With nothing projected out."""
    return View(table, np.zeros((len(table.y), 0)))


def view_beside(
    table: Table,
    functions: np.ndarray,
    touching: frozenset[int] | None = None,
    within: frozenset[int] | None = None,
) -> View:
    """With these functions, (rows, functions), projected out."""
    weighted = functions * table.root_weight[:, None]
    weighted = weighted / np.linalg.norm(weighted, axis=0)
    q, r = np.linalg.qr(weighted)
    size = np.abs(np.diag(r))
    return View(table, q[:, size > 1e-10 * size.max(initial=0.0)], touching, within)


def smooth_functions(x: np.ndarray, columns: Sequence[int], count: int) -> np.ndarray:
    """Products of Chebyshev polynomials of one or two of these columns, the simplest first."""
    found = [(0.0, ())]
    most = count + 1
    found += [(float(a), ((k, a),)) for k in columns for a in range(1, most)]
    # A column times a function of another is what terms of two columns mostly are.
    found += [
        (2.0 * max(a, b) if min(a, b) == 1 else 2.0 * (a + b), ((j, a), (k, b)))
        for j, k in combinations(columns, 2)
        for a in range(1, most)
        for b in range(1, most)
        if a + b < most
    ]
    chosen = sorted(found, key=lambda entry: entry[0])[:count]
    low, high = x.min(axis=0), x.max(axis=0)
    scaled = 2.0 * (x - low) / np.where(high > low, high - low, 1.0) - 1.0
    bases = {k: chebyshev.chebvander(scaled[:, k], most) for k in columns}
    products = [np.prod([bases[k][:, a] for k, a in factors], axis=0) for _, factors in chosen[1:]]
    return np.stack([np.ones(len(x)), *products], axis=1)
