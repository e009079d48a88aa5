"""Whose turn it is: y as it stands every other round, and in between the other aims that may be easier to hit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np

from ceql.data.dataset import Dataset
from ceql.formula import Formula
from ceql.search.target_search import Hunt, HuntState
from ceql.transforms import (
    TransformedTarget,
    independent_parts,
    only,
    reduced,
    relevant,
    sampled,
    smooth_error,
    towards,
    usable_targets,
    with_logs,
)

_MANY_COLUMNS = 8  # above this, a search among the columns that seem to matter runs beside the one among all
_LOG_TARGETS = ("y", "log y")
_MOST_ROUNDS = 10**7  # that a search is believed to have behind it
_SELDOM = 4  # another aim every so many rounds where the data seem to be noisy: a hard formula may look like noise


@dataclass(frozen=True, eq=False)
class TurnsState:
    """How far the turns have gone, and all hunts. Hunts are made in a fixed order, so that advancing remakes them."""

    rounds: int
    direct: int  # times that a main hunt was asked for
    aside: int  # times that another one was
    hunts: tuple[HuntState, ...]


class Turns:
    """The hunts of a search. Those that are not needed for an easy formula are only made when it was not found."""

    def __init__(
        self,
        aim: TransformedTarget,
        operators: tuple[str, ...],
        hunt_for: Callable[[TransformedTarget, TransformedTarget], Hunt],
        aside: bool = True,
        required: Sequence[int] = (),
        rows: int | None = None,
    ) -> None:
        """The search looks at `rows` of the aim; what columns it needs, and in which combination, is read off all.

        `hunt_for` makes a hunt for an aim, given all rows of it and those to look at.
        """
        self._operators, self._hunt_for, self.rows = (
            operators,
            hunt_for,
            rows if rows is not None and len(aim.y) > rows else None,
        )
        self._aim = few = _few_columns(aim, required) if aside else aim
        self.hunts: list[Hunt] = []
        self.mains = self._made([few, aim] if few is not aim else [aim])
        self._direct = cycle(self.mains)
        self._asides: Iterator[Hunt] | None = None
        self.rounds = self._direct_turns = self._aside_turns = 0
        self._has_asides = aside
        self.noise_at_most = smooth_error(few)  # in the weighted and scaled units of a main hunt's misfit

    def reweigh(self, data: Dataset, weight: np.ndarray) -> None:
        """Goes on with other weights of the rows; hunts yet to be made take them over from the first."""
        for hunt in self.hunts:
            hunt.reweigh(data, weight)

    @property
    def sees_noise(self) -> bool:
        """Whether larger fits have stopped being better, and no smooth function is better than they are."""
        best = min(float(main.archive.chunk.misfit.min(initial=np.inf)) for main in self.mains)
        return best <= self.noise_at_most and any(main.sees_noise() for main in self.mains)

    @property
    def spares(self) -> list[Formula]:
        """Exact formulas for which there may be a shorter way to say it."""
        return [hunt.spare for hunt in self.hunts if hunt.spare is not None]

    def have_settled(self) -> bool:
        return self.sees_noise and all(main.has_settled() for main in self.mains)

    def next_hunt(self) -> Hunt:
        """Noisy data mostly get y itself: the other aims distort the noise and serve to find exact formulas."""
        self.rounds += 1
        if not self._has_asides or self.rounds <= len(self.mains):
            return self._next_main()
        period = _SELDOM if self.sees_noise else 2
        if self.rounds % period:
            return self._next_main()
        return self._next_aside() or self._next_main()

    def _next_main(self) -> Hunt:
        self._direct_turns += 1
        return next(self._direct)

    def _next_aside(self) -> Hunt | None:
        self._aside_turns += 1
        return next(self._aside(), None)

    @property
    def state(self) -> TurnsState:
        hunts = tuple(hunt.state for hunt in self.hunts)
        return TurnsState(self.rounds, self._direct_turns, self._aside_turns, hunts)

    def restore(self, state: TurnsState) -> None:
        """Makes turns that were just made go on where those of `state` were; a ValueError where they do not match."""
        if sum(hunt.archive.rounds for hunt in state.hunts) != state.rounds or state.rounds > _MOST_ROUNDS:
            raise ValueError("the numbers of rounds do not agree")
        if not 0 <= min(state.direct, state.aside) <= max(state.direct, state.aside) <= state.rounds:
            raise ValueError("the numbers of turns do not agree")
        if len(state.hunts) > len(self.mains):
            self.asides()
        for _ in range(state.direct):
            self._next_main()
        for _ in range(state.aside):
            self._next_aside()
        self.rounds = state.rounds
        for hunt, kept in zip(self.hunts, state.hunts, strict=True):
            hunt.restore(kept)

    def asides(self) -> list[Hunt]:
        """All other aims, those with fewer variables first."""
        if self._has_asides:
            self._aside()
        return self.asides_so_far

    @property
    def asides_so_far(self) -> list[Hunt]:
        """Those of them that were made already."""
        return self.hunts[len(self.mains) :]

    @property
    def starts(self) -> int:
        return sum(hunt.archive.starts for hunt in self.hunts)

    def _aside(self) -> Iterator[Hunt]:
        """The other aims in turn; they are made when first asked for."""
        if self._asides is None:
            self._asides = self._hunts_aside(self._aim)
        return self._asides

    def _hunts_aside(self, aim: TransformedTarget) -> Iterator[Hunt]:
        shorter = _in_fewer_variables(aim)
        if not shorter:
            return cycle(self._made(_variants(aim, self._operators)))
        self.noise_at_most = min(self.noise_at_most, smooth_error(shorter[0]))
        first = self._made(shorter)
        rest = self._made(v for base in (*shorter, aim) for v in _variants(base, self._operators))
        return _alternating(cycle(first), cycle(rest))

    def _made(self, aims: Iterable[TransformedTarget]) -> list[Hunt]:
        hunts = [self._hunt_for(aim, sampled(aim, self.rows)) for aim in aims]
        self.hunts += hunts
        return hunts


def _few_columns(aim: TransformedTarget, required: Sequence[int] = ()) -> TransformedTarget:
    n = aim.x.shape[1]
    columns = relevant(aim.x, aim.y, _MANY_COLUMNS) if n > _MANY_COLUMNS else range(n)
    columns = sorted({*columns, *required}) if len(columns) else columns
    return only(aim, columns) if 0 < len(columns) < n else aim


def _in_fewer_variables(aim: TransformedTarget) -> list[TransformedTarget]:
    """What both kinds of tests lead to, fewest variables first."""
    by_prediction = reduced(aim) if aim.x.shape[1] <= _MANY_COLUMNS else None
    found = [*independent_parts(aim), *([] if by_prediction is None else [by_prediction])]
    return sorted(found, key=lambda shorter: shorter.x.shape[1])


def _variants(aim: TransformedTarget, operators: tuple[str, ...]) -> Iterator[TransformedTarget]:
    """The same in shallower forms: with logarithms as inputs, with the outermost operator undone."""
    targets = usable_targets(aim.y, operators)
    logs = with_logs(aim) if "log" in operators else None
    if logs is not None:
        yield from (towards(logs, target) for target in targets if target.name in _LOG_TARGETS)
    yield from (towards(aim, target) for target in targets if target.needs)


def _alternating(first: Iterator[Hunt], second: Iterator[Hunt]) -> Iterator[Hunt]:
    for hunt in first:
        yield hunt
        yield from islice(second, 1)  # there may be none, when few operators are allowed
