"""Power laws, alone or times a shape, fitted to the noisy values (not their logarithms) by Gauss-Newton steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ceql.closed_form.policy import PowerFitPolicy

Values = Callable[[np.ndarray], np.ndarray]  # computes the values of a shape


@dataclass(frozen=True, eq=False)
class PowerFit:
    """y = exp(known + columns @ numbers) * |F(scale * group)|, for y of one sign; without a shape, F is one.

    `known` is the part of the logarithm that is not fitted.
    """

    y: np.ndarray  # negated if it is negative
    weight: np.ndarray
    columns: np.ndarray
    numbers: np.ndarray
    known: np.ndarray | float = 0.0
    shape: Values | None = None
    group: np.ndarray | None = None
    scale: float = 1.0
    policy: PowerFitPolicy = PowerFitPolicy()

    @property
    def values(self) -> np.ndarray:
        return np.exp(self.known + self.columns @ self.numbers + self._logarithm(self.scale))

    @property
    def left(self) -> float:
        """Return the weighted mean square residual; infinite if a row has no value."""
        square = np.mean((self.weight * (self.y - self.values)) ** 2)
        return float(square) if np.isfinite(square) else np.inf

    @property
    def slopes(self) -> np.ndarray:
        """Return the derivatives of the weighted values by the numbers and by the logarithm of the scale."""
        parts = [self.columns]
        if self.shape is not None:
            nearby = self._logarithm(self.scale * (1.0 + self.policy.nearby))
            parts.append(((nearby - self._logarithm(self.scale)) / self.policy.nearby)[:, None])
        return np.hstack(parts) * (self.weight * self.values)[:, None]

    @property
    def errors(self) -> np.ndarray:
        """Return the standard errors of the numbers and of the logarithm of the scale."""
        slopes = self.slopes
        squares = slopes.T @ slopes
        if not np.isfinite(squares).all():
            return np.full(slopes.shape[1], np.inf)
        variance = self.left * len(self.y) / max(len(self.y) - slopes.shape[1], 1)
        return np.sqrt(np.diag(np.linalg.pinv(squares)) * variance)

    def fitted(self) -> PowerFit:
        fit, left = self, self.left
        for _ in range(self.policy.steps):
            if not np.isfinite(left):
                break
            step = fit._step()
            tried = (fit._moved(share * step) for share in self.policy.shares)
            better = next((one for one in tried if one.left < left), None)
            if better is None:
                break
            settled = left - better.left <= self.policy.settled * left
            fit, left = better, better.left
            if settled:
                break
        return fit

    def _step(self) -> np.ndarray:
        slopes = self.slopes
        if not np.isfinite(slopes).all():
            return np.zeros(slopes.shape[1])
        step, *_ = np.linalg.lstsq(slopes, self.weight * (self.y - self.values), rcond=self.policy.rank)
        return step

    def _moved(self, step: np.ndarray) -> PowerFit:
        count = self.columns.shape[1]
        scale = self.scale
        if self.shape is not None:
            scale *= float(np.exp(np.clip(step[count], -1.0, 1.0)))
        return replace(self, numbers=self.numbers + step[:count], scale=scale)

    def _logarithm(self, scale: float) -> np.ndarray:
        if self.shape is None or self.group is None:
            return np.zeros(len(self.y))
        values = self.shape(scale * self.group)
        one_sign = (values > 0).all() or (values < 0).all()
        return np.log(np.abs(values)) if one_sign else np.full(len(values), np.nan)
