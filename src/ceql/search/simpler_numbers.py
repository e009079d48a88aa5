"""Formulas with simpler numbers beside those that noise has led to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile

from ceql.choice.criterion import criterion, interpolates
from ceql.choice.front import pareto_front
from ceql.constraints import Constraints
from ceql.data.dataset import Dataset
from ceql.engine.deadline import NEVER, Deadline
from ceql.expression.constants.simpler import relatives
from ceql.expression.prices import PRICES, Prices
from ceql.formula import POLISH, Formula, PolishPolicy, polish, refitted


def with_simpler_numbers(
    formulas: Sequence[Formula],
    data: Dataset,
    constraints: Constraints,
    most: int,
    policy: PolishPolicy = POLISH,
    prices: Prices = PRICES,
) -> Iterator[list[Formula]]:
    """Relatives, fitted to y, of what stands on the front and of what has too many numbers for few rows.

    At most `most` formulas are looked at. A relative that is better than all formulas is finished with the full effort.
    Yields what there is as it grows.
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
    most: int,
    policy: PolishPolicy = POLISH,
    prices: Prices = PRICES,
    until: Deadline = NEVER,
) -> list[Formula]:
    """Relatives, fitted to y, of as many formulas as `most`: of those that lead, wherever they came from. None is begun
    when the time is up."""
    ranked = sorted(formulas, key=partial(criterion, rows=len(data.y), prices=prices))
    leaders = list({formula.expression: formula for formula in reversed(ranked)}.values())[::-1][:most]
    simpler = {r: f for f in leaders for r in relatives(f.expression, f.constants)}
    known = {formula.expression for formula in formulas}
    new = takewhile(lambda _: not until.over, ((r, f) for r, f in simpler.items() if r not in known))
    fitted = (refitted(r, data, f.symbols, constraints, policy) for r, f in new)
    return [formula for formula in fitted if formula is not None]
