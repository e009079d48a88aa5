"""The interval on which a function has real values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Domain:
    """The interval from `lower` to `upper`; `closed` if its finite ends belong to it."""

    lower: float = -math.inf
    upper: float = math.inf
    closed: bool = True

    @property
    def is_everything(self) -> bool:
        return not any(map(math.isfinite, (self.lower, self.upper)))

    @property
    def is_half_line(self) -> bool:
        """Whether it consists of the positive numbers, with or without zero."""
        return self.lower == 0.0 and not math.isfinite(self.upper)

    def has_inside(self, x: Any) -> Any:
        """Return, for each number, whether it lies in the interior."""
        return (np.asarray(x) > self.lower) & (np.asarray(x) < self.upper)

    def holds(self, x: float) -> bool:
        return bool(self.has_inside(x)) or (self.closed and x in (self.lower, self.upper))

    def margin(self, u: Any) -> Any:
        """Return an expression that is positive inside and zero at the ends; the lower end must be finite."""
        if not math.isfinite(self.upper):
            return u - _exact(self.lower)
        middle, half = _exact((self.lower + self.upper) / 2), _exact((self.upper - self.lower) / 2)
        return half**2 - (u - middle) ** 2


def _exact(number: float) -> int | float:
    return int(number) if number.is_integer() else number


REALS = Domain()
