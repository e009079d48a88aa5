"""What is known of relations once they were found: plain data that summaries and files share."""

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
    """A constant with its standard error, which is zero where it is known exactly."""

    value: float
    error: float


@dataclass(frozen=True, eq=False)
class Relation:
    """left = level, in all rows or in each group of them."""

    left: Any  # a SymPy expression over the columns, without a constant term
    names: tuple[str, ...]  # of all columns of the table, the symbols of `left` among them
    levels: tuple[Number, ...]  # of each group; one where they share it or there are none
    constants: tuple[Number, ...]  # of `left`, in the order of its text
    distance: float  # root mean square of the rows from it, in standard deviations of the columns
    held_out: float  # the same of rows that the numbers were not fitted to
    share: float  # explained there, against shuffled rows
    shares: tuple[tuple[str, float], ...]  # of each column that takes part, by the others
    criterion: float
    is_exact: bool  # to rounding
    has_pattern: bool = False  # whether what it leaves is no noise

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that take part."""
        return tuple(name for name, _ in self.shares)

    @property
    def is_grouped(self) -> bool:
        return len(self.levels) > 1

    def left_side(self, x: np.ndarray) -> np.ndarray:
        """Its value in these rows of all columns."""
        return self._program(x)

    @cached_property
    def _program(self) -> Any:
        return compile_numpy(self.left, make_symbols(self.names))

    @property
    def text(self) -> str:
        """For people: what is taken off stands on the other side where the level is zero."""
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
    """The relations, the surest first, and how they came about."""

    relations: tuple[Relation, ...]
    names: tuple[str, ...]  # of the columns that were looked at
    groups: str  # what the groups are groups by; empty where there are none
    labels: tuple[str, ...]  # of the groups
    rows: int
    rows_held_out: int
    seconds: float
    notes: tuple[str, ...] = ()  # sentences for the user

    def __iter__(self) -> Any:
        return iter(self.relations)

    @property
    def texts(self) -> Sequence[str]:
        return [relation.text for relation in self.relations]
