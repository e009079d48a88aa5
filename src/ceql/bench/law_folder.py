"""Reads a folder of measured tables whose laws are known: `laws.csv`, and `NAME.csv` for every table it names.

Each row of `laws.csv` describes a table. Its columns are

    table     the name of the table's file without extension, and of the problem
    target    the column that the law is for; all other columns may occur in the law
    law       a formula in these columns and constants, such as b1*x/(b2 + x)
    start     values of the constants near the solution, as JSON: {"b1": 200, "b2": 0.06}
    rows      the number of rows of the table, to notice a wrong file; optional
    origin    where the table comes from; optional

Nothing in a folder is executed: laws are read by the parser of formulas.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ceql.bench.definitions import Problem, Suite
from ceql.bench.errors import SuiteError
from ceql.bench.points import columns
from ceql.data.tables import Table, read_cells
from ceql.errors import InputError, nearest
from ceql.expression import FormulaError, compile_numpy, parse_formula

Start = tuple[tuple[str, float], ...]
Rows = tuple[tuple[float, ...], ...]

LIST = "laws.csv"
_NEEDED = ("table", "target", "law", "start")
_OPTIONAL = ("rows", "origin")


def with_tables(suite: Suite, folder: Path) -> Suite:
    """The suite with the tables of a folder as its problems."""
    if not folder.exists():
        raise SuiteError(f"There is no folder {folder}. Name one that holds {LIST} and the tables it lists.")
    if not folder.is_dir():
        raise SuiteError(f"{folder} is a file. Name the folder that holds {LIST} and the tables it lists.")
    problems = tuple(_problems(folder))
    names = [problem.name for problem in problems]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SuiteError(f"{folder / LIST}: two rows are about the table {twice!r}: leave out one of them.")
    return replace(suite, problems=problems)


def _problems(folder: Path) -> Iterator[Problem]:
    path = folder / LIST
    if not path.is_file():
        raise SuiteError(f"{folder} has no {LIST}: write one with the columns {', '.join(_NEEDED)}.")
    listed = _read(path)
    missing = [name for name in _NEEDED if name not in listed.names]
    if missing:
        raise SuiteError(f"{path} has no column {missing[0]!r}. It needs {', '.join(_NEEDED)}.")
    known = [name for name in (*_NEEDED, *_OPTIONAL) if name in listed.names]
    for cells in zip(*(listed.cells[name] for name in known), strict=True):
        yield _Row(folder, path, dict(zip(known, cells, strict=True))).problem()


def _read(path: Path) -> Table:
    try:
        return read_cells(path)
    except InputError as error:
        raise SuiteError(str(error)) from error


@dataclass(frozen=True, eq=False)
class _Row:
    """A row of `laws.csv`, which knows its place for error messages."""

    folder: Path
    path: Path
    cells: Mapping[str, Any]

    def problem(self) -> Problem:
        table = self._table()
        target = self._text("target")
        if target not in table.names:
            known = f"{nearest(target, table.names)} Its columns: {', '.join(table.names)}."
            raise self._error(f"{table.path.name} has no column {target!r}, which is the target.{known}")
        variables = tuple(name for name in table.names if name != target)
        start = self._start(variables)
        data = self._numbers(table, (*variables, target))
        law = self._law(variables, start)
        self._require_values(law, variables, start, data)
        return Problem(
            name=self._text("table"),
            family=self._optional("origin"),
            expression=law,
            variables=variables,
            train=(),
            extrap=(),
            n_train=len(data),
            data=data,
            start=start,
        )

    def _error(self, message: str) -> SuiteError:
        name = self.cells["table"]
        return SuiteError(f"{self.path}, table {name!r}: {message}")

    def _text(self, column: str) -> str:
        value = self.cells[column]
        if _is_empty(value):
            raise self._error(f"the column {column!r} is empty: fill it in.")
        return str(value).strip()

    def _optional(self, column: str) -> str:
        value = self.cells.get(column)
        return "" if _is_empty(value) else str(value).strip()

    def _table(self) -> Table:
        name = self._text("table")
        if Path(name).name != name:
            raise self._error("a table is named without a folder, as its file stands beside the list.")
        path = self.folder / f"{name}.csv"
        if not path.is_file():
            raise self._error(f"there is no file {path}. Add it, or leave the row out.")
        return _read(path)

    def _numbers(self, table: Table, names: tuple[str, ...]) -> Rows:
        try:
            values = table.numbers(names).to_numpy(dtype=float)
        except InputError as error:
            raise SuiteError(str(error)) from error
        stated = self._optional("rows")
        if stated and _number(stated) != len(values):
            raise self._error(
                f"the list says {stated} rows and {table.path.name} has {len(values)}: correct one of them."
            )
        if not np.ptp(values[:, -1]) > 0.0:
            raise self._error(f"the target {names[-1]!r} is the same on every row: there is no law to be found.")
        return tuple(tuple(map(float, row)) for row in values)

    def _start(self, variables: tuple[str, ...]) -> Start:
        text = self._text("start")
        example = 'write the constants as JSON, such as {"b1": 2.5, "b2": 0.01}'
        try:
            values = json.loads(text)
        except ValueError as error:
            raise self._error(f"its start {text!r} cannot be read ({error}): {example}.") from error
        if not isinstance(values, dict) or not values or not all(map(_is_finite, values.values())):
            raise self._error(f"its start {text!r} is not a table of numbers: {example}.")
        both = next((name for name in values if name in variables), None)
        if both is not None:
            raise self._error(f"{both!r} is a column and a constant in its start: rename one of them.")
        return tuple((name, float(value)) for name, value in values.items())

    def _law(self, variables: tuple[str, ...], start: Start) -> str:
        text = self._text("law")
        names = (*variables, *(name for name, _ in start))
        try:
            known = {symbol.name for symbol in parse_formula(text, names).free_symbols}
        except FormulaError as error:
            raise self._error(f"its law {text!r} is not a formula in {', '.join(names)}: {error}.") from error
        idle = next((name for name, _ in start if name not in known), None)
        if idle is not None:
            raise self._error(f"its start has the constant {idle!r}, which is not in the law {text!r}: leave it out.")
        if not known & set(variables):
            raise self._error(f"its law {text!r} depends on no column of the table.")
        return text

    def _require_values(self, law: str, variables: tuple[str, ...], start: Start, data: Rows) -> None:
        names = (*variables, *(name for name, _ in start))
        x = np.array(data)[:, :-1]
        numbers = np.tile([value for _, value in start], (len(x), 1))
        values = compile_numpy(parse_formula(law, names), columns(names))(np.hstack([x, numbers]))
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise self._error(f"its law has no value on row {row + 1} of the table for its start: give others.")


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or not str(value).strip()


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
