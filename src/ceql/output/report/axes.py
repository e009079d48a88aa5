"""The axes of a chart: where a value lies, and round numbers to write beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_TICKS = 5
_MOST_DECADES = 6
_MOST_CHARACTERS = 42  # of all numbers along one axis


@dataclass(frozen=True)
class Axis:
    low: float
    high: float
    label: str
    log: bool = False

    def share(self, values: np.ndarray | float) -> np.ndarray:
        """0 at the lower end, 1 at the upper one."""
        values = np.asarray(values, float)
        if not self.log:
            return (values - self.low) / (self.high - self.low)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(values / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[tuple[float, str]]:
        return _decades(self.low, self.high) if self.log else _round_numbers(self.low, self.high)


def log_axis(values: np.ndarray, label: str) -> Axis:
    """Whole decades around positive values, with room at both ends."""
    low, high = math.log10(values.min()), math.log10(values.max())
    room = 0.1 + 0.06 * (high - low)
    return Axis(10.0 ** math.floor(low - room), 10.0 ** math.ceil(high + room), label, log=True)


def _round_numbers(low: float, high: float) -> list[tuple[float, str]]:
    rough = (high - low) / _TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = size * next(factor for factor in (1, 2, 5, 10) if factor * size >= 0.999 * rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    ticks = [(k * step, _written(k * step, step)) for k in range(first, last + 1)]
    crowded = sum(len(text) for _, text in ticks) > _MOST_CHARACTERS
    return ticks[:: 2 if crowded else 1]


def _written(value: float, step: float) -> str:
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if value and (abs(value) >= 1e6 or decimals > 5):
        digits = max(0, math.floor(math.log10(abs(value)) + 1e-9) - math.floor(math.log10(step) + 1e-9))
        mantissa, exponent = f"{value:.{digits}e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", "−")
    return f"{value:.{decimals}f}".replace("-", "−") if value else "0"


def _decades(low: float, high: float) -> list[tuple[float, str]]:
    first, last = round(math.log10(low)), round(math.log10(high))
    step = max(1, math.ceil((last - first) / _MOST_DECADES))
    return [(10.0**k, f"1e{k}".replace("-", "−")) for k in range(first, last + 1, step)]
