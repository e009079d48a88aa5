"""Predictions for the rows of a file, and warnings about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ceql.choice.uncertainty import uncertain
from ceql.data.groups import known_codes
from ceql.data.tables import Table
from ceql.errors import InputError
from ceql.estimator.model import Model
from ceql.estimator.results import Finding

_OF_A_FIT = (", or choose other columns with --features, or leave this one out with --exclude", " --missing drop")


def predicted(
    model: Model,
    table: Table,
    row: int | None = None,
    with_inputs: bool = False,
    interval: float | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """A column of predictions for each target, after the columns of the table if `with_inputs`; and warnings.

    A row with a gap in a column that the formula uses gets NaN. `interval` is a probability: two more columns for each
    target hold the bounds of a new measurement.
    """
    findings = [model._finding(row, name) for name in model.target_names_]
    x = inputs_of(table, model, findings[0].data.names)
    taken = table.names if with_inputs else []
    columns: dict[str, np.ndarray] = {}
    for found in findings:
        columns[_free_name(found.name, taken)] = found.formula(x)
        if interval is not None:
            known = uncertain(found.formula, found.discovery.formulas, found.discovery.weights, found.data, x)
            for bound, values in zip(("lower", "upper"), known.interval(interval), strict=True):
                columns[_free_name(f"{found.name} {bound}", [*taken, *columns])] = values
    made = pd.DataFrame(columns)
    sentences = [sentence for found in findings for sentence in _warnings(found, x, len(findings) > 1)]
    if with_inputs:
        made = pd.concat([table.cells.reset_index(drop=True), made], axis=1)
    return made, sentences


def inputs_of(table: Table, model: Model, names: Sequence[str]) -> np.ndarray:
    """The input columns of a model, with NaN in gaps; labels of groups are replaced by their numbers."""
    if not model.groups_:
        return numbers_of(table, names)
    x = numbers_of(table, names[:-1])
    codes = known_codes(table.labels(names[-1]), len(x), model.groups_, names[-1])
    return np.column_stack([x, codes])


def numbers_of(table: Table, names: Sequence[str]) -> np.ndarray:
    """These columns of the table; errors do not mention options that only a fit has."""
    try:
        return table.numbers(names, gaps=True).to_numpy()
    except InputError as error:
        told = str(error)
        for choice in _OF_A_FIT:
            told = told.replace(choice, "")
        raise InputError(told) from error


def _warnings(found: Finding, x: np.ndarray, several: bool) -> Iterator[str]:
    rows = f"of {len(x)} {'row' if len(x) == 1 else 'rows'}"
    gaps = ~np.isfinite(x[:, _used(found)]).all(axis=1)
    undefined = int((~np.isfinite(found.formula(x)) & ~gaps).sum())
    outside = int(_is_outside(found, x).sum())
    if gaps.any():
        whose = f" for {found.name}" if several else ""
        yield f"there is no prediction{whose} in {gaps.sum()} {rows}, where a column of the formula has a gap."
    if undefined:
        yield f"the formula{f' for {found.name}' if several else ''} is undefined in {undefined} {rows}."
    if outside:
        whose = f" of {found.name}" if several else ""
        yield f"{outside} {rows} {'lies' if outside == 1 else 'lie'} outside the range of the training data{whose}."


def _free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name = f"predicted {name}"
    return name


def _is_outside(found: Finding, x: np.ndarray) -> np.ndarray:
    """Which rows have a column that the formula uses outside the range of the training data."""
    used = _used(found)
    low, high = found.data.x[:, used].min(axis=0), found.data.x[:, used].max(axis=0)
    return ((x[:, used] < low) | (x[:, used] > high)).any(axis=1)


def _used(found: Finding) -> list[int]:
    """The indices of the columns that the formula uses."""
    return [k for k, symbol in enumerate(found.formula.symbols) if symbol in found.formula.expression.free_symbols]
