"""The front: of all formulas, those that no other beats in both size and loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ceql.choice.criterion import criterion, floor
from ceql.expression.prices import PRICES, Prices
from ceql.formula import Formula


def pareto_front(formulas: Sequence[Formula], n_samples: int, prices: Prices = PRICES) -> list[Formula]:
    """The formulas that no other beats in both complexity and loss, the simplest first.

    Of several formulas of one size only the best by the criterion is kept: a decimal always fits noise slightly better
    than the whole number it should be. For the same reason a formula is dropped in favour of a longer one that fits
    less well but is better by the criterion: it fits better only because of one more number, or a decimal exponent.
    """
    best: dict[int, Formula] = {}
    for formula in formulas:
        rival = best.get(formula.complexity)
        if np.isfinite(formula.loss) and (
            rival is None or _order(formula, n_samples, prices) < _order(rival, n_samples, prices)
        ):
            best[formula.complexity] = formula
    front: list[Formula] = []
    for size in sorted(best):
        price = criterion(best[size], n_samples, prices)
        # The first is the constant that opens every front.
        while len(front) > 1 and front[-1].loss <= best[size].loss and criterion(front[-1], n_samples, prices) > price:
            front.pop()
        if not front or best[size].loss < front[-1].loss:
            front.append(best[size])
    return front


def _order(formula: Formula, n_samples: int, prices: Prices) -> tuple[float, float]:
    return criterion(formula, n_samples, prices), formula.loss


def gains(front: Sequence[Formula]) -> np.ndarray:
    """How much each row lowers the logarithm of the loss per node it adds (PySR's score)."""
    score = np.zeros(len(front))
    for k in range(1, len(front)):
        step = max(1, front[k].complexity - front[k - 1].complexity)
        score[k] = (np.log(floor(front[k - 1].loss)) - np.log(floor(front[k].loss))) / step
    return score
