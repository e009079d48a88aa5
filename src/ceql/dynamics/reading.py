"""From the cells of a table to a `Series`; every complaint names the place and the remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ceql.data.dataset import column_names, is_table, require_squares
from ceql.data.tables import Table, as_floats
from ceql.dynamics.series import Series, Trajectory, speed_name
from ceql.errors import InputError, unknown_name

ONLY = ""  # the label of a trajectory where no column names it
_ORDERS = (1, 2)


@dataclass(frozen=True)
class ReadingPolicy:
    """What a table must have for a search for equations."""

    least_samples: int = 8  # fewest samples of each state, in all trajectories together
    least_in_one: int = 2  # fewest samples of a trajectory
    told_apart: float = 0.2  # with a lower correlation of neighbouring samples, slopes cannot be determined
    doubtful: float = 0.5  # with a lower correlation, there is a note


READING = ReadingPolicy()


@dataclass(frozen=True)
class Roles:
    """Which columns of a table are what. Without names of states these are all other columns that hold numbers."""

    time: str = "t"
    states: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    trajectory: str | None = None
    order: int = 1  # 2: the states are positions, and their speeds were not measured

    @property
    def named(self) -> Iterator[tuple[str, str]]:
        """Each role with a column that was named for it."""
        yield "the time", self.time
        yield from (("a state", name) for name in self.states)
        yield from (("an input", name) for name in self.inputs)
        if self.trajectory is not None:
            yield "the trajectory", self.trajectory


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a table, whose numbers may be text, and where each row stands."""

    cells: pd.DataFrame
    place: Callable[[int], str]
    decimal: str = "."
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.cells.columns]


@dataclass(frozen=True, eq=False)
class Reading:
    series: Series
    notes: tuple[str, ...] = ()  # sentences on what was left out or looks odd


def cells_of(table: Any) -> Cells:
    """The cells of a DataFrame, or of anything else whose columns have names."""
    if not is_table(table):
        raise InputError(
            "A time series is a table whose columns have names, such as a pandas DataFrame with the columns t, x and "
            f"y, not {type(table).__name__}."
        )
    names = column_names(table)
    columns = {name: np.asarray(table[label]) for name, label in zip(names, table.columns, strict=True)}
    return Cells(pd.DataFrame(columns), lambda row: f"row {row}")


def cells_of_file(table: Table) -> Cells:
    return Cells(table.cells, lambda row: f"{table.path}, {table.place(row)}", table.decimal, table.notes)


def read_series(cells: Cells, roles: Roles, policy: ReadingPolicy = READING) -> Reading:
    """The trajectories of a table, checked."""
    _check_roles(cells, roles)
    states, notes = _states(cells, roles)
    _check_speeds(roles, states)
    measured = np.column_stack([_with_gaps(cells, name) for name in states])
    rows_of, time, inputs = read_trajectories(cells, roles)
    trajectories = tuple(Trajectory(label, time[r], measured[r], inputs[r]) for label, r in rows_of.items())
    series = Series(trajectories, roles.time, states, tuple(roles.inputs), roles.order)
    notes += check_series(series, policy)
    return Reading(series, (*cells.notes, *notes))


def read_trajectories(cells: Cells, roles: Roles) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """The rows of each trajectory by its label, and the times and inputs of all rows."""
    _check_roles(cells, roles)
    time = _whole(
        cells, roles.time, "Every sample needs a time", "Times must be numbers, such as days since the first sample"
    )
    known = [
        _whole(cells, name, "An input must be known at all times", "Inputs must be finite numbers")
        for name in roles.inputs
    ]
    inputs = np.column_stack(known) if known else np.zeros((len(time), 0))
    rows_of = _rows_of_trajectories(cells, roles)
    for label, rows in rows_of.items():
        _check_times(time, rows, label, cells, roles)
    return rows_of, time, inputs


# ---- columns ------------------------------------------------------------------------------------------------------


