"""The definition of exact: the misfit below which a fit, and the accuracy at which a formula, counts as the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ceql.choice.criterion import interpolates
from ceql.data.dataset import Dataset, typical_size
from ceql.expression import compile_numpy
from ceql.expression.rounding import of_its_terms
from ceql.formula import Formula, mean_square

_LEAST_SQUARE = 1e-300  # stands for a mean square of y that is zero


@dataclass(frozen=True)
class Exactness:
    """Losses are in units of the mean square of y."""

    hit: float = 1e-18  # a fit with a smaller misfit is taken for an exact formula, and reduced by elimination
    near: float = 1e-9  # a fit with a smaller misfit may hide an exact one
    loss: float = 1e-24  # largest loss of an exact formula
    rounding: float = 1e-30  # loss at which nothing but rounding is left
    digits: float = 3e-11  # largest relative error of an exact formula in the typical row
    nearly_all: float = 0.95  # share of the rows that must be as accurate, unless only rounding is left
    # An exact formula is off by rounding in all rows, an approximation by far more in its worst ones. Errors are
    # measured in units of the effect of rounding the columns. A formula is inexact if, in its worst rows, it is off by
    # more than `beyond` and by more than `uneven` times its typical error.
    worst: float = 0.99  # quantile of the rows that counts as their worst
    beyond: float = 300.0
    uneven: float = 30.0
    rows: int = 2000  # rows of a long table in which digits are compared
    # Under a loss that resists outliers, this share of the rows must be met, each to within `share` of the size of y.
    most_rows: float = 0.75
    share: float = 1e-9


EXACT = Exactness()


def size_of(data: Dataset) -> float:
    """The mean square of y. If y is zero in all rows that count, only a formula that meets all of them is exact."""
    return max(mean_square(data.y, data.weight), _LEAST_SQUARE)


def is_hit(formula: Formula, data: Dataset, exact: Exactness = EXACT) -> bool:
    return formula.loss <= exact.hit * size_of(data)


def is_exact(formula: Formula, data: Dataset, exact: Exactness = EXACT) -> bool:
    """Whether it fits to the last digits; one that does not may still be a very good approximation."""
    if interpolates(formula, len(data.y)):
        return False
    few = data.thinned(exact.rows)
    apart = np.abs(formula(few.x) - few.y)
    share = formula.loss / size_of(data)
    # Where y spans decades, a term that matters for small values only hardly shows in the mean.
    relative = apart / np.maximum(np.abs(few.y), 1e-300)
    typical, of_nearly_all = np.quantile(relative, (0.5, exact.nearly_all))
    within = of_nearly_all <= exact.digits or share <= exact.rounding
    return bool(share <= exact.loss and typical <= exact.digits and within) and not _is_uneven(formula, few, exact)


@np.errstate(all="ignore")  # what is undefined next to a row is no rounding
def _is_uneven(formula: Formula, data: Dataset, exact: Exactness) -> bool:
    """Whether it is off only by rounding in some rows and by far more in others, so that it lacks something."""
    values, digit = formula(data.x), np.finfo(float).eps
    moved = np.abs(formula(data.x * (1.0 + digit)) - values) + np.abs(formula(data.x * (1.0 - digit)) - values)
    for k in range(data.x.shape[1]):
        nearby = data.x.copy()
        nearby[:, k] *= 1.0 + digit
        moved += np.abs(formula(nearby) - values)
    terms = compile_numpy(of_its_terms(formula.expression), formula.symbols)(data.x)
    off = np.abs(values - data.y) / (np.nan_to_num(moved + digit * terms) + digit * np.abs(data.y) + _LEAST_SQUARE)
    typical, worst = np.quantile(off, (0.5, exact.worst))
    return bool(worst > exact.beyond and worst > exact.uneven * (1.0 + typical))


def meets_most_rows(formula: Formula, data: Dataset, exact: Exactness = EXACT) -> bool:
    """Whether it meets most rows to machine precision, whatever the others say."""
    residual = np.abs(data.y - formula(data.x))
    return bool(np.quantile(residual, exact.most_rows) <= exact.share * typical_size(data.y))
