"""Selects the columns of a table for a fit: inputs, targets and data about the rows; with notes on the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ceql.data.tables import Table
from ceql.errors import InputError, unknown_name


@dataclass(frozen=True)
class Wanted:
    """The names of the columns to use. Without features, all other columns of numbers are inputs."""

    targets: Sequence[str]
    features: Sequence[str] = ()
    exclude: Sequence[str] = ()
    numbers: Sequence[str] = ()  # columns of numbers about the rows, such as weights
    labels: Sequence[str] = ()  # columns of labels of the rows, such as groups
    drop_gaps: bool = False  # whether rows with missing values are left out
    marks: Sequence[str] = ()  # columns of marks that most rows do not have
    taken_by: Mapping[str, str] = field(default_factory=dict)  # the option that uses a column, such as --sigma

    @property
    def beside(self) -> tuple[str, ...]:
        return (*self.numbers, *self.labels, *self.marks)


@dataclass(frozen=True, eq=False)
class Chosen:
    x: pd.DataFrame
    y: pd.Series | pd.DataFrame
    beside: Mapping[str, np.ndarray] = field(default_factory=dict)  # numbers, labels and marks of the rows
    notes: tuple[str, ...] = ()


def chosen_columns(table: Table, wanted: Wanted) -> Chosen:
    """Return the wanted columns; all except labels and marks are finite numbers."""
    _check_names(table, wanted)
    _require_numbers(table, wanted)
    features, notes = _features(table, wanted)
    targets = list(wanted.targets)
    numbers = table.numbers([*features, *targets, *wanted.numbers], wanted.drop_gaps)
    labels = {name: table.labels(name, wanted.drop_gaps) for name in wanted.labels}
    whole = numbers.notna().all(axis=1).to_numpy()
    for column in labels.values():
        whole = whole & pd.notna(column)
    if not whole.all():
        count = int((~whole).sum())
        notes.append(f"{table.path}: {count} of {len(whole)} rows {'has' if count == 1 else 'have'} gaps: left out.")
        if not whole.any():
            raise InputError(f"{table.path}: every row has a gap. Leave columns out with --exclude.")
    numbers = numbers.loc[whole].reset_index(drop=True)
    beside = {name: numbers[name].to_numpy() for name in wanted.numbers}
    beside |= {name: column[whole] for name, column in labels.items()}
    beside |= {name: table.cells[name].to_numpy(dtype=object)[whole] for name in wanted.marks}
    notes += _truths(table, [*features, *targets]) + _odd_values(table, numbers[[*features, *targets]])
    y = numbers.loc[:, targets[0] if len(targets) == 1 else targets]
    return Chosen(numbers.loc[:, features], y, beside, (*table.notes, *notes))


def _check_names(table: Table, wanted: Wanted) -> None:
    for name in (*wanted.targets, *wanted.features, *wanted.exclude, *wanted.beside):
        if name not in table.names or not name:
            raise unknown_name("column", name, table.names)
    for name in wanted.targets:
        if name in wanted.features:
            raise InputError(f"{name!r} is the target, so it cannot be a feature as well.")
        if list(wanted.targets).count(name) > 1:
            raise InputError(f"{name!r} is named twice as a target.")
        if name in wanted.beside and wanted.taken_by.get(name) != "--sigma":  # errors may be proportional to the target
            raise InputError(f"{name!r} is the target, so it cannot also hold weights or groups of the rows.")
    for name in wanted.exclude:
        if name in (*wanted.targets, *wanted.features):  # weights and groups are no inputs anyway
            raise InputError(f"{name!r} is both asked for and excluded: remove one of the two.")


def _require_numbers(table: Table, wanted: Wanted) -> None:
    """Raise an error if a column that must hold numbers holds none at all, rather than naming one wrong cell."""
    for name in (*wanted.targets, *wanted.numbers):
        if (why := table.why_no_input(name)) and bool(pd.notna(table.cells[name].to_numpy()).any()):
            what = f"{wanted.taken_by[name]} names" if name in wanted.taken_by else "the target is"
            raise InputError(f"{table.path}: {what} {name!r}, which {why}. Name a column of numbers.")


def _features(table: Table, wanted: Wanted) -> tuple[list[str], list[str]]:
    """Return the named inputs, or all other columns that can be inputs, and a note for each that cannot."""
    used = {*wanted.targets, *wanted.exclude, *wanted.beside}
    chosen = list(wanted.features) or [name for name in table.names if name not in used]
    if not chosen:
        (only, *others) = wanted.targets
        which = (
            "no column left besides the target" + "s" * bool(others)
            if others or len(table.names) > 1
            else f"the column {only!r} alone"
        )
        taken = [f"{name!r} is taken by {wanted.taken_by[name]}" for name in table.names if name in wanted.taken_by]
        why = f" ({', '.join(taken)})" if taken else ""
        raise InputError(f"{table.path} has {which}{why}: a formula needs at least one other column.")
    if wanted.features:
        return chosen, []
    if "" in chosen:
        where = table.names.index("") + 1
        raise InputError(
            f"{table.path}: column {where} has no name. Name or delete it, or choose columns with --features. "
            "(pandas writes such a column unless it is told index=False.)"
        )
    why = {name: table.why_no_input(name) for name in chosen}
    left = [name for name in chosen if not why[name]]
    told = [f"{table.path}: column {name!r} {reason}: left out." for name, reason in why.items() if reason]
    if not left:
        raise InputError(f"No column of numbers is left besides the target. {' '.join(told)}")
    return left, told


def _truths(table: Table, names: Sequence[str]) -> list[str]:
    truths = [name for name in names if pd.api.types.is_bool_dtype(table.cells[name])]
    return [f"{table.path}: column {name!r} holds true and false, which count as 1 and 0." for name in truths]


def _odd_values(table: Table, numbers: pd.DataFrame) -> list[str]:
    """Return notes on columns in which -999 or the like is the only negative number, often a missing value."""
    notes = []
    for name, column in numbers.items():
        negative = np.unique(column[column < 0.0])
        if len(negative) == 1 and f"{-negative[0]:.15g}".strip("9") in ("", ".") and negative[0] <= -99.0:
            count, mark = int((column == negative[0]).sum()), f"{negative[0]:.15g}"
            notes.append(
                f"{table.path}: column {name!r} holds {mark} in {count} of {len(column)} rows and is not negative "
                f"elsewhere. If this marks a missing value, use --missing-mark {mark} --missing drop."
            )
    return notes
