"""Refitting the constants of a formula in float64, for systems that fit them in float32."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ceql.bench.points import columns
from ceql.bench.score import mse
from ceql.expression import compile_numpy, parse_formula, refit

# A constant this close to 0 or 1 in float32 is tried as exactly that: a scale or an offset that does nothing.
_NEUTRAL = 1e-2


@dataclass(frozen=True, eq=False)
class Rough:
    """A formula as another system left it: `write` gives its text for the texts of its constants."""

    write: Callable[[Sequence[str]], str]
    constants: Sequence[float]


@dataclass(frozen=True, eq=False)
class Data:
    """What formulas are fitted to."""

    X: np.ndarray
    y: np.ndarray
    names: tuple[str, ...]


def refitted(rough: Rough, data: Data, fixed: Mapping[int, int] | None = None) -> tuple[float, Any]:
    """The training error and the expression after a refit in float64, with some constants held fixed."""
    fixed = fixed or {}
    texts = [str(fixed[i]) if i in fixed else f"({float(c)!r})" for i, c in enumerate(rough.constants)]
    symbols = columns(data.names)
    expression = refit(parse_formula(rough.write(texts), data.names), symbols, data.X, data.y).expr
    return mse(compile_numpy(expression, symbols)(data.X), data.y), expression


def without_neutral(rough: Rough, data: Data, loss: float, expression: Any, floor: float) -> Any:
    """The expression without the zeros and ones that do nothing, dropped one by one where it costs nothing.

    A training error below `floor` counts as none.
    """
    allowed = max(1.01 * loss, floor)
    fixed: dict[int, int] = {}
    for i, constant in enumerate(rough.constants):
        if min(abs(constant), abs(constant - 1)) >= _NEUTRAL:
            continue
        attempt = {**fixed, i: round(constant)}
        try:
            error, slim = refitted(rough, data, attempt)
        except ValueError:
            # Without the constant there is no formula, as after a division by zero.
            continue
        if error <= allowed:
            fixed, expression = attempt, slim
    return expression
