"""Which target gets the next round: y itself every other time, and in between transformed targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ceql.data.dataset import Dataset
from ceql.dimensions import Dimensions
from ceql.search.policy import EndPolicy, SearchPolicy
from ceql.search.state import SearchState
from ceql.search.target_search import TargetProblem, begin, sees_noise
from ceql.transforms import (
    TARGETS,
    TransformedTarget,
    dimensionless,
    flattened,
    independent_parts,
    is_curve,
    only,
    reduced,
    relevant,
    sampled,
    smooth_error,
    symmetric,
    towards,
    usable_targets,
    with_logs,
)

_ROUNDED = 1e-6  # of the last digit, within which a number is a rounded one
_LOG_TARGETS = ("y", "log y")

# Makes the problem of a target: the data with all rows, all rows of the target, and those to look at.
Maker = Callable[[Dataset, TransformedTarget, TransformedTarget], TargetProblem]


@dataclass(frozen=True, eq=False)
class Others:
    """The targets besides y, in the order of their numbers: first those in fewer variables, then transformed ones."""

    shorter: tuple[TargetProblem, ...]
    transformed: tuple[TargetProblem, ...]
    smooth_error: float  # of the first in fewer variables; infinite where there is none

    @property
    def all(self) -> tuple[TargetProblem, ...]:
        return self.shorter + self.transformed

    def turn(self, number: int) -> int | None:
        """Which of them comes next after this many turns: the two kinds alternate, each in a circle."""
        first, rest = len(self.shorter), len(self.transformed)
        if not first or not rest:
            return number % (first + rest) if first + rest else None
        half = number // 2
        return first + half % rest if number % 2 else half % first


@dataclass(frozen=True, eq=False)
class SearchTargets:
    """The targets of a search. Those besides y are only made if no easy formula was found."""

    data: Dataset
    target: TransformedTarget  # y over all columns
    operators: tuple[str, ...]
    make: Maker
    policy: SearchPolicy = field(default_factory=SearchPolicy)
    has_others: bool = True
    required: tuple[int, ...] = ()
    rows: int | None = None  # that the search looks at; which columns it needs is read off all
    units: Dimensions | None = None

    @cached_property
    def few_columns(self) -> TransformedTarget:
        if not self.has_others:
            return self.target
        return _few_columns(self.target, self.required, self.policy)

    @cached_property
    def mains(self) -> tuple[TargetProblem, ...]:
        """y itself: over the columns that seem to matter, and over all if there are more. Where numbers have no units,
        y over the groups that explain it best comes first, for which everything is dimensionally possible."""
        if not self.smooth_groups:
            return self.plain_mains
        errors = [smooth_error(problem.whole, self.policy.transforms) for problem in self.smooth_groups]
        enough = self.policy.turns.as_smooth * min(errors)
        good = [problem for problem, error in zip(self.smooth_groups, errors, strict=True) if error <= enough]
        return min(good, key=lambda problem: problem.target.x.shape[1]), self.plain_mains[0]

    @cached_property
    def plain_mains(self) -> tuple[TargetProblem, ...]:
        """y over the user's columns."""
        few = self.few_columns
        return self._made([few] if few is self.target else [few, self.target])

    @cached_property
    def grouped(self) -> tuple[TargetProblem, ...]:
        """y over dimensionless groups, where units are known and numbers have none."""
        if self.units is None or not self.units.is_strict or not self.has_others:
            return ()
        made = dimensionless(self.few_columns, self.units, self.policy.transforms.groups)
        return self._made(made)

    @cached_property
    def smooth_groups(self) -> tuple[TargetProblem, ...]:
        """The groups that may be searched. A single group is tested at once: y must be a curve over it."""
        return tuple(problem for problem in self.grouped if _is_possible(problem.whole, self.policy))

    @cached_property
    def others(self) -> Others:
        if not self.has_others:
            return Others((), (), np.inf)
        few = self.few_columns
        in_groups = _shorter_groups([problem.whole for problem in self.smooth_groups], self.policy)
        shorter = [*_in_fewer_variables(few, self.target, self.policy), *in_groups]
        transformed = _variants((*shorter[:1], few, *shorter[1:]), self.operators, self.policy)
        error = smooth_error(shorter[0], self.policy.transforms) if shorter else np.inf
        return Others(self._made(shorter), self._made(transformed), error)

    @cached_property
    def smooth_error(self) -> float:
        return smooth_error(self.mains[0].whole if self.smooth_groups else self.few_columns, self.policy.transforms)

    def problems(self, state: SearchState) -> tuple[TargetProblem, ...]:
        """The problems in the order of the states; the others only once they have been made."""
        return self.mains + self.others.all if self.has_made_others(state) else self.mains

    def has_made_others(self, state: SearchState) -> bool:
        return len(state.targets) > len(self.mains)

    def may_make_others(self, state: SearchState, seconds: float) -> bool:
        """Whether they exist, or can be made in that time by the price list."""
        policy, (rows, columns) = self.policy.shortcuts, self.few_columns.x.shape
        price = policy.making * columns**2 * min(rows / policy.making_rows, 1.0)
        return self.has_made_others(state) or price <= seconds

    def noise_at_most(self, state: SearchState) -> float:
        """What a smooth function leaves of y, in the weighted and scaled units of a misfit."""
        return min(self.smooth_error, self.others.smooth_error if self.has_made_others(state) else np.inf)

    def _made(self, targets: Sequence[TransformedTarget] | Iterator[TransformedTarget]) -> tuple[TargetProblem, ...]:
        rows = self.rows if self.rows is not None and len(self.target.y) > self.rows else None
        return tuple(self.make(self.data, target, sampled(target, rows)) for target in targets)

    @property
    def looks_at_few_rows(self) -> bool:
        return self.rows is not None and len(self.target.y) > self.rows


