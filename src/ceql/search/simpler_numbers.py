"""Variants of formulas with simpler numbers than noise has led to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, TypeVar

from ceql.choice.criterion import criterion, interpolates
from ceql.choice.front import pareto_front
from ceql.constraints import Constraints
from ceql.data.dataset import Dataset
from ceql.engine.deadline import NEVER, Deadline
from ceql.expression.constants.simpler import relatives, with_simple_numbers
from ceql.expression.prices import PRICES, Prices
from ceql.formula import POLISH, Formula, PolishPolicy, polish, refitted, settled
from ceql.search.policy import LEADERS, Leaders

Item = TypeVar("Item")
Rank = Callable[[Formula], float]


def with_simpler_numbers(
    formulas: Sequence[Formula],
    data: Dataset,
    constraints: Constraints,
    most: int,
    policy: PolishPolicy = POLISH,
    prices: Prices = PRICES,
) -> Iterator[list[Formula]]:
    """Variants, fitted to y, of formulas on the front and of formulas with too many numbers for few rows.

    At most `most` formulas are examined. A variant better than all formulas is finished with full effort. Yields the
    variants found so far.
    """
    rows, found = len(data.y), list[Formula]()
    front = pareto_front(formulas, rows, prices)
    others = [formula for formula in formulas if formula not in front and interpolates(formula, rows)]
    others.sort(key=lambda formula: (len(formula.constants), formula.loss))
    for formula in (*front, *others)[:most]:
        for simpler in relatives(formula.expression, formula.constants, interpolates(formula, rows)):
            fitted = refitted(simpler, data, formula.symbols, constraints, policy)
            found = found if fitted is None else [*found, fitted]
        yield found
    best = min([*formulas, *found], key=partial(criterion, rows=rows, prices=prices), default=None)
    if best is not None and best in found:
        finished = polish(best.expression, data, best.symbols, constraints, policy)
        yield found if finished is None else [*found, finished]


def simpler_than_the_best(
    formulas: Sequence[Formula],
    data: Dataset,
    constraints: Constraints,
    leaders: Leaders = LEADERS,
    policy: PolishPolicy = POLISH,
    prices: Prices = PRICES,
    until: Deadline = NEVER,
) -> list[Formula]:
    """Variants, fitted to y, of the leading formulas wherever they came from, and of variants that lead by then.

    No further variant is begun when the time is up. For a long table, the leading formulas are first fitted to all
    rows, since constants fitted to some of them have larger errors.
    """
    rank = partial(criterion, rows=len(data.y), prices=prices)
    given = data, constraints, policy, until
    tried: set[Any] = {formula.expression for formula in formulas}
    contest, found = _distinct(formulas, rank), list[Formula]()
    for most in (leaders.first, *leaders.later):
        leading = _leading(contest[:most], rank, leaders)
        close = _fitted_to_all(leading, *given) if len(data.y) > policy.checked_rows else []
        tried |= {formula.expression for formula in close}
        contest = _distinct([*contest, *close], rank)
        new = {r: f for f in _leading(contest[:most], rank, leaders) for r in _simpler(f) if r not in tried}
        tried |= set(new)
        fitted = (refitted(r, data, f.symbols, constraints, policy) for r, f in _while_time(new.items(), until))
        relatives = [formula for formula in fitted if formula is not None]
        contest, found = _distinct([*contest, *relatives], rank), [*found, *close, *relatives]
        if not new:
            break
    return found


def _leading(ranked: Sequence[Formula], rank: Rank, leaders: Leaders) -> list[Formula]:
    return [formula for formula in ranked if rank(formula) <= rank(ranked[0]) + leaders.behind]


def _simpler(formula: Formula) -> list[Any]:
    given = formula.expression, formula.constants
    return [*relatives(*given), *with_simple_numbers(*given)]


def _distinct(formulas: Sequence[Formula], rank: Rank) -> list[Formula]:
    """Ranked, every expression once."""
    return list({formula.expression: formula for formula in sorted(formulas, key=rank)}.values())


def _fitted_to_all(
    formulas: Sequence[Formula], data: Dataset, constraints: Constraints, policy: PolishPolicy, until: Deadline
) -> list[Formula]:
    fitted = (settled(f.expression, data, f.symbols, constraints, policy) for f in _while_time(formulas, until))
    return [formula for formula in fitted if formula is not None]


def _while_time(items: Iterable[Item], until: Deadline) -> Iterator[Item]:
    return takewhile(lambda _: not until.over, items)
