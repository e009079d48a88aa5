"""Predictions with their uncertainty: standard deviations and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ceql.choice.uncertainty import Uncertain, uncertain
from ceql.data.targets import Targets
from ceql.discovery import Discovery
from ceql.errors import InputError
from ceql.estimator.parameters import is_number
from ceql.formula import Formula


def forecasts(
    formulas: Sequence[Formula], discoveries: Sequence[Discovery], targets: Targets, x: np.ndarray
) -> list[Uncertain]:
    """For each target the values of its formula at these rows, and how far a measurement may be from them."""
    return [
        uncertain(formula, found.formulas, found.weights, data, x)
        for formula, found, data in zip(formulas, discoveries, targets.datasets, strict=True)
    ]


def in_columns(values: Sequence[np.ndarray]) -> np.ndarray:
    """The values of the only target, or an array with one column for each of several."""
    return values[0] if len(values) == 1 else np.column_stack(values)


def checked_level(level: Any) -> float:
    if not is_number(level) or not 0.0 < level < 1.0:
        raise InputError(f"level must be a probability between 0 and 1, such as 0.95, not {level!r}.")
    return float(level)
