"""Logarithms of noisy values, and their weights.

The logarithm of a noisy value is biased: for small values it is far too low on average, and below zero it does not
exist. A smooth positive function through the rows is known far better than any single row. Its logarithm plus the
deviation of the row, to first order, has no such bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ceql.closed_form.policy import NoisyLogarithmPolicy

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class NoisyLogarithms:
    """Logarithms of y or -y, expanded around a `size` per row; noise moves a logarithm by its ratio to that size."""

    sign: float
    values: np.ndarray  # to first order around these sizes
    size: np.ndarray

    @staticmethod
    def around(sign: float, y: np.ndarray, size: np.ndarray) -> NoisyLogarithms:
        return NoisyLogarithms(sign, np.log(size) + (sign * y - size) / size, size)

    @property
    def smooth(self) -> np.ndarray:
        """Return the logarithms of the smooth function: less noisy, but without what that function cannot follow."""
        return np.log(self.size)

    def some(self, rows: slice) -> NoisyLogarithms:
        return NoisyLogarithms(self.sign, self.values[rows], self.size[rows])

    def weight(self, weight: np.ndarray) -> np.ndarray:
        """Return the weight of each logarithm, given the weights of the rows."""
        weight = weight * self.size
        return weight / np.sqrt(np.mean(weight**2))


@np.errstate(all="ignore")  # steps that overflow are rejected
def noisy_logarithms(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, policy: NoisyLogarithmPolicy = NoisyLogarithmPolicy()
) -> NoisyLogarithms | None:
    """Return the logarithms of y over positive columns; None unless y has one sign apart from noise."""
    sign = 1.0 if (y > 0).mean() >= 0.5 else -1.0
    trend = _Trend(np.log(x), sign * y, weight, policy)
    size = trend.values
    if size is None:
        return None
    left = sign * y - size
    noise = weight * np.abs(left)
    typical = np.median(noise)
    # Near a pole the trend is far off, but y itself is accurate.
    far = (noise > policy.far * typical) & (sign * y > 0)
    size = np.where(far, np.abs(y), np.maximum(size, _TINY))
    wrong = np.mean(sign * y * weight < -policy.far * typical)
    if wrong > policy.wrong_sign:
        return None
    found = NoisyLogarithms.around(sign, y, size)
    is_usable = np.isfinite(found.values).all() and np.isfinite(found.weight(weight)).all()
    return found if is_usable else None


@dataclass(frozen=True, eq=False)
class _Trend:
    """The exponential of a polynomial in the logarithms of the columns that comes closest to y."""

    logs: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    policy: NoisyLogarithmPolicy

    @cached_property
    def values(self) -> np.ndarray | None:
        """Return the trend in each row; None if it explains too little of y."""
        design = self._design
        mean = float(np.average(self.y, weights=self.weight**2))
        power = float(np.sum((self.weight * self.y) ** 2))
        if not mean > 0.0 or not 0.0 < power < np.inf:  # the squares may overflow
            return None
        numbers = np.zeros(design.shape[1])
        numbers[0] = np.log(mean)
        numbers = self._fitted(design, numbers)
        values = np.exp(design @ numbers)
        return values if self._left(values) <= self.policy.left * power else None

    @property
    def _design(self) -> np.ndarray:
        logs = self.logs - self.logs.mean(axis=0)
        parts = [np.ones((len(logs), 1)), logs]
        count = logs.shape[1]
        if len(logs) >= self.policy.rows_a_term * (count + 1) * (count + 2) // 2:
            first, second = np.triu_indices(count)
            parts.append(logs[:, first] * logs[:, second])
        return np.hstack(parts)

    def _left(self, values: np.ndarray) -> float:
        return float(np.nan_to_num(np.sum((self.weight * (self.y - values)) ** 2), nan=np.inf))

    def _fitted(self, design: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Refine the coefficients by damped Gauss-Newton steps."""
        best, damping = self._left(np.exp(design @ numbers)), self.policy.damping
        for _ in range(self.policy.steps):
            values = np.exp(design @ numbers)
            slopes = design * (self.weight * values)[:, None]
            gram, right = slopes.T @ slopes, slopes.T @ (self.weight * (self.y - values))
            diagonal = damping * np.diag(gram) + _TINY + 1e-12 * np.trace(gram)
            moved = numbers + np.linalg.solve(gram + np.diag(diagonal), right)
            left = self._left(np.exp(design @ moved))
            if left < best:
                settled = best - left <= self.policy.settled * best
                numbers, best, damping = moved, left, damping / self.policy.bolder
                if settled:
                    break
            else:
                damping *= self.policy.shyer
        return numbers
