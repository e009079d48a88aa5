"""What was found, as tables and rows: the way a fitted model shows it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ceql.errors import InputError
from ceql.formula import Formula
from ceql.pipeline import Discovery
from ceql.selection import gains


def one_or_all(values: list) -> Any:
    """The value for the only target, or the list for several."""
    return values[0] if len(values) == 1 else values


def formula_in_row(discovery: Discovery, row: Any = None) -> Formula:
    """The chosen formula, or the one in that row of the front."""
    front = discovery.front
    if row is None:
        return discovery.best
    if not isinstance(row, int | np.integer) or not -len(front) <= row < len(front):
        raise InputError(f"equations_ has rows 0 to {len(front) - 1}; there is no row {row!r}.")
    return front[row]


def constants_table(formula: Formula) -> pd.DataFrame:
    """The decimal constants of a formula as it shows them, each with its standard error."""
    return pd.DataFrame(list(formula.constants), columns=["value", "standard_error"], dtype=float)


def equations_table(discovery: Discovery) -> pd.DataFrame:
    """The front as a table, simplest formula first; `chosen` marks the row that `predict` uses."""
    return pd.DataFrame(
        {
            "complexity": [formula.complexity for formula in discovery.front],
            "loss": [formula.loss for formula in discovery.front],
            "score": gains(discovery.front),
            "equation": [str(formula) for formula in discovery.front],
            "sympy_format": [formula.expression for formula in discovery.front],
            "chosen": [k == discovery.chosen for k in range(len(discovery.front))],
        }
    )
