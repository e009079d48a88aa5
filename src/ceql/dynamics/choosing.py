"""Which system of equations is best: candidates of each equation are exchanged until the trajectories fit no better.

A system is judged by how far its simulated trajectories are from the samples, and by the price of its equations, with
the same prices as formulas elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sympy

from ceql.choice.criterion import description, price_of_constants
from ceql.dynamics.candidates import Candidate
from ceql.dynamics.policy import DynamicsPolicy
from ceql.dynamics.series import Series
from ceql.dynamics.shapes import Shape, shape_of
from ceql.dynamics.shooting import Shot, shoot
from ceql.dynamics.system import System
from ceql.engine.deadline import Deadline
from ceql.expression.constants.parametrise import parametrise
from ceql.formula import Formula


@dataclass(frozen=True, eq=False)
class Contest:
    """What systems are fitted to and judged by."""

    series: Series
    begins: np.ndarray  # states of the system at all samples, to start from
    noise: np.ndarray  # of each state of the system
    movement: np.ndarray
    policy: DynamicsPolicy
    until: Deadline

    @property
    def floor(self) -> np.ndarray:
        """Of each measured state."""
        return self.policy.choice.floor * self.movement[:: self.series.order]


@dataclass(frozen=True, eq=False)
class Contender:
    """A system that was fitted to the trajectories."""

    shot: Shot
    criterion: float

    @property
    def system(self) -> System:
        return self.shot.system


@dataclass(eq=False)
class Record:
    """Every system that was tried, by its structure; None for those that cannot be simulated or are far behind."""

    contest: Contest
    tried: dict[tuple[Any, ...], Contender | None] = field(default_factory=dict)

    def try_out(self, system: System, own: tuple[int, ...] = ()) -> Contender | None:
        key = (*structure_of(system), own)
        if key not in self.tried:
            bar = np.inf if self.best is None else self.best.criterion + self.contest.policy.choice.behind
            self.tried[key] = contender(system, self.contest, own, bar)
        return self.tried[key]

    def until(self, moment: Deadline) -> Record:
        """The same systems, and others until this moment."""
        return Record(replace(self.contest, until=moment), self.tried)

    @property
    def best(self) -> Contender | None:
        return min(self.contenders, key=lambda one: one.criterion, default=None)

    def leads(self, other: Record) -> bool:
        """Whether its best system is the better one."""
        best, leader = self.best, other.best
        return best is not None and (leader is None or best.criterion < leader.criterion)

    @property
    def contenders(self) -> list[Contender]:
        return [one for one in self.tried.values() if one is not None]


def structure_of(system: System) -> tuple[Shape, ...]:
    return tuple(shape_of(formula.expression) for formula in system.formulas)


def contender(system: System, contest: Contest, own: tuple[int, ...] = (), bar: float = np.inf) -> Contender | None:
    """The system, fitted to the trajectories and judged; None if it cannot be simulated, or is above the bar after the
    first fit. Each trajectory has `own` values of the constants with these numbers. Raises `OutOfTime` if there is no
    time."""
    given = contest.series, contest.begins, contest.noise, contest.movement, contest.policy.shooting
    shot = shoot(system, *given, own, contest.until, lambda shot: judged(shot, contest) < bar)
    return None if shot is None else Contender(shot, judged(shot, contest))


def judged(shot: Shot, contest: Contest) -> float:
    """Minus twice the logarithm of the probability of samples and equations, as for formulas."""
    fit = float(np.sum(shot.samples * np.log(shot.squares + contest.floor**2)))
    searched = [shot.system.formulas[k] for k in shot.system.searched]
    structure = sum(description(formula) for formula in searched)
    rows = int(np.sum(shot.samples))
    return fit + 2.0 * (structure + price_of_constants(len(shot.constants), rows))


def is_exact(one: Contender, contest: Contest) -> bool:
    """Whether only rounding is left. An approximation may come below the floor that counts elsewhere."""
    return bool(np.all(one.shot.squares <= (contest.policy.choice.exact * contest.floor) ** 2))


def is_hopeless(system: System, best: Contender, contest: Contest) -> bool:
    """Whether the price of a system makes it worse than the best, even if it fitted as well as the noise allows."""
    noise = contest.noise[:: contest.series.order]
    least = np.minimum(best.shot.squares, (contest.policy.choice.lowest * noise) ** 2)
    at_best = replace(best.shot, system=system, squares=least, constants=_constants_of(system))
    return judged(at_best, contest) >= best.criterion


def _constants_of(system: System) -> np.ndarray:
    return np.concatenate([parametrise(formula.expression).values for formula in system.formulas])


def compete(
    record: Record, system: System, candidates: Sequence[Sequence[Candidate]], tell: Callable[[float], None]
) -> None:
    """Exchanges equations of the system for their candidates, the best first, as long as that improves it."""
    contest, policy = record.contest, record.contest.policy.choice
    record.try_out(system)
    best, places = record.best, system.searched
    least = [min((one.criterion for one in few), default=0.0) for few in candidates]
    # The equations take turns, so that the clock cannot leave one without any alternative.
    turns = [
        (rank, place, few[rank])
        for place, few, lowest in zip(places, candidates, least, strict=True)
        for rank in range(len(few))
        if few[rank].criterion <= lowest + policy.hopeless
    ]
    turns.sort(key=lambda turn: turn[:2])
    for sweep in range(policy.sweeps):
        before = record.best
        for done, (_, place, candidate) in enumerate(turns):
            tell((sweep + done / len(turns)) / policy.sweeps)
            trial = exchanged(system if best is None else best.system, place, candidate.formula)
            if best is not None and is_hopeless(trial, best, contest):
                continue
            found = record.try_out(trial)
            if found is not None and (best is None or found.criterion < best.criterion):
                best = found
        if record.best is before:
            return


def exchanged(system: System, place: int, formula: Formula) -> System:
    formulas = list(system.formulas)
    formulas[place] = formula
    return replace(system, formulas=tuple(formulas))


def simplified(record: Record, best: Contender) -> Contender:
    """The system after improvements, one by one: unimportant terms are left out, and constants that are simple numbers
    within their errors are replaced by these."""
    for _ in range(2 * len(best.shot.constants)):
        better = None
        for system in _simpler(best, record.contest):
            if is_hopeless(system, best, record.contest):
                continue
            found = record.try_out(system)
            if found is not None and found.criterion < best.criterion:
                better = found
                break
        if better is None:
            return best
        best = better
    return best


def _simpler(best: Contender, contest: Contest) -> Iterator[System]:
    """The system without one of its terms, least important first; then with a simple number for a constant."""
    rows = rows_of(best, contest)
    trials = []
    for place in best.system.searched:
        formula = best.system.formulas[place]
        whole = float(np.std(formula(rows))) or 1.0
        trials += [(share, place, expression) for share, expression in _without_a_number(best.shot, place, rows, whole)]
    few = (trial for trial in trials if trial[0] < contest.policy.choice.removable)
    for _, place, expression in sorted(few, key=lambda trial: trial[:2]):
        yield exchanged(best.system, place, best.system.formulas[place].with_expression(expression))
    yield from _with_simple_numbers(best, contest.policy)


def has_real_numbers(expression: Any) -> bool:
    """Whether it is free of infinities, NaN and imaginary numbers, which replacing a number may produce."""
    return not expression.has(sympy.zoo, sympy.nan, sympy.oo, sympy.I)


def _without_a_number(shot: Shot, place: int, rows: np.ndarray, whole: float) -> Iterator[tuple[float, Any]]:
    """The equation with one of its constants set to zero, and how much that changes its values, as a share."""
    form, formula = shot.sides.forms[place], shot.system.formulas[place]
    values = shot.constants[shot.sides.places[place]]
    for k in range(len(values)):
        numbers: list[Any] = [sympy.Float(float(value)) for value in values]
        numbers[k] = sympy.Integer(0)
        expression = form.substitute(numbers)
        if expression.is_Number or not has_real_numbers(expression):
            continue
        with np.errstate(all="ignore"):
            change = Formula(expression, formula.symbols, 0.0)(rows) - formula(rows)
        if np.isfinite(change).all():
            yield float(np.sqrt(np.mean(change**2))) / whole, expression


def rows_of(best: Contender, contest: Contest) -> np.ndarray:
    """The columns of the system at the samples, with the states that fits start from."""
    series = contest.series
    parts = [one.inputs for one in series.trajectories]
    columns = [contest.begins, np.vstack(parts)]
    if best.system.depends_on_time:
        columns.append(np.concatenate([one.time for one in series.trajectories])[:, None])
    return np.column_stack(columns)


def _with_simple_numbers(best: Contender, policy: DynamicsPolicy) -> Iterator[System]:
    """The system with one constant replaced by a simple number, nearest first in units of the errors."""
    shot = best.shot
    errors = np.sqrt(np.abs(np.diag(shot.errors())))
    trials = []
    for place in best.system.searched:
        form, where = shot.sides.forms[place], shot.sides.places[place]
        values = shot.constants[where]
        for k, (value, error) in enumerate(zip(values, errors[where], strict=True)):
            simple = sympy.Integer(round(value))
            distance = abs(float(simple) - value) / max(error, 1e-9 * abs(value))
            if distance < policy.choice.snapped and abs(simple) <= policy.choice.simplest:
                numbers: list[Any] = [sympy.Float(float(v)) for v in values]
                numbers[k] = simple
                trials.append((distance, place, form.substitute(numbers)))
    for _, place, expression in sorted(trials, key=lambda trial: trial[:2]):
        if has_real_numbers(expression):
            yield exchanged(best.system, place, best.system.formulas[place].with_expression(expression))


def shared_where_possible(record: Record, best: Contender) -> Contender:
    """The system after making constants that differ between trajectories shared, one by one, where that is better."""
    while best.shot.layout.own:
        own = best.shot.layout.own
        trials = (record.try_out(best.shot.sides.system, tuple(k for k in own if k != shared)) for shared in own)
        better = min((one for one in trials if one is not None), key=lambda one: one.criterion, default=None)
        if better is None or better.criterion >= best.criterion:
            return best
        best = better
    return best
