"""Chi-square: whether what a formula leaves over is as large as the errors of measurement say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ceql.choice.criterion import constants_of
from ceql.data.dataset import Dataset
from ceql.formula import Formula, mean_square

_UNLIKELY = 1e-3  # probability below which a sentence says that formula and errors do not go together


@dataclass(frozen=True)
class ChiSquare:
    """The sum of squared residuals in units of their errors, rows less constants, and the chance of a larger sum."""

    value: float
    freedom: int
    probability: float

    def __str__(self) -> str:
        words = (
            f"Chi-square {self.value:.4g} for {self.freedom} degrees of freedom, probability {self.probability:.2g}."
        )
        if self.probability < _UNLIKELY:
            return f"{words} The formula is not right, or the errors are larger than sigma says."
        if self.probability > 1.0 - _UNLIKELY:
            return f"{words} The errors are smaller than sigma says, or the formula fits the noise."
        return words


def chi_square(formula: Formula, data: Dataset) -> ChiSquare | None:
    """None where the size of the noise is not known."""
    if data.noise is None:
        return None
    from scipy.special import gammaincc

    value = len(data.y) * mean_square(data.y - formula(data.x), data.weight) / data.noise
    freedom = len(data.y) - constants_of(formula)
    chance = float(gammaincc(0.5 * freedom, 0.5 * value)) if freedom > 0 else np.nan
    return ChiSquare(float(value), freedom, chance)
