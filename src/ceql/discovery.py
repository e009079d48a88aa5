"""What a discovery comes to: plain data. What it is told and how it ends are the search's own words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ceql.data.dataset import Dataset
from ceql.expression.evaluate.poles import Pole, find_poles
from ceql.formula import Formula, make_symbols
from ceql.search.outcome import Outcome, Progress
from ceql.search.settings import SEARCHES, Settings

__all__ = ["SEARCHES", "Discovery", "Outcome", "Progress", "Settings", "poles_of"]


@dataclass(frozen=True, eq=False)
class Discovery:
    """The front, the chosen row and how it came about."""

    front: tuple[Formula, ...]
    chosen: int
    poles: tuple[Pole, ...]
    outcome: Outcome
    seconds: float
    starts: int
    imaginary_residue: float = 0.0  # what was neglected when the weights were put on the real axis
    rows_searched: int = 0  # the search looks at a sample of a long table; constants are fitted to all of it
    columns_searched: int = 0  # of a wide table it looks at those that promise most; 0: not known
    leftover: Path | None = None  # a checkpoint that nobody asked for: to be removed once the result is in safety

    @property
    def best(self) -> Formula:
        """The chosen formula."""
        return self.front[self.chosen]


def poles_of(formula: Formula, data: Dataset) -> tuple[Pole, ...]:
    """Where the formula blows up within the range of the data."""
    return tuple(find_poles(formula.expression, formula.symbols, data.x.min(axis=0), data.x.max(axis=0)))


def over_all(found: Discovery, data: Dataset) -> Discovery:
    """The same with formulas that take all columns of the table."""
    symbols = make_symbols(data.names)
    front = tuple(formula.over(symbols) for formula in found.front)
    return replace(found, front=front, poles=poles_of(front[found.chosen], data))
