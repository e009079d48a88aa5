"""What terms are made of on the rows at hand: columns and their combinations, monomials, and the factors of a grid."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement, permutations
from math import prod
from typing import Any

import numpy as np

from ceql.engine import fit
from ceql.sums.policy import SumSearchPolicy
from ceql.sums.tapes import Writer
from ceql.sums.terms import Factor, Sum, Term, columns_of
from ceql.sums.vocabulary import KINDS, ON_AXIS, Span


@dataclass(frozen=True, eq=False)
class Named:
    """Columns of values, how each is written, and its price in nats."""

    values: np.ndarray  # (rows, columns)
    written: tuple[Any, ...]
    prices: np.ndarray

    def touching(self, symbols: Collection[Any]) -> np.ndarray:
        """Which of them have one of the symbols."""
        return np.array([not getattr(one, "free_symbols", set()).isdisjoint(symbols) for one in self.written])

    @classmethod
    def of(cls, found: Sequence[tuple[np.ndarray, Any, float]]) -> Named:
        good = [entry for entry in found if np.isfinite(entry[0]).all()]
        values, written, prices = zip(*good, strict=True)
        return cls(np.stack(values, axis=1), written, np.array(prices))


@dataclass(frozen=True, eq=False)
class Block:
    """Factors with as many columns each: values first, then slopes by their numbers; weighted, of length one."""

    factors: tuple[Factor, ...]
    values: np.ndarray  # (rows, factors, width)
    linear: int  # how many of these columns are values
    prices: np.ndarray  # what each factor adds to a sum, with its constants

    @property
    def width(self) -> int:
        return self.values.shape[2]

    @cached_property
    def by_column(self) -> np.ndarray:
        """(width, rows, factors)."""
        return np.ascontiguousarray(self.values.transpose(2, 0, 1))


@dataclass(frozen=True, eq=False)
class Table:
    """The rows, weighted, and all that terms are made of."""

    x: np.ndarray
    y: np.ndarray  # weighted
    root_weight: np.ndarray
    symbols: tuple[Any, ...]
    inners: Named
    monomials: Named
    blocks: tuple[Block, ...]
    policy: SumSearchPolicy

    @cached_property
    def samples(self) -> fit.Samples:
        """For the core: the columns and combinations, then the monomials."""
        x = np.column_stack([self.inners.values, self.monomials.values])
        return fit.Samples.of(x, self.y / self.root_weight, self.root_weight**2)

    @cached_property
    def writer(self) -> Writer:
        return Writer(self.inners.values.shape[1], self.monomials.values.shape[1])

    @cached_property
    def size(self) -> float:
        return float(self.y @ self.y)

    def columns_of(self, found: Sum) -> tuple[np.ndarray, list[list[np.ndarray]]]:
        """The columns of a sum, weighted, and per term their slopes by its numbers."""
        parts = [columns_of(term, self.inners.values, self.monomials.values) for term in found.terms]
        weight = self.root_weight[:, None]
        columns = np.concatenate([own for own, _ in parts], axis=1) * weight
        return columns, [[slope * weight for slope in slopes] for _, slopes in parts]

    def symbols_of(self, term: Term) -> set[Any]:
        """The columns that a term has."""
        parts = [self.monomials.written[m] for m in term.monomials]
        parts += [self.inners.written[factor.inner] for factor in term.factors]
        return set().union(*(getattr(part, "free_symbols", set()) for part in parts))

    def price(self, term: Term) -> float:
        known = term.prices.get(self)
        if known is None:
            own = sum(_price(factor, self.inners) for factor in term.factors)
            numbers = self.policy.a_constant * (term.numbers + term.columns)
            known = own + numbers + self.policy.term + float(self.monomials.prices[list(term.monomials)].sum())
            term.prices[self] = known
        return known

    def price_of(self, found: Sum) -> float:
        known = found.prices.get(self)
        if known is None:
            known = found.prices[self] = sum([self.price(term) for term in found.terms])
        return known


def _price(factor: Factor, inners: Named) -> float:
    return KINDS[factor.kind].price + float(inners.prices[factor.inner])


def term_of(monomial: int, factor: Factor) -> Term:
    return Term((monomial,), (factor,) if factor.kind else ())  # the first kind is no factor at all


def make_table(
    x: np.ndarray,
    y: np.ndarray,
    symbols: Sequence[Any],
    root_weight: np.ndarray,
    policy: SumSearchPolicy,
    combined: bool = False,
    functions: Collection[str] | None = None,
) -> Table:
    """With functions of the columns, or of combinations of two as well; of these functions, where they are given."""
    divided = functions is None or "div" in functions
    with np.errstate(all="ignore"):
        inners = Named.of([(column, symbol, 0.0) for column, symbol in zip(x.T, symbols, strict=True)])
        if combined:
            inners = Named.of([*_each(inners), *_combined(x, symbols, policy, divided)])
        monomials = Named.of(list(_monomials(x, symbols, policy, divided)))
        blocks = _blocks(inners, len(symbols), root_weight, functions, policy)
    return Table(x, y * root_weight, root_weight, tuple(symbols), inners, monomials, blocks, policy)


def _each(named: Named) -> list[tuple[np.ndarray, Any, float]]:
    return list(zip(named.values.T, named.written, named.prices.tolist(), strict=True))


def _combined(
    x: np.ndarray, symbols: Sequence[Any], policy: SumSearchPolicy, divided: bool
) -> Iterator[tuple[np.ndarray, Any, float]]:
    for i, j in combinations(range(len(symbols)), 2):
        yield x[:, i] * x[:, j], symbols[i] * symbols[j], policy.combined
        yield x[:, i] - x[:, j], symbols[i] - symbols[j], policy.combined
        yield x[:, i] + x[:, j], symbols[i] + symbols[j], policy.combined
        yield x[:, i] ** 2 + x[:, j] ** 2, symbols[i] ** 2 + symbols[j] ** 2, policy.combined
    for i, j in permutations(range(len(symbols)), 2) if divided else ():
        if _keeps_sign(x[:, j]) and not (i > j and _keeps_sign(x[:, i])):
            yield x[:, i] / x[:, j], symbols[i] / symbols[j], policy.combined


def _keeps_sign(column: np.ndarray) -> bool:
    return bool((column > 0.0).all() or (column < 0.0).all())


def _monomials(
    x: np.ndarray, symbols: Sequence[Any], policy: SumSearchPolicy, divided: bool
) -> Iterator[tuple[np.ndarray, Any, float]]:
    columns = range(len(symbols))
    yield np.ones(len(x)), 1, 0.0
    for size in range(1, policy.degree + 1):
        for chosen in combinations_with_replacement(columns, size):
            yield np.prod(x[:, chosen], axis=1), prod(symbols[k] for k in chosen), policy.monomial * size
    one, two = policy.reciprocal + policy.monomial, policy.reciprocal + 2.0 * policy.monomial
    for k in columns:
        if not divided or not _keeps_sign(x[:, k]):
            continue
        yield 1.0 / x[:, k], 1 / symbols[k], one
        yield 1.0 / x[:, k] ** 2, 1 / symbols[k] ** 2, two
        for j in columns:
            if j != k:
                yield x[:, j] / x[:, k], symbols[j] / symbols[k], two
                yield x[:, j] ** 2 / x[:, k], symbols[j] ** 2 / symbols[k], two + policy.monomial


def _blocks(
    inners: Named,
    columns: int,
    root_weight: np.ndarray,
    functions: Collection[str] | None,
    policy: SumSearchPolicy,
) -> tuple[Block, ...]:
    found: dict[tuple[int, int], tuple[list[Factor], list[np.ndarray]]] = {}
    for inner, u in enumerate(inners.values.T):
        span = Span.of(u)
        if span.length <= 0.0:
            continue
        for index, kind in enumerate(KINDS):
            allowed = functions is None or kind.functions <= set(functions)
            if not allowed or not kind.fits(span) or (index == 0 and inner > 0):
                continue
            if inner >= columns and len(kind.names) > 1 and index not in ON_AXIS:
                continue  # of a combination, only what has one number
            begins = kind.begin(span)
            if index in ON_AXIS and not policy.complex_poles:
                index = ON_AXIS[index]
                kind, begins = KINDS[index], [numbers[:1] for numbers in begins]
            numbers = np.array(begins, float).reshape(len(begins), len(kind.names))
            if not len(numbers):
                continue
            values, slopes = kind.values(u, numbers)
            # The slopes of several columns by one number say nearly what those by the other do.
            more = slopes[:, :, 0, :] if values.shape[2] == 1 or not kind.names else slopes[:, :, :, 0]
            both = np.concatenate([values, more], axis=2) * root_weight[:, None, None]
            size = np.sqrt(np.einsum("nfw,nfw->fw", both, both))
            good = np.flatnonzero(np.isfinite(size).all(axis=1) & (size[:, 0] > 0.0))
            both = both[:, good] / np.where(size[good] > 0.0, size[good], 1.0)
            factors, arrays = found.setdefault((both.shape[2], values.shape[2]), ([], []))
            factors += [Factor(index, inner, tuple(numbers[k].tolist())) for k in good]
            arrays.append(both)
    return tuple(
        Block(
            tuple(factors),
            np.ascontiguousarray(np.concatenate(arrays, axis=1)),
            linear,
            np.array(
                [_price(factor, inners) + policy.a_constant * (len(factor.numbers) + linear) for factor in factors]
            ),
        )
        for (_, linear), (factors, arrays) in sorted(found.items())
    )
