"""Losses: what a residual costs. Squares are the default; the others do not let a few gross outliers rule the fit.

Design. The core minimises weighted squares and nothing else. A loss rho is brought to that by weights: a row counts
rho'(r) / (2 r) times, which is one where the loss is like a square and falls where it is flatter (iteratively
reweighted least squares). `reweighting.py` finds the weights while the search goes on, and `judgement.py` judges the
finished formulas by the loss itself. All named losses but "absolute" behave like r**2 for residuals that are small
against the scale, and have the unit of y squared; "absolute" has that of y. The scale is 1.4826 times the median of
|r|, so it is the standard deviation where the noise is normal, and the tuning constants are those of 95 % efficiency
there.

A loss of the user's own is text in `residual` (y minus prediction), `y` and `prediction`, read by our parser,
never run. It has no scale beyond what is written in it. Where it has no finite value a row costs `DEAREST`, so that
formulas can be compared by how many such rows they have. A row in which no prediction at all has a finite cost is
refused before the search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ceql.errors import InputError, UnknownNameError, unknown_name
from ceql.expression import FormulaError, compile_numpy, parse_formula
from ceql.formula import make_symbols
from ceql.search.policy import LossPolicy

SQUARED = "squared"
_WORDS = ("residual", "y", "prediction")
NORMAL = 1.4826  # the standard deviation of normal noise in units of its median size
_SQUARES = 1e100  # up to this size a number can be squared and squared again
DEAREST = 1e290  # what a row costs where the loss is infinite or undefined: the sum over all rows must stay finite
_PROBES = np.geomspace(1e-6, 1e2, 17)  # residuals at which a loss is tried out, in units of the largest y

Curve = Callable[[np.ndarray, float], np.ndarray]


def _log_cosh(u: np.ndarray) -> np.ndarray:
    size = np.abs(u)
    return size + np.log1p(np.exp(-2.0 * size)) - np.log(2.0)


def _log_of_one_and_square(u: np.ndarray) -> np.ndarray:
    """log(1 + u**2), also where the square would overflow."""
    size = np.abs(u)
    return np.where(size < _SQUARES, np.log1p(np.minimum(size, _SQUARES) ** 2), 2.0 * np.log(np.maximum(size, 1.0)))


# Per name: the loss of a residual u in units of the scale, like u**2 for small u, and its weight, one at zero; c is the
# number of the policy under that name.
_CURVES: dict[str, tuple[Curve, Curve]] = {
    "huber": (
        lambda u, c: np.where(np.abs(u) <= c, u**2, 2.0 * c * np.abs(u) - c**2),
        lambda u, c: c / np.maximum(np.abs(u), c),
    ),
    "cauchy": (
        lambda u, c: c**2 * _log_of_one_and_square(u / c),
        lambda u, c: 1.0 / (1.0 + (u / c) ** 2),
    ),
    "log-cosh": (
        lambda u, c: 2.0 * c**2 * _log_cosh(u / c),
        lambda u, c: np.where(np.abs(u) < 1e-6, 1.0, np.tanh(u / c) / np.where(u == 0.0, 1.0, u / c)),
    ),
}
NAMES = (SQUARED, "absolute", *_CURVES)


@dataclass(frozen=True)
class Loss:
    """A loss by its name or text."""

    name: str
    policy: LossPolicy = LossPolicy()

    def _curve(self, which: int, u: np.ndarray) -> np.ndarray:
        return _CURVES[self.name][which](u, getattr(self.policy, self.name.replace("-", "_")))

    @np.errstate(all="ignore")
    def cost(self, y: np.ndarray, prediction: np.ndarray, scale: float) -> np.ndarray:
        """What each row costs; `DEAREST` where that is infinite, undefined or more."""
        residual = y - prediction
        if self.name == "absolute":
            cost = np.abs(residual)
        elif self.name in _CURVES:
            cost = scale**2 * self._curve(0, residual / scale)
        else:
            cost = _own(self.name, y, residual)
            cost = np.where((residual == 0.0) & np.isnan(cost), 0.0, cost)  # such as residual**2/prediction at zero
        return np.minimum(np.nan_to_num(cost, nan=DEAREST, posinf=DEAREST), DEAREST)

    @np.errstate(all="ignore")
    def weight(self, y: np.ndarray, prediction: np.ndarray, scale: float) -> np.ndarray:
        """How much each row counts in squares; at most one. None does where the slope of the loss is zero or unknown
        everywhere."""
        residual, near = y - prediction, self.policy.nearly_zero * scale
        if self.name == "absolute":
            return near / np.maximum(np.abs(residual), near)
        if self.name in _CURVES:
            return self._curve(1, residual / scale)
        size = np.maximum(np.abs(residual), near)
        step = self.policy.step * size
        slope = (_own(self.name, y, size + step) - _own(self.name, y, size - step)) / (2.0 * step)
        weight = np.clip(np.nan_to_num(slope / (2.0 * size), nan=0.0, posinf=DEAREST), 0.0, DEAREST)
        return weight / max(float(weight.max()), 1e-300)


def robust_scale(residual: np.ndarray) -> float:
    """The standard deviation that normal noise of this median size would have."""
    return NORMAL * float(np.median(np.abs(residual)))


def read_loss(given: Any, y: np.ndarray, policy: LossPolicy = LossPolicy()) -> Loss | None:
    """The loss for these targets; None for squares. Text that is no name is read as a formula and tried out."""
    if not isinstance(given, str):
        raise InputError(f"loss must be one of {', '.join(NAMES)} or a formula in `residual` as text, not {given!r}.")
    if given == SQUARED:
        return None
    if given not in NAMES:
        _check_own(given, y)
    return Loss(given, policy)


def _own(text: str, y: np.ndarray, residual: np.ndarray) -> np.ndarray:
    table = np.column_stack([residual, y, y - residual])
    return _compiled(text)(table)


@lru_cache(maxsize=16)
def _compiled(text: str) -> Callable[[np.ndarray], np.ndarray]:
    return compile_numpy(parse_formula(text, _WORDS), make_symbols(_WORDS))


def _check_own(text: str, y: np.ndarray) -> None:
    if "residual" not in text and "prediction" not in text:
        raise UnknownNameError(f"{unknown_name('loss', text, NAMES)} A formula of your own contains `residual`.")
    try:
        _compiled(text)
    except FormulaError as error:
        raise InputError(f"The loss {text!r} cannot be read: {error}. Its names are {', '.join(_WORDS)}.") from error
    size = float(np.max(np.abs(y))) or 1.0
    residuals = size * np.concatenate([-_PROBES, [0.0], _PROBES])
    _check_shape(text, y, residuals)
    _check_rows(text, y, residuals)


def _check_shape(text: str, y: np.ndarray, residuals: np.ndarray) -> None:
    """Zero for a perfect fit, nowhere negative, somewhere above zero. What is undefined is no objection yet."""
    targets = np.unique(np.quantile(y, np.linspace(0.0, 1.0, 11)))
    y_, residual = (part.ravel() for part in np.meshgrid(targets, residuals))
    costs = _own(text, y_, residual)
    known = np.isfinite(costs)
    sizes = np.abs(costs[known])
    # Not the largest, which may be close to what a number can hold.
    rounding = 1e-12 * float(np.quantile(sizes, 0.75)) if len(sizes) else 0.0
    if (np.abs(costs[known & (residual == 0.0)]) > max(1e-12, rounding)).any():
        raise InputError(f"The loss {text!r} is not zero where the residual is 0: a perfect fit must cost nothing.")
    if (costs[known] < -rounding).any():
        raise InputError(f"The loss {text!r} is negative for some residuals; use abs(...) or an even power.")
    if known.any() and not (costs > 0.0).any():
        raise InputError(
            f"The loss {text!r} is zero for all residuals, so every formula would be perfect: change it, or choose a "
            "unit in which y is not so small."
        )


def _check_rows(text: str, y: np.ndarray, residuals: np.ndarray) -> None:
    """Every row needs a prediction for which the loss has a value. Nearly all have one close to y."""
    near = np.full(len(y), np.min(residuals[residuals > 0.0]))
    doubtful = np.flatnonzero(~np.isfinite(_own(text, y, near)))
    for residual in residuals:
        doubtful = doubtful[~np.isfinite(_own(text, y[doubtful], np.full(len(doubtful), residual)))]
    if len(doubtful):
        row, others = int(doubtful[0]), len(doubtful) - 1
        more = f" (nor in {others} more)" if others else ""
        raise InputError(
            f"The loss {text!r} has no finite value in row {row}{more}, where y = {y[row]:.6g}, whatever a formula "
            "predicts there. Leave such rows out, or change the loss: to divide by abs(y) + 1 rather than by y, for "
            "example, gives it a value where y is 0."
        )
