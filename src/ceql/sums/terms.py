"""A sum: its terms with their numbers, and the columns that are linear in its weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product as every
from math import prod
from typing import Any, NewType

import numpy as np

from ceql.sums.vocabulary import KINDS

Real = NewType("Real", float)  # a number of either sign


@dataclass(frozen=True)
class Factor:
    """A kind of a column, or of a combination of two, with its numbers."""

    kind: int
    inner: int
    numbers: tuple[Real, ...] = ()

    @property
    def key(self) -> tuple[int, int]:
        return self.kind, self.inner


@dataclass(frozen=True)
class Term:
    """Monomials that share a product of factors. Each, with each column of the factors, has a weight of its own."""

    monomials: tuple[int, ...]
    factors: tuple[Factor, ...] = ()

    @cached_property
    def key(self) -> tuple:
        """Its structure, whatever the numbers."""
        return self.monomials, tuple(sorted(factor.key for factor in self.factors))

    @cached_property
    def prices(self) -> dict[object, float]:
        """By the tables that work them out; all with the same structure share them."""
        return {}

    @cached_property
    def numbers(self) -> int:
        return sum(len(factor.numbers) for factor in self.factors)

    @cached_property
    def columns(self) -> int:
        return len(self.monomials) * prod(len(KINDS[factor.kind].columns) for factor in self.factors)

    def with_numbers(self, numbers: Iterator[float]) -> Term:
        """With as many of these in place of its own; itself where it has none."""
        if not self.numbers:
            return self
        own = [Factor(f.kind, f.inner, tuple([Real(next(numbers)) for _ in f.numbers])) for f in self.factors]
        return _alike(Term(self.monomials, tuple(own)), self, "key", "prices", "numbers", "columns")


@dataclass(frozen=True)
class Sum:
    """Terms with their weights, and the share of the size of y that they leave."""

    terms: tuple[Term, ...]
    weights: tuple[Real, ...] = ()
    misfit: float = np.inf

    @cached_property
    def key(self) -> tuple:
        return tuple(sorted(term.key for term in self.terms))

    @cached_property
    def structure(self) -> str:
        """Its key as a text, which is told apart from others sooner."""
        return str(self.key)

    @cached_property
    def prices(self) -> dict[object, float]:
        """By the tables that work them out; all with the same structure share them."""
        return {}

    @cached_property
    def size(self) -> int:
        """The number of its constants."""
        return sum(term.numbers + term.columns for term in self.terms)

    @property
    def numbers(self) -> list[float]:
        return [number for term in self.terms for factor in term.factors for number in factor.numbers]

    def fitted(self, numbers: Iterable[float], weights: Sequence[float], misfit: float) -> Sum:
        """The same sum with other numbers inside, weights and misfit."""
        given = iter(numbers)
        made = Sum(tuple([term.with_numbers(given) for term in self.terms]), tuple(map(Real, weights)), misfit)
        return _alike(made, self, "key", "structure", "prices", "size")

    def replaced(self, place: int, *terms: Term) -> Sum:
        """With these in place of one of its terms."""
        return Sum((*self.terms[:place], *terms, *self.terms[place + 1 :]))


def _alike(made: Any, model: Any, *names: str) -> Any:
    """With what the two have in common as it was worked out of the model."""
    for name in names:
        made.__dict__[name] = getattr(model, name)
    return made


NOTHING = Sum(())  # what every sum grows from


def columns_of(term: Term, inners: np.ndarray, monomials: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The columns of a term, (rows, columns), and by each of its numbers their slopes."""
    parts = [KINDS[f.kind].values(inners[:, f.inner], np.array([f.numbers])) for f in term.factors]
    own = monomials[:, list(term.monomials)]
    columns: list[np.ndarray] = []
    slopes: list[list[np.ndarray]] = [[] for _ in range(term.numbers)]
    for choice in every(*[range(values.shape[2]) for values, _ in parts]):
        values = [part[0][:, 0, [c]] for part, c in zip(parts, choice, strict=True)]
        columns.append(own * prod(values))
        place = 0
        for k, ((_, by_number), c) in enumerate(zip(parts, choice, strict=True)):
            others = own * prod(values[:k] + values[k + 1 :])
            for j in range(by_number.shape[3]):
                slopes[place].append(others * by_number[:, 0, [c], j])
                place += 1
    return np.concatenate(columns, axis=1), [np.concatenate(part, axis=1) for part in slopes]
