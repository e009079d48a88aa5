"""Formulas in units of the data: every column and the target divided by its typical size.

A judge that compares coefficients needs them near one; with constants of nature in the formula and charges of 1e-19 in
the data they are anything but.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy


@dataclass(frozen=True)
class Units:
    """The typical size of every column and of the target, as powers of two, so that dividing by them rounds nothing."""

    columns: tuple[float, ...]
    target: float

    def points(self, X: np.ndarray) -> np.ndarray:
        return X / np.array(self.columns)

    def formula(self, expression: Any, symbols: Sequence[Any]) -> Any:
        """The same function, from columns in their units to the target in its unit."""
        changed = {s: sympy.Float(u) * s for s, u in zip(symbols, self.columns, strict=True) if u != 1.0}
        inside = expression.xreplace(changed)
        return inside if self.target == 1.0 else inside / sympy.Float(self.target)


def units_of(X: np.ndarray, y: np.ndarray) -> Units:
    """The units of data: the power of two nearest to the median size."""
    return Units(tuple(_unit(column) for column in X.T), _unit(y))


def _unit(values: np.ndarray) -> float:
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    return float(2.0 ** np.round(np.log2(np.median(sizes)))) if len(sizes) else 1.0
