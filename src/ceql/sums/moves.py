"""What may be added to a sum, judged by how much of the rest it explains beside the sum's terms and their slopes.

With the slopes taken out as well, a number of the sum that is a little off does no harm; and a term that is added is
judged with its own slopes, so that it need not lie on the grid. All of it is matrix products.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ceql.sums.table import Block, Table, term_of
from ceql.sums.terms import Sum, Term, columns_of

Proposal = tuple[float, Sum]  # the share of the rest that would be explained, and the sum

_APART = 1e-4  # of the square of one direction, what others must leave of it in single precision
_ROUNDING = 1e-12  # of the rest, below which it is explained in a scan
_LEAST = 1e-5  # of a column's length, what the others must leave of it in a scan of pairs


@dataclass(frozen=True, eq=False)
class Surroundings:
    """An orthonormal basis of a sum's terms and slopes, and what they leave of y, of length one."""

    basis: np.ndarray
    rest: np.ndarray

    @property
    def vectors(self) -> np.ndarray:
        return np.column_stack([self.rest, self.basis])

    def in_single(self) -> Surroundings:
        return Surroundings(self.basis.astype(np.float32), self.rest.astype(np.float32))

    def beside(self, columns: np.ndarray) -> np.ndarray:
        return columns - self.basis @ (self.basis.T @ columns)


def surroundings(found: Sum, table: Table) -> Surroundings | None:
    """None where nothing is left of y, or a column is not finite."""
    basis, rest = np.zeros((len(table.y), 0)), table.y
    if found.terms:
        parts = [columns_of(term, table.inners.values, table.monomials.values) for term in found.terms]
        columns = np.concatenate([own for own, _ in parts], axis=1) * table.root_weight[:, None]
        if not np.isfinite(columns).all():
            return None
        weights = np.linalg.lstsq(columns, table.y, rcond=None)[0]
        ends = np.cumsum([own.shape[1] for own, _ in parts])[:-1]
        slopes = [
            table.root_weight * (slope @ c)
            for (_, slopes), c in zip(parts, np.split(weights, ends), strict=True)
            for slope in slopes
        ]
        basis = _orthonormal(np.column_stack([columns, *slopes]))
        rest = rest - basis @ (basis.T @ rest)
        rest = rest - basis @ (basis.T @ rest)
    length = float(np.linalg.norm(rest))
    return Surroundings(basis, rest / length) if np.isfinite(length) and length > 0.0 else None


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    size = np.linalg.norm(columns, axis=0)
    columns = columns[:, np.isfinite(size) & (size > 0.0)]
    q, r = np.linalg.qr(columns / np.linalg.norm(columns, axis=0))
    return q[:, np.abs(np.diag(r)) > 1e-9]


def _explained(gram: np.ndarray, against: np.ndarray, least: np.ndarray) -> np.ndarray:
    """b' G^-1 b of blocks of few columns by elimination; columns of which less is left than the least are left out."""
    gram, b = gram.copy(), against.copy()
    gain = np.zeros(b.shape[:-1])
    for k in range(b.shape[-1]):
        fresh = gram[..., k, k] > least[..., k]
        inverse = np.where(fresh, 1.0 / np.where(fresh, gram[..., k, k], 1.0), 0.0)
        gain += b[..., k] ** 2 * inverse
        for j in range(k + 1, b.shape[-1]):
            share = gram[..., j, k] * inverse
            b[..., j] -= share * b[..., k]
            gram[..., j:, j] -= gram[..., j:, k] * share[..., None]
    return gain


def _best(gain: np.ndarray, prices: np.ndarray, most: int, table: Table) -> list[tuple[int, ...]]:
    """Places of the best by gain, and as many by gain and price."""
    flat = gain.ravel()
    count = min(most, flat.size)
    if count == 0:
        return []
    weight = table.policy.weights_of_misfit[0]
    score = np.broadcast_to(prices, gain.shape).ravel() + weight * np.log(np.maximum(1.0 - flat, _ROUNDING))
    index = np.unique([np.argpartition(key, count - 1)[:count] for key in (-flat, score)])
    return list(zip(*(part.tolist() for part in np.unravel_index(index, gain.shape)), strict=True))


