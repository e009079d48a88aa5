"""What was found, as tables and rows: the way a fitted model shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ceql.choice.front import gains
from ceql.data.dataset import Dataset
from ceql.data.targets import Targets
from ceql.discovery import Discovery
from ceql.errors import InputError, unknown_name
from ceql.formula import Formula


@dataclass(frozen=True, eq=False)
class Finding:
    """One target: what it is called, its formula, the search behind it and the data."""

    name: str
    formula: Formula
    discovery: Discovery
    data: Dataset


def finding(
    discoveries: Sequence[Discovery], targets: Targets, row: int | None = None, target: str | None = None
) -> Finding:
    """The one that `target` names. A model with a single target may be given another name for it."""
    names = targets.names
    if len(names) > 1 and target is None:
        raise InputError(f"This model has {len(names)} targets ({', '.join(names)}): name the one you mean.")
    if len(names) > 1 and target not in names:
        raise unknown_name("target", str(target), names)
    place = names.index(str(target)) if len(names) > 1 else 0
    found = discoveries[place]
    name = names[place] if target is None else str(target)
    return Finding(name, formula_in_row(found, row), found, targets.datasets[place])


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


# Made here, since pandas imports a library for the first texts that it meets, and a fit should import nothing.
_COLUMNS = pd.Index(["complexity", "loss", "score", "equation", "sympy_format", "chosen"])


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
        },
        columns=_COLUMNS,
    )
