"""The results of a search for relations: plain data shared by summaries and files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from ceql.expression import compile_numpy
from ceql.expression.text.write import readable_text
from ceql.formula import make_symbols


@dataclass(frozen=True)
class Number:
    """A constant with its standard error, which is zero if the constant is known exactly."""

    value: float
    error: float


@dataclass(frozen=True, eq=False)
class Relation:
    """A relation left = level, with one level for all rows or one for each group."""

    left: Any  # a SymPy expression over the columns, without a constant term
    names: tuple[str, ...]  # all columns of the table, including the symbols of `left`
    levels: tuple[Number, ...]  # one for each group, or a single one
    constants: tuple[Number, ...]  # constants of `left`, in the order of its text
    distance: float  # root mean square distance of the rows, in standard deviations of the columns
    held_out: float  # the same for held-out rows
    share: float  # share explained on held-out rows, compared with shuffled ones
    shares: tuple[tuple[str, float], ...]  # the same for each column of the relation, as explained by the others
    criterion: float
    is_exact: bool  # up to rounding
    has_pattern: bool = False  # whether the residuals are not just noise

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that take part."""
        return tuple(name for name, _ in self.shares)

    @property
    def is_grouped(self) -> bool:
        return len(self.levels) > 1

    def left_side(self, x: np.ndarray) -> np.ndarray:
        """The value of the left side in these rows, which contain all columns."""
        return self._program(x)

    @cached_property
    def _program(self) -> Any:
        return compile_numpy(self.left, make_symbols(self.names))

    @property
    def text(self) -> str:
        """The relation for people to read; if the level is zero, negative terms move to the other side."""
        if self.is_grouped:
            return f"{readable_text(self.left)} = level"
        value = self.levels[0].value
        if value != 0.0:
            return f"{readable_text(self.left)} = {_short(value)}"
        terms = sympy.Add.make_args(self.left)
        taken = [term for term in terms if term.could_extract_minus_sign()]
        kept = sympy.Add(*(term for term in terms if term not in taken))
        return f"{readable_text(kept)} = {readable_text(-sympy.Add(*taken))}"

    def __str__(self) -> str:
        return self.text


def _short(value: float) -> str:
    return f"{int(value)}" if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"


@dataclass(frozen=True, eq=False)
class RelationsFinding:
    """The relations, the most certain first, and how they were found."""

    relations: tuple[Relation, ...]
    names: tuple[str, ...]  # names of the columns that took part in the search
    groups: str  # name of the grouping column; empty if there are no groups
    labels: tuple[str, ...]  # labels of the groups
    rows: int
    rows_held_out: int
    seconds: float
    notes: tuple[str, ...] = ()  # sentences for the user

    def __iter__(self) -> Any:
        return iter(self.relations)

    @property
    def texts(self) -> Sequence[str]:
        return [relation.text for relation in self.relations]
