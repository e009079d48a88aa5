"""The one definition of exact: below which misfit a fit, and with how many digits a formula, counts as the truth."""

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
    """Losses are in mean squares of y."""

    hit: float = 1e-18  # misfit below which a fit is taken for the formula itself and eliminated
    near: float = 1e-9  # misfit below which a fit may hide an exact one
    loss: float = 1e-24  # most loss of an exact formula
    rounding: float = 1e-30  # usual loss of one, where only rounding is left
    digits: float = 3e-11  # its relative error in the typical row
    nearly_all: float = 0.95  # share of the rows that must have these digits, unless only rounding is left
    # A formula that is right is off by rounding in all rows, an approximation by far more in its worst ones.
    worst: float = 0.99  # The quantile of the rows that counts as their worst:
    beyond: float = 300.0  # there it must not be off by more than this, in units of what rounding the columns changes,
    uneven: float = 30.0  # and at the same time by more than this many times what it is off in the typical row.
    rows: int = 2000  # of a long table in which digits are compared
    # Under a loss that outliers cannot rule: the share of the rows that must be met, to this share of the size of y.
    most_rows: float = 0.75
    share: float = 1e-9


EXACT = Exactness()


def size_of(data: Dataset) -> float:
    """The mean square of y; where y is zero in all rows that count, only what meets them all is exact."""
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
    """Whether it is off by rounding in some rows and by far more in others, so that something is left out."""
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
