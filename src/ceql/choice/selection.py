"""Which row of the front is reported."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ceql.choice.criterion import criterion, interpolates
from ceql.choice.exactness import EXACT
from ceql.choice.front import gains
from ceql.errors import unknown_name
from ceql.formula import Formula

RULES = ("best", "accuracy", "score")


def choose(front: Sequence[Formula], rule: str, n_samples: int, y_size: float) -> int:
    """The row to report: "best" weighs fit against size with the noise in mind, "accuracy" takes the lowest loss and
    "score" the steepest gain among rows within 1.5 times the lowest loss."""
    if rule not in RULES:
        raise unknown_name("model_selection rule", rule, RULES)
    losses = np.array([formula.loss for formula in front])
    proven = np.array([not interpolates(formula, n_samples) for formula in front])
    exact = np.flatnonzero((losses <= EXACT.loss * y_size) & proven)
    if len(exact):
        return int(exact[0])
    if rule == "accuracy":
        return int(np.argmin(losses))
    if rule == "score":
        near = losses <= 1.5 * losses.min()
        return int(np.argmax(np.where(near, gains(front), -np.inf)))
    return int(np.argmin([criterion(formula, n_samples) for formula in front]))
