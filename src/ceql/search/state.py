"""The state of a search between two rounds, as one value. A checkpoint keeps it field by field."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NewType

import numpy as np

from ceql.formula import Formula
from ceql.search.archive import Archive
from ceql.search.partials import Partial
from ceql.search.summing import Summing
from ceql.search.target_search import TargetState

Signed = NewType("Signed", float)  # a number that may be negative; all others of a state may not


@dataclass(frozen=True, eq=False)
class Ending:
    """How a search ended and what it had found, before a formula is chosen."""

    outcome: str
    formulas: tuple[Formula, ...]
    starts: int
    rows_searched: int
    seconds: float
    stands_until: float  # the time limit up to which the search would end the same way


@dataclass(frozen=True, eq=False)
class RowWeights:
    """The weights of the rows under a loss that is not of squares, and how good the fit is that they come from."""

    weight: np.ndarray
    criterion: Signed = Signed(np.inf)
    tried: frozenset[bytes] = frozenset()  # structures that were tried as pilots


@dataclass(frozen=True, eq=False)
class Rest:
    """What is left of y beside a part of it that is known, and the search for that."""

    part: Partial
    state: SearchState | None = None  # None before its first turn
    is_done: bool = False  # whether there is nothing to search

    @property
    def starts(self) -> int:
        return 0 if self.state is None else self.state.starts


@dataclass(frozen=True, eq=False)
class SearchState:
    """All targets, whose turn it was, and what the search counts to know when to end."""

    targets: tuple[TargetState, ...]
    rounds: int = 0
    main_turns: int = 0  # times that y itself was asked for
    other_turns: int = 0  # times that another target was
    asked: frozenset[int] = frozenset()  # targets that have proposed formulas for noisy data
    explained: bool = False  # whether a proposed formula leaves only noise
    rounds_explained: int = 0  # since then
    rounds_beyond_limit: int = 0  # since an exact formula was larger than allowed
    rounds_with_spare: int = 0  # since there is an exact formula for which there may be a shorter one
    started_before: int = 0  # starts of a search on few rows that gave way to this one; 0: nothing did
    weights: RowWeights | None = None
    sums: Summing | None = None  # of y itself
    rests: tuple[Rest, ...] = ()  # of y beside parts of it
    seconds: float = 0.0
    ending: Ending | None = None

    @property
    def starts(self) -> int:
        return self.started_before + self.own_starts + sum(rest.starts for rest in self.rests)

    @property
    def archives(self) -> list[Archive]:
        """Of all targets, and of those of the rests."""
        own = [target.archive for target in self.targets]
        return own + [archive for rest in self.rests if rest.state is not None for archive in rest.state.archives]

    @property
    def own_starts(self) -> int:
        """Of the targets alone."""
        return sum(target.archive.starts for target in self.targets)

    def with_target(self, index: int, changed: TargetState) -> SearchState:
        return replace(self, targets=(*self.targets[:index], changed, *self.targets[index + 1 :]))

    def with_rest(self, index: int, changed: Rest) -> SearchState:
        return replace(self, rests=(*self.rests[:index], changed, *self.rests[index + 1 :]))

    @property
    def progress(self) -> tuple[int, int]:
        """The larger, the further."""
        return self.started_before, self.rounds

    @property
    def spares(self) -> list[Formula]:
        """Exact formulas for which there may be a shorter way to say it."""
        own = [target.spare for target in self.targets if target.spare is not None]
        return own + [spare for rest in self.rests if rest.state is not None for spare in rest.state.spares]
