"""The record of one run, and files of records.

A file holds one JSON object per line, written as soon as its run ends, with these fields:

    suite, problem, family, method   names
    seed                             of the data and of the method
    settings                         the method's settings and the time limit, as run
    noise                            of the training targets, as a fraction of their size
    train_mse, interp_mse, extrap_mse  mean squared errors; "inf" where the formula is undefined at a point, null where
                                     there are no such points
    r2                               coefficient of determination at the interpolation points, or for differential
                                     equations that of the simulated trajectories against the true ones
    node_count                       nodes of the formula in SymPy's preorder traversal
    exact                            same structure as the truth, constants within 1e-6
    equivalent                       interp_mse and extrap_mse below 1e-20 (of the target's mean square in some suites)
    symbolic_solution                the truth up to a factor or an added constant, with constants to three digits
    front_solution                   the same for any formula that the method offers; null if that was not checked
    law                              the law of a measured table, in its columns and constants; null for other problems
    chosen                           the law's constants can be set so that it has the values of the formula
    offered                          the same for any formula that the method offers and that fits as well as the law
    name                             the formula's name in the catalogue of laws, null if it has none; like the two
                                     fields above, only set for measured tables
    subsample                        share of the samples of trajectories that were left out
    r2_test                          for differential equations: r2 of trajectories from initial states that were not
                                     trained on; "-inf" if one of them cannot be simulated
    structure                        every equation has the structure of the true one; null for other problems
    right_equations                  how many equations have the right structure; front_solution requires all of them
    outcome                          how the search ended, null if the method does not say
    seconds                          from data to formula, without compile_seconds
    compile_seconds                  compilation that a later run of the same shape would not need again
    rows, columns                    size of the training data
    peak_mb, grown_mb                largest memory of the process, and its growth during the run; null unless the suite
                                     asks for it, since each run then needs a process of its own
    expression                       the formula as text
    versions                         of Python and the libraries
    machine                          system, processor, cores and memory
    error                            null, or why there is no formula; the scores are then null

JSON has no infinity and no NaN: such numbers are written as the strings "inf", "-inf" and "nan".
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from ceql.bench.definitions import families
from ceql.bench.errors import RecordError

Key = tuple[str, str, str, int]
_ERRORS = ("train_mse", "interp_mse", "extrap_mse", "r2", "r2_test")
_NUMBERS = (*_ERRORS, "seconds", "compile_seconds", "peak_mb", "grown_mb")


@dataclass(frozen=True)
class Record:
    """The record of one run of one method on one problem with one seed. The module docstring describes the fields."""

    suite: str
    problem: str
    family: str
    method: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    noise: float = 0.0
    train_mse: float | None = None
    interp_mse: float | None = None
    extrap_mse: float | None = None
    r2: float | None = None
    node_count: int | None = None
    exact: bool = False
    equivalent: bool = False
    symbolic_solution: bool = False
    front_solution: bool | None = None
    law: str | None = None
    chosen: bool | None = None
    offered: bool | None = None
    name: str | None = None
    subsample: float = 0.0
    r2_test: float | None = None
    structure: bool | None = None
    right_equations: int | None = None
    outcome: str | None = None
    seconds: float | None = None
    compile_seconds: float | None = None
    rows: int | None = None
    columns: int | None = None
    peak_mb: float | None = None
    grown_mb: float | None = None
    expression: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: str = ""
    error: str | None = None

    @property
    def key(self) -> Key:
        """The key that identifies a run; a file holds each key once."""
        return self.suite, self.problem, self.method, self.seed

    @property
    def plain_problem(self) -> str:
        """The problem's name without the noise level that `--noise` adds to it."""
        return self.problem.removesuffix(f"[noise={self.noise:g}]")

    @property
    def base_problem(self) -> str:
        """The problem's name without what `--noise` and `--subsample` add to it."""
        return self.plain_problem.removesuffix(f"[subsample={self.subsample:g}]")

    @property
    def added_noise(self) -> float:
        """The noise level that `--noise` adds; zero if the noise is the problem's own."""
        return self.noise if self.plain_problem != self.problem else 0.0


def grouped(records: Iterable[Record], *names: str) -> dict[Any, list[Record]]:
    """The records grouped by the value of one or several fields, in the order in which the values first occur."""
    key = attrgetter(*names)
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def by_families(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The records by family, in the order of first occurrence; sorted if problems are in several families."""
    groups: dict[tuple[int, str], list[Record]] = {}
    for record in records:
        for place in enumerate(families(record.family)):
            groups.setdefault(place, []).append(record)
    several = any(place for place, _ in groups)
    return {name: groups[place, name] for place, name in (sorted(groups) if several else groups)}


def to_json(record: Record) -> str:
    """The record as one line of a file of records, without a line break."""
    return json.dumps(_finite(asdict(record)), allow_nan=False, sort_keys=False)


def from_json(line: str) -> Record:
    """Reads a record from one line of a file of records."""
    data = json.loads(line)
    if not isinstance(data, dict) or not {"suite", "problem", "family", "method", "seed"} <= set(data):
        raise ValueError("not a record")
    numbers: dict[str, Any] = {k: float(data[k]) for k in _NUMBERS if isinstance(data.get(k), str)}
    return Record(**{k: v for k, v in (data | numbers).items() if k in Record.__dataclass_fields__})


def read_records(path: str | Path) -> list[Record]:
    """Reads a file of records. An incomplete last line, left by a killed run, is ignored; any other bad line is an
    error.
    """
    try:
        # Split only at newlines: other Unicode line breaks may occur inside strings.
        lines = Path(path).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error}") from error
    records = []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            records.append(from_json(line))
        except (ValueError, TypeError) as error:
            raise RecordError(f"{path}, line {number}: not a record of a benchmark run: {error}") from error
    return records


def append_record(path: str | Path, record: Record) -> None:
    """Appends a record to a file and flushes it to the disk, so that a kill loses at most the current run."""
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(to_json(record) + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise RecordError(f"{path}: cannot be written: {error}") from error


def drop_torn_line(path: str | Path) -> None:
    """Removes an incomplete last line, so that the next record starts on a line of its own."""
    with Path(path).open("rb+") as file:
        data = file.read()
        file.truncate(data.rfind(b"\n") + 1)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return value