def with_others(targets: SearchTargets, state: SearchState) -> SearchState:
    """The state with a place for each of the other targets."""
    if not targets.has_others or targets.has_made_others(state):
        return state
    return replace(state, targets=(*state.targets, *map(begin, targets.others.all)))


def next_turn(targets: SearchTargets, state: SearchState, seconds: float = np.inf) -> tuple[SearchState, int]:
    """The target that gets the next round. With noisy data it is mostly y itself: the others distort the noise and
    serve to find exact formulas. They are made only if there is enough time."""
    state = replace(state, rounds=state.rounds + 1)
    policy = targets.policy.turns
    if targets.has_others and state.rounds > len(targets.mains):
        period = policy.other_every_in_noise if looks_noisy(targets, state) else policy.other_every
        of_mains = sum(known.archive.starts for known in state.targets[: len(targets.mains)])
        started = state.own_starts
        if period * (started - of_mains) < started and targets.may_make_others(state, seconds):
            state = with_others(targets, state)
            turn = targets.others.turn(state.other_turns)
            state = replace(state, other_turns=state.other_turns + 1)
            if turn is not None:
                return state, len(targets.mains) + turn
    turn = state.main_turns % len(targets.mains)
    return replace(state, main_turns=state.main_turns + 1), turn


def round_of(targets: SearchTargets, state: SearchState, turn: int, max_starts: int | None) -> int:
    """The number of starts of the next round. Rounds grow during the search: a large round keeps many cores busy, while
    a small one makes use of its results sooner."""
    policy, so_far = targets.policy, state.starts - state.started_before
    share = policy.growth if turn < len(targets.mains) else policy.growth_of_others
    grown = int(min(share * so_far, policy.largest_round)) // policy.chunk_size * policy.chunk_size
    if max_starts is not None:  # no larger than it takes to reach them
        left = -(-(max_starts - state.starts) // policy.round_size)
        grown = min(grown, left * policy.round_size)
    return max(grown, policy.round_size)


def others_by_width(targets: SearchTargets, state: SearchState) -> list[int]:
    """The other targets that are made already, those with the fewest columns first."""
    problems = targets.problems(state)
    return sorted(range(len(targets.mains), len(problems)), key=lambda k: problems[k].target.x.shape[1])


def asked(
    targets: SearchTargets, state: SearchState, most: int, worth_making: int, seconds: float = np.inf
) -> SearchState:
    """The state after y and this many other targets have been asked for formulas that need no search. The others are
    made only if there is enough time."""
    if most >= worth_making and targets.may_make_others(state, seconds):
        state = with_others(targets, state)
    return replace(state, asked=state.asked.union([0, *others_by_width(targets, state)[:most]]))


def is_measured(y: np.ndarray, policy: EndPolicy) -> bool:
    """Whether a target with few rows was rounded, as measured numbers are, or is the logarithm of such numbers. An
    exact formula would be so simple that it is found at once, and a few rounds try all formulas that these rows can
    distinguish."""
    if len(y) > policy.few_measured:
        return False
    if _are_rounded(y, policy):
        return True
    with np.errstate(all="ignore"):
        numbers = (np.exp(y), 10.0**y) if np.ptp(y) >= policy.least_logarithms else ()
        return any(bool(np.isfinite(one).all() and one.all()) and _are_rounded(one, policy) for one in numbers)


def _are_rounded(y: np.ndarray, policy: EndPolicy) -> bool:
    size = np.abs(y[y != 0.0])
    unit = 10.0 ** (np.floor(np.log10(size)) + 1 - policy.digits_measured)
    return bool(np.all(np.abs(size / unit - np.round(size / unit)) <= _ROUNDED))


def looks_noisy(targets: SearchTargets, state: SearchState) -> bool:
    """Whether larger fits have stopped improving, and no smooth function fits better than they do."""
    chunks = [known.archive.chunk for known in state.targets[: len(targets.mains)]]
    best = min(float(chunk.misfit.min(initial=np.inf)) for chunk in chunks)
    return best <= targets.noise_at_most(state) and any(sees_noise(chunk, targets.policy.reduction) for chunk in chunks)


def _few_columns(target: TransformedTarget, required: Sequence[int], policy: SearchPolicy) -> TransformedTarget:
    n, many = target.x.shape[1], policy.turns.many_columns
    columns = relevant(target.x, target.y, many, policy.transforms) if n > many else range(n)
    columns = sorted({*columns, *required}) if len(columns) else columns
    return only(target, columns) if 0 < len(columns) < n else target


def _in_fewer_variables(
    few: TransformedTarget, whole: TransformedTarget, policy: SearchPolicy
) -> list[TransformedTarget]:
    """Targets in fewer variables that the tests lead to, fewest variables first.

    Predicting rows takes longest and is tried only if all else fails. Statistics need no previous choice of columns,
    which may miss a column with a small contribution.
    """
    base = whole if whole.x.shape[1] <= policy.turns.most_joined else few
    found = _reduced_by_tests(base, policy)
    flat = flattened(base, policy.transforms)
    found += [] if flat is None else [*independent_parts(flat, policy.transforms), flat]
    found = [target for target in found if _is_possible(target, policy)]
    if few.x.shape[1] <= _most_predicted(few, policy) and not any(target.x.shape[1] == 1 for target in found):
        by_prediction = reduced(few, policy.transforms)
        found += [by_prediction] if by_prediction is not None and _is_possible(by_prediction, policy) else []
    both = [either for target in _distinct(found) for either in _both_ways(target)]
    both.sort(key=lambda shorter: shorter.x.shape[1])
    # Of many steps the last may be wrong; the first is the surest.
    return both if len(both) <= policy.turns.most_shorter else [*both[: policy.turns.most_shorter - 1], both[-1]]


def _shorter_groups(made: Sequence[TransformedTarget], policy: SearchPolicy) -> list[TransformedTarget]:
    """Targets over dimensionless groups: as they are, and in even fewer variables."""
    fewer: list[TransformedTarget] = []
    for target in made[: policy.turns.groups_reduced]:
        if target.x.shape[1] > 1:
            fewer += [one for one in _reduced_by_tests(target, policy) if _is_possible(one, policy)]
    found = sorted([*made, *_distinct(fewer)], key=lambda target: target.x.shape[1])
    return [either for target in found for either in _both_ways(target)][: policy.turns.most_grouped]


def _reduced_by_tests(base: TransformedTarget, policy: SearchPolicy) -> list[TransformedTarget]:
    """What statistics and symmetries lead to."""
    found = independent_parts(base, policy.transforms)
    if base.x.shape[1] <= policy.turns.many_columns + 1:
        by_symmetry = symmetric(base, policy.transforms)
        found += [] if by_symmetry is None else [*independent_parts(by_symmetry, policy.transforms), by_symmetry]
    return found


def _distinct(found: Sequence[TransformedTarget]) -> list[TransformedTarget]:
    """One for each set of variables: a ratio and its reciprocal are the same."""
    distinct: dict[frozenset[Any], TransformedTarget] = {}
    for target in found:
        distinct.setdefault(frozenset(min(symbol, 1 / symbol, key=str) for symbol in target.symbols), target)
    return list(distinct.values())


def _most_predicted(target: TransformedTarget, policy: SearchPolicy) -> int:
    """Most columns for prediction: with enough rows for statistics, few, since it then takes long and says little."""
    has_rows = len(target.y) >= policy.transforms.independence.rows
    return policy.turns.most_predicted if has_rows else policy.turns.many_columns


def _is_possible(target: TransformedTarget, policy: SearchPolicy) -> bool:
    """Whether y may depend on these variables alone; with a single one, this is tested at once."""
    return target.x.shape[1] > 1 or is_curve(target.x[:, 0], target.y, policy.transforms.smoothness)


def _both_ways(target: TransformedTarget) -> list[TransformedTarget]:
    """The target, and with a ratio as the only variable also its reciprocal, since its orientation is arbitrary."""
    (first, *rest) = target.symbols
    if rest or first.is_Symbol or not (target.x != 0.0).all():
        return [target]
    return [target, replace(target, x=1.0 / target.x, symbols=(1 / first,))]


def _variants(
    bases: Sequence[TransformedTarget], operators: tuple[str, ...], policy: SearchPolicy
) -> Iterator[TransformedTarget]:
    """The targets with the outermost operator undone, operator by operator for all bases; then with logarithms as
    inputs."""
    usable = [usable_targets(base.y, operators, policy.transforms) for base in bases]
    for name in (target.name for target in TARGETS if target.needs):
        for base, inverses in zip(bases, usable, strict=True):
            yield from (towards(base, inverse) for inverse in inverses if inverse.name == name)
    for base, inverses in zip(bases, usable, strict=True) if "log" in operators else ():
        logs = with_logs(base)
        if logs is not None:
            yield from (towards(logs, inverse) for inverse in inverses if inverse.name in _LOG_TARGETS)