def _check_roles(cells: Cells, roles: Roles) -> None:
    if roles.order not in _ORDERS:
        raise InputError(
            f"The order of the equations must be 1, or 2 where only positions were measured, not {roles.order!r}."
        )
    taken: dict[str, str] = {}
    for role, name in roles.named:
        if name not in cells.names or not name:
            raise unknown_name("column", name, cells.names)
        if name in taken:
            raise InputError(f"Column {name!r} is used both as {taken[name]} and as {role}: use it once.")
        taken[name] = role


def _states(cells: Cells, roles: Roles) -> tuple[tuple[str, ...], list[str]]:
    """The states that were named, or all other columns of numbers, and a note for each column left out."""
    if roles.states:
        return tuple(roles.states), []
    used = {name for _, name in roles.named}
    others = [name for name in cells.names if name not in used and name]
    numeric = [name for name in others if np.isfinite(as_floats(cells.cells[name], cells.decimal)).any()]
    if not numeric:
        raise InputError(
            f"There is no column of numbers besides the time {roles.time!r}: at least one state is needed."
        )
    left = [f"Column {name!r} holds no numbers: left out." for name in others if name not in numeric]
    return tuple(numeric), left


def _check_speeds(roles: Roles, states: Sequence[str]) -> None:
    """Where speeds get names, these must not be in use."""
    for name in states if roles.order == 2 else ():
        speed = speed_name(name)
        if speed in states:
            raise InputError(
                f"Column {speed!r} has the name that the speed of {name!r} will get. If it is the measured speed, "
                "use order 1 with both as states; if not, rename the column."
            )
        if speed in (roles.time, *roles.inputs):
            raise InputError(f"Column {speed!r} has the name that the speed of {name!r} will get: rename the column.")


def _with_gaps(cells: Cells, name: str) -> np.ndarray:
    """A state: numbers, and NaN where the cell is empty."""
    column: Any = cells.cells[name]
    _refuse_dates(column, name)
    values, empty = as_floats(column, cells.decimal), column.isna().to_numpy()
    bad = np.flatnonzero(~np.isfinite(values) & ~empty)
    if len(bad):
        raise InputError(
            f"{_of_cell(cells, name, int(bad[0]))} Correct it, or empty the cell if the state was not measured at "
            "that time."
        )
    if empty.all():
        raise InputError(f"Column {name!r} is empty, but a state must be measured at some times. Leave it out.")
    require_squares(values[~empty], f"column {name!r}")
    return values


def _whole(cells: Cells, name: str, if_empty: str, if_wrong: str) -> np.ndarray:
    """A number in every row; the two beginnings of sentences say what a cell without one should have."""
    column: Any = cells.cells[name]
    _refuse_dates(column, name)
    values = as_floats(column, cells.decimal)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        is_empty = pd.isna(column.iloc[int(bad[0])])
        remedy = f"{if_empty}: fill the cell" if is_empty else f"{if_wrong}: correct it"
        raise InputError(f"{_of_cell(cells, name, int(bad[0]))} {remedy}, or delete the row.")
    return values


def _refuse_dates(column: Any, name: str) -> None:
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        raise InputError(
            f"Column {name!r} holds dates or durations: convert them to numbers, such as days since the first sample."
        )


def _of_cell(cells: Cells, name: str, row: int) -> str:
    """What is wrong with a cell that holds no finite number."""
    value = cells.cells[name].iloc[row]
    where = f"{cells.place(row)}, column {name!r}:"
    if pd.isna(value):
        return f"{where} the cell is empty."
    if isinstance(value, float | np.floating) or "inf" in str(value).lower():
        return f"{where} the value is infinite."
    return f"{where} {str(value)!r} is not a number."


# ---- trajectories -------------------------------------------------------------------------------------------------


def _rows_of_trajectories(cells: Cells, roles: Roles) -> dict[str, np.ndarray]:
    """The rows of each trajectory in the order of the table; those of others may stand between them."""
    if roles.trajectory is None:
        return {ONLY: np.arange(len(cells.cells))}
    column: Any = cells.cells[roles.trajectory]
    empty = np.flatnonzero(column.isna().to_numpy())
    if len(empty):
        raise InputError(
            f"{cells.place(int(empty[0]))}, column {roles.trajectory!r}: the cell is empty. Every row needs the "
            "label of its trajectory."
        )
    labels = column.astype(str).to_numpy()
    return {label: np.flatnonzero(labels == label) for label in dict.fromkeys(labels)}


