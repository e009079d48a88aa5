"""The rows that relations are searched in: numbers, their spread, and groups that may have separate levels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import sympy

from ceql.formula import make_symbols

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table. A relation is a function of the columns with the same level in all rows, or in each group."""

    x: Array  # (rows, columns)
    names: tuple[str, ...]
    scale: Array  # standard deviations of the columns, the units of distances
    codes: Array  # the number of each row's group; all 0 without groups
    labels: tuple[str, ...] = ("",)  # labels of the groups
    # Normals of the surfaces that the rows were moved onto, (rows, surfaces, columns), to find further relations.
    across: Array | None = None

    @classmethod
    def of(cls, x: Array, names: tuple[str, ...], codes: Array | None = None, labels: tuple[str, ...] = ("",)) -> Rows:
        codes = np.zeros(len(x), int) if codes is None else codes
        return cls(x, names, x.std(axis=0), codes, labels)

    @property
    def groups(self) -> int:
        return len(self.labels)

    @cached_property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        return make_symbols(self.names)

    @cached_property
    def marks(self) -> tuple[sympy.Symbol, ...]:
        """A symbol for each group that is 1 in its rows and 0 elsewhere; none if there is only one group."""
        return tuple(sympy.Dummy(f"group{k}", real=True) for k in range(self.groups)) if self.groups > 1 else ()

    @property
    def inputs(self) -> tuple[sympy.Symbol, ...]:
        return (*self.symbols, *self.marks)

    def wide(self, x: Array | None = None) -> Array:
        """These columns (by default its own) followed by the marks of the groups."""
        x = self.x if x is None else x
        if not self.marks:
            return x
        return np.column_stack([x, self.codes[:, None] == np.arange(self.groups)])

    def only(self, rows: Array) -> Rows:
        """Some of the rows, keeping the spread, symbols and groups of all."""
        across = None if self.across is None else self.across[rows]
        few = replace(self, x=self.x[rows], codes=self.codes[rows], across=across)
        few.__dict__.update({name: getattr(self, name) for name in ("symbols", "marks")})
        return few

    def at(self, x: Array, across: Array | None = None) -> Rows:
        """The same rows with other values."""
        moved = replace(self, x=x, across=self.across if across is None else across)
        moved.__dict__.update({name: getattr(self, name) for name in ("symbols", "marks")})
        return moved

    def thinned(self, most: int) -> Rows:
        """At most `most` rows, always the same ones."""
        if len(self.x) <= most:
            return self
        return self.only(np.sort(np.random.default_rng(0).choice(len(self.x), most, replace=False)))

    def beside(self, slopes: Array) -> Array:
        """The components of these directions, (rows, columns, ...), along the surfaces that the rows lie on."""
        if self.across is None:
            return slopes
        along = np.einsum("nmd,nd...->nm...", self.across, slopes)
        return slopes - np.einsum("nmd,nm...->nd...", self.across, along)

    def moved(self, reach: float, seed: int) -> Rows:
        """The rows moved by about `reach` standard deviations in random directions along the surfaces that they lie
        on."""
        away = self.beside(np.random.default_rng(seed).normal(size=self.x.shape))
        return self.at(self.x + reach * self.scale * away)

    def shuffled(self, columns: Iterable[int], seed: int) -> Rows:
        """The rows with each of these columns shuffled within the groups, since each group has its own level."""
        rng, x = np.random.default_rng(seed), self.x.copy()
        members = [np.flatnonzero(self.codes == group) for group in np.unique(self.codes)]
        for k in columns:
            for own in members:
                x[own, k] = x[rng.permutation(own), k]
        return self.at(x)

    def level(self) -> sympy.Expr:
        """A free number, or one for each group, as an expression to be fitted."""
        return sympy.Add(*(sympy.Float(1.0) * mark for mark in self.marks)) if self.marks else sympy.Float(1.0)

    def split(self, every: int, seed: int) -> tuple[Rows, Rows]:
        """Rows to fit to, and held-out rows (one in `every`), split within each group so that its level can be
        fitted."""
        order = np.random.default_rng(seed).permutation(len(self.x))
        order = order[np.argsort(self.codes[order], kind="stable")]
        place = np.concatenate([np.arange(np.sum(self.codes == k)) for k in np.unique(self.codes)])
        is_held = np.zeros(len(self.x), bool)
        is_held[order] = place % every == every - 1
        return self.only(np.flatnonzero(~is_held)), self.only(np.flatnonzero(is_held))
