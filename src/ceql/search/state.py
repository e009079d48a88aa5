"""The state of a search between two rounds, and what keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ceql.formula import Formula
from ceql.search.scheduler import Turns, TurnsState


@dataclass(frozen=True, eq=False)
class Ending:
    """How a search ended and what it had found, before a formula is chosen."""

    outcome: str
    formulas: tuple[Formula, ...]
    starts: int
    rows_searched: int
    seconds: float
    stands_until: float  # the time limit up to which the search would end so again


@dataclass(frozen=True, eq=False)
class SearchState:
    """A search between two rounds."""

    turns: TurnsState
    started_before: int = 0  # starts of a search on few rows that gave way to this one; 0: nothing did
    rounds_beyond_limit: int = 0
    rounds_with_spare: int = 0
    rounds_explained: int = 0
    seconds: float = 0.0
    ending: Ending | None = None

    @property
    def progress(self) -> tuple[int, int]:
        """The larger, the further."""
        return self.started_before, self.turns.rounds


class Keeping(Protocol):
    """Whoever keeps the state of a search between two rounds."""

    @property
    def started_before(self) -> int:
        """Starts of an earlier stage of what the search goes on from."""
        ...

    def restore(self, turns: Turns) -> SearchState:
        """Brings turns that were just made to where the search was; gives the state it is in now."""
        ...

    def note(self, state: Callable[[], SearchState]) -> None:
        """To be called between two rounds."""
        ...

    def write(self) -> None:
        """To be called when the search may be lost."""
        ...