def _check_times(time: np.ndarray, rows: np.ndarray, label: str, cells: Cells, roles: Roles) -> None:
    own = time[rows]
    back = np.flatnonzero(np.diff(own) <= 0.0)
    if not len(back):
        return
    k = int(back[0])
    whose = f" of trajectory {label!r}" if roles.trajectory is not None else ""
    before, after = f"{own[k]:.10g}", f"{own[k + 1]:.10g}"
    where = cells.place(int(rows[k + 1]))
    if own[k] == own[k + 1]:
        what = f"{where}: the time {roles.time} = {after}{whose} occurs twice in succession."
        remedy = "Average samples of the same time, or leave one out"
    else:
        what = f"{where}: the time{whose} goes back from {roles.time} = {before} to {after}."
        remedy = "Sort the rows by time"
    if roles.trajectory is None:
        remedy += "; if the table holds several trajectories, give the column of their labels as the trajectory"
    raise InputError(f"{what} {remedy}.")


# ---- what a series has to have ------------------------------------------------------------------------------------


def check_series(series: Series, policy: ReadingPolicy = READING) -> list[str]:
    """Notes on what looks odd; an error where no equation can be found."""
    for trajectory in series.trajectories:
        if len(trajectory.time) < policy.least_in_one:
            raise InputError(
                f"Trajectory {trajectory.label!r} has only one sample, which shows no motion: leave it out, or name "
                "another column for the trajectories."
                if trajectory.label
                else f"The table has only one sample, which shows no motion: at least {policy.least_samples} are "
                "needed."
            )
    notes: list[str] = []
    for k, name in enumerate(series.states):
        columns = [trajectory.states[:, k] for trajectory in series.trajectories]
        notes += _check_state(name, columns, policy)
    return notes


def _check_state(name: str, columns: Sequence[np.ndarray], policy: ReadingPolicy) -> list[str]:
    whole = [column[np.isfinite(column)] for column in columns]
    count, rows = sum(map(len, whole)), sum(map(len, columns))
    values = np.concatenate(whole)
    if count < policy.least_samples:
        raise InputError(
            f"State {name!r} has {count} sample{'' if count == 1 else 's'}, too few to follow its motion: measure it "
            f"at {policy.least_samples} times or more."
        )
    if all(np.ptp(column) == 0.0 for column in whole if len(column)):
        rest = f"is {values[0]:g} in all samples" if np.ptp(values) == 0.0 else "is constant in every trajectory"
        raise InputError(
            f"State {name!r} never changes: it {rest}, so no equation can be found for it. Leave it out, or name it "
            "as an input."
        )
    found = _neighbours(whole)
    alike = f"neighbouring samples of {name!r} have a correlation of {found:.2f}"
    if found < policy.told_apart:
        raise InputError(
            f"State {name!r} jumps from sample to sample ({alike}), so its slopes cannot be determined: the samples "
            "are too far apart for its fastest motion, or noise hides it. Sample more often, or leave the state out."
        )
    notes = [f"{rows - count} of {rows} samples of {name!r} are missing."] if count < rows else []
    if found < policy.doubtful:
        notes.append(f"There are few samples for the fastest motion, or much noise: {alike}.")
    return notes


def _neighbours(columns: Sequence[np.ndarray]) -> float:
    """The correlation of neighbouring samples, over all trajectories: near 1 on a smooth path, 0 for noise, and below
    0 where samples alternate."""
    long = [column for column in columns if len(column) > 2]
    if not long:
        return 1.0
    spread = sum(float(np.sum((column - column.mean()) ** 2) * (len(column) - 1) / len(column)) for column in long)
    steps = sum(float(np.sum(np.diff(column) ** 2)) for column in long)
    return 1.0 - steps / (2.0 * spread) if spread > 0.0 else 1.0
