"""From many formulas to a front, and from the front to the one that is reported."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ceql.errors import unknown_name
from ceql.expression import parametrise
from ceql.expression.complexity import structure_count
from ceql.formula import Formula

RULES = ("best", "accuracy", "score")


def pareto_front(formulas: Sequence[Formula], n_samples: int) -> list[Formula]:
    """The formulas that no other beats in both complexity and loss, simplest first.

    Of several formulas of one size the best by the criterion stands for all: a decimal always fits noise a bit better
    than the whole number it should be. For the same reason a formula gives way to a longer one that fits less well, but
    is better by the criterion: it owes its fit to one more number, or to a decimal exponent.
    """
    best: dict[int, Formula] = {}
    for formula in formulas:
        rival = best.get(formula.complexity)
        if np.isfinite(formula.loss) and (rival is None or _order(formula, n_samples) < _order(rival, n_samples)):
            best[formula.complexity] = formula
    front: list[Formula] = []
    for size in sorted(best):
        price = criterion(best[size], n_samples)
        # The first is the constant that opens every front.
        while len(front) > 1 and front[-1].loss <= best[size].loss and criterion(front[-1], n_samples) > price:
            front.pop()
        if not front or best[size].loss < front[-1].loss:
            front.append(best[size])
    return front


def _order(formula: Formula, n_samples: int) -> tuple[float, float]:
    return criterion(formula, n_samples), formula.loss


def gains(front: Sequence[Formula]) -> np.ndarray:
    """How much each row lowers the logarithm of the loss per node it adds (PySR's score)."""
    score = np.zeros(len(front))
    for k in range(1, len(front)):
        step = max(1, front[k].complexity - front[k - 1].complexity)
        score[k] = (np.log(floor(front[k - 1].loss)) - np.log(floor(front[k].loss))) / step
    return score


def floor(loss: float) -> float:
    return max(loss, 1e-300)


def choose(front: Sequence[Formula], rule: str, n_samples: int, y_size: float) -> int:
    """The row to report: "best" weighs fit against size with the noise in mind, "accuracy" takes the lowest loss and
    "score" the steepest gain among rows within 1.5 times the lowest loss."""
    if rule not in RULES:
        raise unknown_name("model_selection rule", rule, RULES)
    losses = np.array([formula.loss for formula in front])
    proven = np.array([not interpolates(formula, n_samples) for formula in front])
    exact = np.flatnonzero((losses <= 1e-24 * y_size) & proven)
    if len(exact):
        return int(exact[0])
    if rule == "accuracy":
        return int(np.argmin(losses))
    if rule == "score":
        near = losses <= 1.5 * losses.min()
        return int(np.argmax(np.where(near, gains(front), -np.inf)))
    return int(np.argmin([criterion(formula, n_samples) for formula in front]))


def interpolates(formula: Formula, n_samples: int) -> bool:
    """Whether it has so many constants that meeting the rows would prove nothing."""
    return 2 * len(parametrise(formula.expression).symbols) >= n_samples


def criterion(formula: Formula, n_samples: int) -> float:
    """The Bayesian information criterion with a price on structure: every node could have been another."""
    if interpolates(formula, n_samples):
        return np.inf
    constants = len(parametrise(formula.expression).symbols)
    nodes = structure_count(formula.expression, formula.costs)
    misfit = n_samples * np.log(floor(formula.loss)) if formula.surprise is None else formula.surprise
    fitted = constants + 1  # the size of the noise is one more
    # With few rows a formula follows the noise further than the logarithm knows (Hurvich and Tsai's correction).
    few_rows = 2.0 * fitted * (fitted + 1) / max(n_samples - fitted - 1, 0.5)
    return misfit + np.log(n_samples) * fitted + few_rows + 2.0 * nodes
