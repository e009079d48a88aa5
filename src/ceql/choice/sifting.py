"""From all formulas found to those that are shown: the front, the best others beside it, and the struck ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ceql.choice.criterion import constants_of, criterion
from ceql.choice.front import pareto_front
from ceql.choice.selection import TIES, TiePolicy
from ceql.choice.vetoes import Vetoes, fewer
from ceql.choice.vetoes.policy import VetoPolicy
from ceql.data.dataset import Dataset
from ceql.engine.deadline import NEVER, Deadline
from ceql.expression.prices import PRICES, Prices
from ceql.expression.text.formula_values import can_be_read
from ceql.formula import Formula

Kind = TypeVar("Kind", bound=Formula)


@dataclass(frozen=True)
class SiftingPolicy:
    """How many formulas are examined closely. The clock only prevents further ones from being examined."""

    checked: int = 60  # formulas that the vetoes examine, the best first; one that was not examined is not shown
    checked_anyway: int = 20  # of these, examined even if the time is up, since the best may all be struck
    checked_rows: int = 2000  # rows of a longer table that the vetoes use
    lightened: int = 1  # struck formulas that are refitted without a constant that the rows do not determine
    # Candidates to be shown beside the front: the best of all by the criterion, and the best for each number of
    # constants.
    ahead: int = 16
    a_size: int = 6
    sure: int = 2  # for each number of constants, shown beside the front before any others
    # Formulas whose values differ by less than this share of the residuals count as the same formula.
    same: float = 0.02
    simpler: int = 12  # for a wide table, simpler formulas that are compared with the chosen one on held-out rows
    # Standard errors by which a straight line in all columns, or a long sum, must predict held-out rows better than the
    # chosen formula to replace it. The folds judge the line and the sum from scratch, but flatter the chosen formula.
    beaten: float = 0.0
    # The same for a long sum against the line: new rows may lie outside the held-out ones, where products go astray.
    line_beaten: float = 1.0
    ties: TiePolicy = TIES
    vetoes: VetoPolicy = VetoPolicy()
    # Time reserved for sifting, including the evidence for what is shown: `seconds`, and more for each row examined, up
    # to a share of the time limit.
    seconds: float = 0.8
    seconds_a_row: float = 8e-4
    most_of_limit: float = 0.08

    def seconds_for(self, rows: int, time_limit: float) -> float:
        """Seconds of the time limit that are kept for sifting a table with this many rows."""
        seconds = self.seconds + self.seconds_a_row * min(rows, self.checked_rows)
        return min(seconds, self.most_of_limit * time_limit)

    @property
    def hasty(self) -> SiftingPolicy:
        """For interruptions: fewer formulas are examined, and none is refitted."""
        return replace(self, checked=self.checked // 3, lightened=0)


SIFTING = SiftingPolicy()


@dataclass(frozen=True, eq=False)
class Struck:
    """A formula that is not shown, and the sentence that says why."""

    formula: Formula
    why: str


@dataclass(frozen=True, eq=False)
class Sifted:
    """The result: the front, the best formulas that are not on it, and the struck formulas."""

    front: tuple[Formula, ...]
    beside: tuple[Formula, ...]
    struck: tuple[Struck, ...]


class _Sieve:
    """Asks the vetoes about each formula at most once, and about no more than the policy allows."""

    def __init__(
        self, data: Dataset, constant: Formula, prices: Prices, policy: SiftingPolicy, until: Deadline
    ) -> None:
        self.data, self.prices, self.policy, self.until = data, prices, policy, until
        self._vetoes = Vetoes(data.thinned(policy.checked_rows), policy.vetoes, until)
        self._answers: dict[int, str | None] = {id(constant): None}  # a number alone has nothing to be struck for
        self._formulas: list[Formula] = [constant]  # held, so that no identity is used twice
        self.struck: list[Struck] = []

    def passes(self, formula: Formula) -> bool:
        if id(formula) not in self._answers:
            asked = len(self._answers) - 1
            if asked >= self.policy.checked or (asked >= self.policy.checked_anyway and self.until.over):
                return False
            why = self._vetoes.sentence(formula)
            self._answers[id(formula)] = why
            self._formulas.append(formula)
            if why is not None:
                self.struck.append(Struck(formula, why))
        return self._answers[id(formula)] is None

    def score(self, formula: Formula) -> float:
        return criterion(formula, len(self.data.y), self.prices)


def sifted(
    formulas: Sequence[Formula],
    constant: Formula,
    data: Dataset,
    more: int,
    prices: Prices = PRICES,
    policy: SiftingPolicy = SIFTING,
    allows: Callable[[Any], bool] = lambda expression: True,
    until: Deadline = NEVER,
) -> Sifted:
    """The front of the formulas that no veto strikes, and up to `more` of the best others.

    `allows` checks the constraints on formulas that are refitted with fewer constants. When the time is up, formulas
    that the vetoes have not examined are not shown.
    """
    sieve = _Sieve(data, constant, prices, policy, until)
    ranked = distinct(sorted(formulas, key=sieve.score), data, policy.same)
    front, beside = _shown(ranked, constant, more, sieve)
    lighter = [f for f in _lightened(sieve) if can_be_read(f.expression) and allows(f.expression)]
    if lighter:
        ranked = distinct(sorted([*ranked, *lighter], key=sieve.score), data, policy.same)
        front, beside = _shown(ranked, constant, more, sieve)
    struck = sorted(sieve.struck, key=lambda struck: sieve.score(struck.formula))
    return Sifted(tuple(front), tuple(beside), tuple(struck))


def _shown(
    ranked: Sequence[Formula], constant: Formula, more: int, sieve: _Sieve
) -> tuple[list[Formula], list[Formula]]:
    """The front, and the best others. Formulas that would not be shown are not examined, which would take long."""
    front = _front([*ranked, constant], sieve)
    on_front = {id(formula) for formula in front}
    policy = sieve.policy
    near = (*ranked[: policy.ahead], *_of_each_size(ranked[policy.ahead :], len(ranked), policy.a_size))
    left = (f for f in near if id(f) not in on_front and f.expression.free_symbols and np.isfinite(sieve.score(f)))
    rest = sorted(left, key=sieve.score)
    sure = _of_each_size(rest, more, policy.sure, sieve.passes)
    others = [formula for formula in rest if formula not in sure]
    filled = _of_each_size(others, more - len(sure), policy.a_size - policy.sure, sieve.passes)
    return front, sorted([*sure, *filled], key=sieve.score)


def _front(pool: Sequence[Formula], sieve: _Sieve) -> list[Formula]:
    """The front of formulas that pass: each formula on it is examined, and a struck one makes room for the next."""
    left = list(pool)
    while True:
        front = pareto_front(left, len(sieve.data.y), sieve.prices)
        fallen = {id(formula) for formula in sorted(front, key=sieve.score) if not sieve.passes(formula)}
        if not fallen:
            return front
        left = [formula for formula in left if id(formula) not in fallen]


def _lightened(sieve: _Sieve) -> list[Formula]:
    """The best struck formulas, refitted without constants that the rows do not determine."""
    struck = sorted((struck.formula for struck in sieve.struck), key=sieve.score)
    # A refit is one of squares: where another loss is the judge, it would be compared by another likelihood.
    struck = [formula for formula in struck if formula.surprise is None]
    loose = [formula for formula in struck if any(not error < abs(c) for c, error in formula.constants)]
    data = sieve.data.thinned(sieve.policy.checked_rows)
    if data is not sieve.data:  # refitted to some rows only, they would not be judged like the others
        return []
    policy, most = sieve.policy.vetoes, sieve.policy.lightened
    return [light for formula in loose[:most] for light in fewer(formula, data, policy, sieve.until)]


def distinct(ranked: Iterable[Kind], data: Dataset, same: float) -> list[Kind]:
    """Without formulas that have the same values as an earlier one: the catalogue, the search and the small forms often
    find the same."""
    few = data.thinned(400)
    kept: list[Kind] = []
    values: list[np.ndarray] = []
    for formula in ranked:
        value = formula(few.x)
        least = same * np.sqrt(max(formula.loss, 1e-300))
        pairs = enumerate(zip(kept, values, strict=True))
        twins = (
            k
            for k, (known, other) in pairs
            if constants_of(formula) >= constants_of(known) and np.max(np.abs(value - other)) <= least
        )
        twin = next(twins, None)
        if twin is None:
            kept.append(formula)
            values.append(value)
        elif formula.law is not None and kept[twin].law is None and constants_of(formula) == constants_of(kept[twin]):
            kept[twin] = formula  # the same with a name
    return kept


def _of_each_size(
    ranked: Iterable[Formula], most: int, a_size: int, passes: Callable[[Formula], bool] = lambda formula: True
) -> list[Formula]:
    """The best formulas that pass, with a limit for each number of constants."""
    counts: dict[int, int] = {}
    chosen = []
    for formula in ranked:
        size = constants_of(formula)
        if len(chosen) < most and counts.get(size, 0) < a_size and passes(formula):
            counts[size] = counts.get(size, 0) + 1
            chosen.append(formula)
    return chosen