def _against(block: Block, vectors: np.ndarray, monomials: np.ndarray) -> np.ndarray:
    """Every vector times every monomial with every factor: (vectors, monomials, factors, width)."""
    left = (vectors[:, :, None] * monomials[:, None, :]).reshape(len(vectors), -1)
    return (left.T @ block.flat).reshape(vectors.shape[1], monomials.shape[1], -1, block.width)


def _left(gram: np.ndarray, a: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
    """Products of columns, less what the basis takes of them; (vectors, ..., width) each, the rest being the first."""
    first = np.moveaxis(a[1:], 0, -1)
    second = first if b is None else np.moveaxis(b[1:], 0, -1)
    return gram - first @ np.swapaxes(second, -1, -2)


# ---- one more term --------------------------------------------------------------------------------------------------


def single_terms(table: Table, found: Sum, near: Surroundings) -> Iterator[Proposal]:
    """A monomial with a factor, and two monomials of low degree that share one."""
    most = table.policy.refined
    for block, gram, shared in zip(table.blocks, table.grams, table.shared, strict=True):
        own = table.with_factors(block, table.policy.most_terms)
        c = _against(block, near.vectors, table.monomials.values[:, own])
        left, size = _left(gram, c), np.einsum("mfaa->mfa", gram)
        gain = _explained(left, c[0], table.policy.new * size)
        prices = table.monomials.prices[own][:, None] + block.prices
        for m, f in _best(gain, prices, most, table):
            yield float(gain[m, f]), _with(found, term_of(int(own[m]), block.factors[f]))
        linear = slice(0, block.linear)
        c, left, size = c[..., linear], left[..., linear, linear], size[..., linear]
        for a, b, cross in shared:
            cross = _left(cross, c[:, a], c[:, b])
            above = np.concatenate([left[a], cross], axis=2)
            below = np.concatenate([np.swapaxes(cross, 1, 2), left[b]], axis=2)
            both, against = np.concatenate([above, below], axis=1), np.concatenate([c[0, a], c[0, b]], axis=1)
            gain = _explained(both, against, table.policy.new * np.concatenate([size[a], size[b]], axis=1))
            for (f,) in _best(gain, prices[0], 1, table):
                yield float(gain[f]), _with(found, Term((int(own[a]), int(own[b])), (block.factors[f],)))


def swapped(table: Table, found: Sum) -> Iterator[Proposal]:
    """Another term in place of one: the first were chosen knowing little."""
    for place in range(len(found.terms)) if len(found.terms) > 1 else ():
        others = found.replaced(place)
        near = surroundings(others, table)
        if near is not None:
            yield from single_terms(table, others, near)


def multiplied(table: Table, found: Sum) -> Iterator[Proposal]:
    """A term of the sum times a factor, the others staying."""
    for place, term in enumerate(found.terms):
        near = surroundings(found.replaced(place), table) if term.columns == 1 and len(term.factors) < 2 else None
        if near is None:
            continue
        own = columns_of(term, table.inners.values, table.monomials.values)[0]
        taken = {factor.key for factor in term.factors}
        for block in table.blocks:
            if block.width > 3:
                continue
            c = _against(block, near.vectors, own)
            gram = block.gram((own**2).T)
            gain = _explained(_left(gram, c), c[0], table.policy.new * np.einsum("mfaa->mfa", gram))[0]
            for (f,) in _best(gain, block.prices, table.policy.refined, table):
                factor = block.factors[f]
                if factor.kind and factor.key not in taken:
                    yield float(gain[f]), found.replaced(place, Term(term.monomials, (*term.factors, factor)))


# ---- two more terms -------------------------------------------------------------------------------------------------


def free_pairs(table: Table, found: Sum, near: Surroundings) -> Iterator[Proposal]:
    """All pairs of terms without numbers."""
    terms = table.free[1]
    unit, fresh = _units(near.beside(table.free[0]))
    b, gram = near.rest @ unit, unit.T @ unit
    apart = 1.0 - gram**2
    usable = np.triu((apart > 1e-9) & fresh[:, None] & fresh[None, :], 1)
    gain = b[:, None] ** 2 + b[None, :] ** 2 - 2.0 * gram * np.outer(b, b)
    gain = np.where(usable, gain / np.where(usable, apart, 1.0), 0.0)
    prices = table.free_prices[:, None] + table.free_prices[None, :]
    for i, j in _best(gain, prices, table.policy.refined, table):
        yield float(gain[i, j]), _with(found, terms[i], terms[j])


def mixed_pairs(table: Table, found: Sum, near: Surroundings) -> Iterator[Proposal]:
    """A term with numbers, judged with its slopes, and one without."""
    most = table.policy.most_in_mixed
    terms = table.free[1][:most]
    unit, fresh = _units(near.beside(table.free[0][:, :most]))
    unit = unit.astype(np.float32)
    b = near.in_single().rest @ unit
    for block in (block for block in table.blocks if block.width > 1):
        places, directions = _directions(table, block, near, table.policy.most_mixed)
        gain: Any = 0.0
        left, against = np.ones((len(places), len(terms)), np.float32), np.tile(b, (len(places), 1))
        for column in directions:
            own, cross = near.in_single().rest @ column, column.T @ unit
            gain = gain + own**2
            left -= cross**2
            against -= cross * own[:, None]
        usable = (left > _APART) & fresh
        both = np.reshape(gain, (-1, 1)) + np.where(usable, against**2 / np.where(usable, left, 1.0), 0.0)
        prices = _prices(table, block, places)
        for i, j in _best(both, prices[:, None] + table.free_prices[:most], table.policy.refined, table):
            m, f = places[i]
            yield float(both[i, j]), _with(found, term_of(m, block.factors[f]), terms[j])


def doubles(table: Table, found: Sum, near: Surroundings) -> Iterator[Proposal]:
    """Pairs of terms with one number each, both judged with their slopes."""
    block = next((block for block in table.blocks if (block.width, block.linear) == (2, 1)), None)
    if block is None:
        return
    places, (first, second) = _directions(table, block, near, table.policy.most_doubles)
    rest = near.in_single().rest
    a, b = rest @ first, rest @ second
    aa, ab, bb = first.T @ first, first.T @ second, second.T @ second
    # What one pair of directions leaves of the other, and of the rest: two numbers and a symmetric 2 x 2 matrix.
    u = a[None, :] - a[:, None] * aa - b[:, None] * ab.T
    v = b[None, :] - a[:, None] * ab - b[:, None] * bb
    p, q, r = 1.0 - aa**2 - ab.T**2, -(aa * ab + ab.T * bb), 1.0 - ab**2 - bb**2
    determinant = p * r - q * q
    usable = np.triu((determinant > _APART**2) & (p > _APART) & (r > _APART), 1)
    gain = (r * u * u - 2.0 * q * u * v + p * v * v) / np.where(usable, determinant, 1.0)
    gain = np.where(usable, gain + (a**2 + b**2)[:, None], 0.0)
    prices = _prices(table, block, places)
    for i, j in _best(gain, prices[:, None] + prices, table.policy.refined, table):
        one, other = (term_of(m, block.factors[f]) for m, f in (places[i], places[j]))
        yield float(gain[i, j]), _with(found, one, other)


def _directions(
    table: Table, block: Block, near: Surroundings, most: int
) -> tuple[list[tuple[int, int]], list[np.ndarray]]:
    """Monomials with the factors of a block, and orthonormal directions of each beside the sum, in single precision."""
    low = table.with_factors(block, most)
    low = low[table.monomials.prices[low] <= table.policy.monomial].tolist()
    places = [(m, f) for m in low for f in range(len(block.factors))]
    near = near.in_single()
    directions: list[np.ndarray] = []
    for k in range(block.width):
        own = block.values[:, :, k].astype(np.float32)
        column = np.concatenate([table.monomials.values[:, [m]].astype(np.float32) * own for m in low], axis=1)
        size = np.linalg.norm(column, axis=0)
        column = near.beside(column / np.where(size > 0.0, size, 1.0))
        for other in directions:
            column -= other * np.einsum("nf,nf->f", other, column)
        directions.append(_units(column)[0])
    return places, directions


def _prices(table: Table, block: Block, places: list[tuple[int, int]]) -> np.ndarray:
    m, f = np.array(places).T
    return table.monomials.prices[m] + block.prices[f]


def _units(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of length one, and which they are: of the others too little is left, and they are zero."""
    size = np.linalg.norm(columns, axis=0)
    fresh = size > _LEAST
    return np.where(fresh, columns / np.where(fresh, size, 1.0), 0.0), fresh


def _with(found: Sum, *terms: Term) -> Sum:
    return Sum((*found.terms, *terms))
