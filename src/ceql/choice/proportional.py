"""Errors in proportion to the values: whether a table has them, and how likely its formulas are then.

Least squares takes every row to be as exact as the next. Many instruments are exact to some per cent instead, and where
the values span decades the largest rows then hold all the misfit: formulas with more constants follow their noise, and
nothing is said about the others. So formulas are also asked how likely the rows are under errors in proportion to the
values, with constants that suit such errors. If the best of them is much likelier then, all are judged that way. Their
constants, and the loss that is shown, stay those of least squares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ceql.choice.criterion import constants_of, criterion
from ceql.data.dataset import Dataset
from ceql.engine.deadline import NEVER, Deadline
from ceql.engine.one_thread import one_thread
from ceql.expression.constants.refit import minimise
from ceql.expression.evaluate.residual_problem import Problem, Program
from ceql.expression.prices import PRICES, Prices
from ceql.formula import Formula

Array = np.ndarray
Judge = Callable[[Formula], Formula]


@dataclass(frozen=True)
class ProportionalPolicy:
    """When errors are believed to be in proportion to the values."""

    span: float = 3.0  # between the smallest and the largest value: with less, both kinds of error are about the same
    asked: int = 24  # formulas, the best by the criterion, by which the two kinds are compared
    surer: float = 6.0  # of the criterion, by which the best must be better: odds of twenty to one
    rows: int = 2000  # of a longer table that serve
    steps: int = 12  # of Levenberg-Marquardt towards constants for such errors, twice


PROPORTIONAL = ProportionalPolicy()


def as_it_is(formula: Formula) -> Formula:
    """For a table whose errors are the same in all rows."""
    return formula


def unjudged(formula: Formula) -> Formula:
    """The same with its own loss in the criterion again."""
    return formula if formula.judged_loss is None else replace(formula, judged_loss=None)


@one_thread
def judge_of_errors(
    formulas: Sequence[Formula],
    data: Dataset,
    prices: Prices = PRICES,
    policy: ProportionalPolicy = PROPORTIONAL,
    until: Deadline = NEVER,
) -> Judge:
    """What makes formulas ready to be compared by the criterion: with `judged_loss` where errors are in proportion."""
    if until.over or not _may_be_in_proportion(data, policy):
        return as_it_is
    few, rows = data.thinned(policy.rows), len(data.y)

    def judged(formula: Formula) -> Formula:
        return replace(formula, judged_loss=loss_in_proportion(formula, few, policy.steps))

    def score(formula: Formula) -> float:
        return criterion(formula, rows, prices)

    ranked = sorted(formulas, key=score)[: policy.asked]
    alike = min(map(score, ranked), default=np.inf)
    in_proportion = min((score(judged(formula)) for formula in ranked if np.isfinite(score(formula))), default=np.inf)
    return judged if in_proportion < alike - policy.surer else as_it_is


def _may_be_in_proportion(data: Dataset, policy: ProportionalPolicy) -> bool:
    """Whether errors are not known and rows not weighed by the user, and the values of one sign span enough."""
    if data.noise is not None or data.censored is not None or np.ptp(data.weight) > 0.0:
        return False
    size = np.abs(data.y)
    is_one_sided = bool((data.y > 0.0).all() or (data.y < 0.0).all())
    return is_one_sided and bool(size.max() >= policy.span * size.min())


@np.errstate(all="ignore")
def loss_in_proportion(formula: Formula, data: Dataset, steps: int) -> float:
    """The loss under the same error in all rows that would be as likely as these rows are under errors in proportion to
    the formula's values; infinite where these have not the sign of y everywhere."""
    tied = _Tied.of(formula)
    first = _refitted(tied, tied.start, data, data.y, steps)
    there = tied.value(data.x, first)
    if not (there * data.y > 0.0).all():
        return np.inf
    values = tied.value(data.x, _refitted(tied, first, data, there, steps))
    if not (values * data.y > 0.0).all():
        return np.inf
    relative = np.mean(((data.y - values) / values) ** 2)
    return float(relative * np.exp(2.0 * np.mean(np.log(np.abs(values)))))


def _refitted(tied: _Tied, start: Array, data: Dataset, size: Array, steps: int) -> Array:
    """The constants that are best if errors are in proportion to these sizes; those of the start where it has no
    values."""
    return minimise(Problem(tied, data.x, data.y, 1.0 / np.abs(size)), start, steps)[0]


@dataclass(frozen=True, eq=False)
class _Tied:
    """A formula over its constants, those of a law that occur twice, perhaps with another sign, as one."""

    program: Program
    start: Array
    spread: Array  # from these constants to the numbers that the formula shows

    @classmethod
    def of(cls, formula: Formula) -> _Tied:
        shown = np.array(formula.form.values, float)
        sizes = np.abs(shown) if formula.law is not None else shown
        start, first = np.unique(sizes, return_inverse=True)
        if formula.law is None or len(start) > constants_of(formula):  # numbers made of several constants stay apart
            start, first = shown, np.arange(len(shown))
        spread = np.zeros((len(shown), len(start)))
        spread[np.arange(len(shown)), first] = np.where(shown == start[first], 1.0, -1.0) if len(shown) else 1.0
        return cls(formula.program, start, spread)

    def value(self, x: Array, constants: Array) -> Array:
        return np.broadcast_to(self.program.value(x, self.spread @ constants), (len(x),))

    def __call__(self, x: Array, constants: Array) -> tuple[Array, Array]:
        values, slopes = self.program(x, self.spread @ constants)
        return values, slopes @ self.spread
