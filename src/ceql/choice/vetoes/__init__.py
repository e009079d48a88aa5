"""Vetoes: reasons why a formula may not be chosen, however well it fits, each given as one sentence.

``Vetoes`` holds what is known about the rows of a table, and ``sentence`` examines one formula after the other.
"""

from __future__ import annotations

from collections.abc import Callable

from ceql.choice.criterion import interpolates
from ceql.choice.exactness import is_hit, meets_most_rows
from ceql.choice.vetoes.case import Case, columns_of
from ceql.choice.vetoes.frequencies import unseen_frequency
from ceql.choice.vetoes.loose_constants import fewer, out_of_scale, undetermined
from ceql.choice.vetoes.places import Places, places_of
from ceql.choice.vetoes.policy import VetoPolicy
from ceql.choice.vetoes.undefined import undefined_between_rows
from ceql.choice.vetoes.unsupported import unsupported_by_rows
from ceql.data.dataset import Dataset
from ceql.engine.deadline import NEVER, Deadline
from ceql.formula import Formula

__all__ = ["BETWEEN_ROWS", "OF_CONSTANTS", "VetoPolicy", "Vetoes", "fewer", "struck"]

Veto = Callable[[Case], str | None]
BETWEEN_ROWS: tuple[Veto, ...] = (unseen_frequency, undefined_between_rows, unsupported_by_rows)
OF_CONSTANTS: tuple[Veto, ...] = (out_of_scale, undetermined)


class Vetoes:
    """All vetoes on one table; what is known about its rows is worked out once for each set of columns."""

    def __init__(self, data: Dataset, policy: VetoPolicy = VetoPolicy(), until: Deadline = NEVER) -> None:
        self.data = data
        self.policy = policy
        self.until = until
        self._places: dict[tuple[int, ...], Places] = {}

    def sentence(self, formula: Formula) -> str | None:
        """Why the formula is struck; None where it may be chosen."""
        if self._is_proven(formula):
            return None
        columns = columns_of(formula)
        case = Case(formula, self.data, self._places_in(columns), self.policy, self.until)
        vetoes = (*BETWEEN_ROWS, *OF_CONSTANTS) if columns else OF_CONSTANTS
        return next((sentence for sentence in (veto(case) for veto in vetoes) if sentence is not None), None)

    def _is_proven(self, formula: Formula) -> bool:
        """Whether it meets the rows to rounding with far fewer constants than rows, which is evidence enough."""
        if interpolates(formula, len(self.data.y)):
            return False
        return is_hit(formula, self.data) or meets_most_rows(formula, self.data)

    def _places_in(self, columns: tuple[int, ...]) -> Places:
        if columns not in self._places:
            self._places[columns] = places_of(self.data, columns, self.policy)
        return self._places[columns]


def struck(formula: Formula, data: Dataset, policy: VetoPolicy = VetoPolicy()) -> str | None:
    """None if the formula may be chosen, else one sentence that says why not."""
    return Vetoes(data, policy).sentence(formula)
