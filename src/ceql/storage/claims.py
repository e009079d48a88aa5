"""Checks what a model file says about its formulas against the data, so that nothing is reported unchecked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ceql.choice.exactness import EXACT, meets_most_rows
from ceql.data.content import ContentError
from ceql.data.dataset import Dataset
from ceql.discovery import Outcome
from ceql.formula import Formula, mean_square
from ceql.search.losses import SQUARED, read_loss, robust_scale

_AGREES = 1e-3  # relative; another processor may round the last digits differently
_ROUNDED = 100.0  # times the error that counts as exact, for the same reason
_SAME_SCALE = 10.0  # factor to which the residuals determine the scale of a robust loss, which is not saved


def check_losses(front: tuple[Formula, ...], data: Dataset, loss: str) -> None:
    """Raises a ContentError if the saved loss of a formula, or the values of its template, do not match the data."""
    for k, formula in enumerate(front):
        _check_template(formula, data, k)
    residuals = [_residual(formula, data, k) for k, formula in enumerate(front)]
    for k, (formula, (least, most)) in enumerate(zip(front, _bounds(residuals, data, loss), strict=True)):
        room = EXACT.hit * mean_square(data.y, data.weight)
        if not least * (1.0 - _AGREES) - room <= formula.loss <= most * (1.0 + _AGREES) + room:
            raise ContentError(
                f"'loss' in row {k} of the front is {formula.loss:.6g}, but on the data the formula has {most:.6g}"
            )


def _check_template(formula: Formula, data: Dataset, row: int) -> None:
    if formula.law is None or not formula.law.is_template:
        return
    values, plain = formula(data.x), replace(formula, law=None)(data.x)
    apart = np.abs(values - plain)[np.isfinite(plain)]  # SymPy turns exp(2000.0 - x) into infinity times exp(-x)
    if not np.all(apart <= _AGREES * np.abs(values[np.isfinite(plain)]) + np.sqrt(EXACT.hit) * np.abs(data.y).max()):
        raise ContentError(f"the template in row {row} of the front has other values than its formula")


def check_outcome(outcome: Outcome, best: Formula, data: Dataset, loss: str) -> None:
    """Raises a ContentError if the best formula cannot have the saved outcome on these data."""
    if outcome is Outcome.CONSTANT and not data.is_constant:
        raise ContentError("'outcome' is CONSTANT, but the target varies")
    if outcome is not Outcome.EXACT:
        return
    square = mean_square(data.y - best(data.x), data.weight)
    rounded = _ROUNDED * EXACT.hit * mean_square(data.y, data.weight)
    exact = square <= rounded if loss == SQUARED else meets_most_rows(best, data)
    if not exact:
        raise ContentError(
            f"'outcome' is EXACT, but the chosen formula leaves a mean square of {square:.6g} on the data"
        )


def _residual(formula: Formula, data: Dataset, row: int) -> np.ndarray:
    residual = data.y - formula(data.x)
    if not np.isfinite(residual).all():
        first = int(np.flatnonzero(~np.isfinite(residual))[0])
        raise ContentError(f"the formula in row {row} of the front has no value in row {first} of the data")
    return residual


@np.errstate(over="ignore", invalid="ignore")
def _bounds(residuals: list[np.ndarray], data: Dataset, name: str) -> list[tuple[float, float]]:
    """The lower and upper bound of the loss of each formula; for squares both are the same."""
    squares = [mean_square(residual, data.weight) for residual in residuals]
    loss = read_loss(name, data.y)
    if loss is None:
        return [(square, square) for square in squares]
    scale = max(min(map(robust_scale, residuals)), 1e-300) / _SAME_SCALE
    # The scale of a robust loss is not saved. The loss grows with its scale and stays below the square, which is saved
    # if the search did not start.
    costs = [float(np.mean(data.weight * loss.cost(data.y, data.y - r, scale))) for r in residuals]
    return [(min(pair), max(pair)) for pair in zip(costs, squares, strict=True)]
