"""A straight line in all columns whose slopes are held small together, as far as rows held out ask for it.

Many weak columns say more together than the few that stand out, but each slope by itself is hardly known. Ridge
regression fits them all and pulls them towards zero; generalised cross-validation says how far, in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray
# What is tried: the penalty on the squared slopes, each in the spread of its column, as a share of the rows.
_PENALTIES = np.logspace(-7.0, 1.0, 33)


@dataclass(frozen=True, eq=False)
class ShrunkLine:
    """A constant and a slope for each column, with their standard errors where slopes of that size are expected."""

    values: Array  # the constant first
    errors: Array
    means: Array  # of the columns
    spread: Array
    left: float  # of y: the root of the mean square

    def __call__(self, x: Array) -> Array:
        return self.values[0] + x @ self.values[1:]

    @property
    def rounded(self) -> Array:
        """Its numbers with as few digits as change its values by about a hundredth of what it leaves of y."""
        step = 0.01 * self.left / np.sqrt(len(self.values))
        slopes = np.array([_rounded(*pair) for pair in zip(self.values[1:], step / self.spread, strict=True)])
        moved = self.means @ (self.values[1:] - slopes)  # columns far from zero turn about their means
        return np.array([_rounded(self.values[0] + moved, step), *slopes])


def shrunk_line(x: Array, y: Array, weight: Array) -> ShrunkLine:
    """Fitted to these rows; a column that does not vary in them has no slope."""
    rows, share = len(y), weight / weight.sum()
    means, mean = share @ x, float(share @ y)
    spread = np.sqrt(share @ (x - means) ** 2)
    scale = np.where(spread > 0.0, spread, 1.0)
    unit, target = (x - means) / scale, y - mean
    strength, turned = np.linalg.eigh((unit * share[:, None]).T @ unit)
    strength = np.maximum(strength, 0.0)
    along = turned.T @ (unit.T @ (share * target))
    kept = strength / (strength + _PENALTIES[:, None])
    slopes = along / (strength + _PENALTIES[:, None])
    misfit = np.maximum(float(share @ target**2) - np.sum((2.0 * along - strength * slopes) * slopes, axis=1), 0.0)
    freedom = rows - 1.0 - kept.sum(axis=1)
    best = int(np.argmin(np.where(freedom > 0.0, misfit / np.maximum(freedom, 1.0) ** 2, np.inf)))
    own = (turned @ slopes[best]) / scale
    noise = misfit[best] / max(freedom[best], 1.0)  # of a mean over the rows
    covariance = (turned / (strength + _PENALTIES[best])) @ turned.T * noise / np.outer(scale, scale)
    errors = np.sqrt([noise + means @ covariance @ means, *np.diag(covariance)])
    return ShrunkLine(np.array([mean - means @ own, *own]), errors, means, scale, float(np.sqrt(misfit[best])))


def _rounded(value: float, step: float) -> float:
    digits = -int(np.floor(np.log10(step))) if step > 0.0 else 15
    return round(float(value), digits)
