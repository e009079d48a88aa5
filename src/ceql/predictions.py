"""Predictions for the rows of a file, and what should be known about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ceql.estimator import CEQLRegressor
from ceql.tables import Table

_UNNAMED = "prediction"


@dataclass(frozen=True, eq=False)
class Predicted:
    table: pd.DataFrame
    warnings: tuple[str, ...]


def predicted(model: CEQLRegressor, table: Table, row: int | None = None, with_inputs: bool = False) -> Predicted:
    """A column of predictions named after the target, behind the columns of the table if these are wanted."""
    names = model._data.names
    x = table.numbers(names)
    values = model._formula(row)(x.to_numpy())
    made = pd.DataFrame({_name(model, table, with_inputs): values})
    if with_inputs:
        made = pd.concat([table.cells.reset_index(drop=True), made], axis=1)
    undefined = int((~np.isfinite(values)).sum())
    outside = int(_is_outside(model, x.to_numpy(), row).sum())
    rows = f"of {len(values)} {'row' if len(values) == 1 else 'rows'}"
    sentences = []
    if undefined:
        sentences.append(f"the formula is undefined in {undefined} {rows}.")
    if outside:
        sentences.append(f"{outside} {rows} lie outside the range of the training data.")
    return Predicted(made, tuple(sentences))


def _name(model: CEQLRegressor, table: Table, with_inputs: bool) -> str:
    name = model._data.target or _UNNAMED
    taken = table.names if with_inputs else []
    while name in taken:
        name = f"predicted {name}"
    return name


def _is_outside(model: CEQLRegressor, x: np.ndarray, row: int | None) -> np.ndarray:
    """Rows in which a column that the formula uses is below or above all that it was fitted to."""
    formula, known = model._formula(row), model._data.x
    used = [k for k, symbol in enumerate(formula.symbols) if symbol in formula.expression.free_symbols]
    low, high = known[:, used].min(axis=0), known[:, used].max(axis=0)
    return ((x[:, used] < low) | (x[:, used] > high)).any(axis=1)
