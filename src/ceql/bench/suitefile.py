"""Reading a suite file.

A suite is TOML:

    title = "..."                          one line about the suite
    methods = ["ceql", "operon"]           run when the user names none
    seeds = "0-4"
    time_limit = 60                        seconds a run
    memory = true                          measure the memory of every run, each in a process of its own
    [settings.operon]                      settings of a method that differ in this suite
    [variant.no-skips]                     a method under another name, with other settings
    method, label, published               its name, a few words, a rate reported by others; all else are settings
    [defaults]                             fields of a problem, for all problems that do not set them
    [[problem]]                            one of them per problem
    name, family, expression, variables    text, text, formula, list of names
    train, test, extrap                    a range for every variable, or a table by variable; a range is a list of
                                           intervals, or { log = [[0.1, 10]] }, { integer = [[1, 5]] } or
                                           { grid = [[-1, 1]], step = 0.1 }
    n_train, n_interp, n_extrap, nuisance  how many points and columns; no extrapolation with n_extrap = 0
    limit, least                           targets larger or smaller than these are drawn anew
    noise, noise_unit, relative            a fraction, of "std" or "rms"; errors beside the size of the target
    singular                               the expressions that vanish
    data                                   columns to train on, with the column "target", in place of drawn points
    constants                              how many constants of the law are for the data to say
    system                                 the name of differential equations whose solutions are the points
    [system.NAME]                          such equations
    rates, starts, step, points            a formula for every variable, where the solutions start, and the points
                                           taken from each of them
    [[include]]                            problems of another suite, with fields changed
    suite, problems                        its name and the names of the problems taken

`n_train`, `noise` and `nuisance` may be lists: the problem then stands for one variant per value, named
`E-5[noise=0.01]`, all drawn from the same points.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ceql.bench import fields as checks
from ceql.bench.definitions import PAPER_EXTRAP, PAPER_TRAIN, Problem, Suite, System, Variant
from ceql.bench.errors import BenchError, SuiteError
from ceql.bench.selections import parse_seeds, unknown

_METHODS = ("methods", "seeds", "time_limit", "memory", "settings", "variant")
_TOP = {"title", *_METHODS, "system", "defaults", "problem", "include"}
_SYSTEM = ("rates", "starts", "step", "points")
_VARIED = ("n_train", "noise", "nuisance")
_RANGES = {"train": (PAPER_TRAIN,), "test": (), "extrap": (PAPER_EXTRAP,)}
_FIELDS = tuple(f.name for f in fields(Problem) if f.name != "stem")
_REQUIRED = ("name", "expression", "variables")


@dataclass(frozen=True)
class _Place:
    """Where a value stands in a suite file, to say so when it is wrong."""

    path: Path
    text: str
    table: str = ""
    index: int = 0
    label: str = ""

    def error(self, field: str, message: str) -> SuiteError:
        where = [str(self.path)]
        line = self._line(field)
        where += [f"line {line}"] if line else []
        where += [self.label] if self.label else []
        where += [f"field {field!r}"]
        return SuiteError(f"{', '.join(where)}: {message}")

    def _line(self, field: str) -> int | None:
        """The line of the field, or else of the head of its table; tomllib keeps no positions."""
        lines = self.text.splitlines()
        start = self._head(lines)
        for number in range(start, len(lines)):
            if number > start and lines[number].lstrip().startswith("["):
                break
            if re.match(rf"\s*[\"']?{re.escape(field)}[\"']?\s*[.=]", lines[number]):
                return number + 1
        return start + 1 if self.table else None

    def _head(self, lines: list[str]) -> int:
        pattern = re.compile(rf"\s*\[+\s*{re.escape(self.table)}\s*\]+")
        heads = [i for i, line in enumerate(lines) if self.table and pattern.match(line)]
        return heads[self.index] if self.index < len(heads) else 0


def read_suite(path: Path, load: Callable[[str], Suite]) -> Suite:
    """Read a suite file. `load` finds the suites that it includes."""
    place = _Place(path, _text(path))
    data = _toml(place)
    for key in data:
        if key not in _TOP:
            raise place.error(key, unknown("field", key, sorted(_TOP)))
    defaults = data.get("defaults", {})
    _known(replace(place, table="defaults", label="defaults"), defaults, set(_FIELDS) - set(_REQUIRED))
    systems = dict(_systems(place, _checked(place, data, "system", checks.table_of_tables, {})))
    problems = list(_problems(place, data.get("problem", []), defaults, systems))
    problems += list(_included(place, data.get("include", []), load))
    _distinct(place, problems)
    return Suite(
        name=path.stem,
        title=str(data.get("title", path.stem)),
        problems=tuple(problems),
        methods=_checked(place, data, "methods", checks.names, ("ceql",)),
        seeds=_checked(place, data, "seeds", lambda v: parse_seeds(str(v)), (0, 1, 2, 3, 4)),
        time_limit=_checked(place, data, "time_limit", checks.positive, 60.0),
        settings=_checked(place, data, "settings", checks.table_of_tables, {}),
        variants=dict(_variations(place, _checked(place, data, "variant", checks.table_of_tables, {}))),
        memory=_checked(place, data, "memory", checks.flag, False),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteError(f"{path}: cannot be read: {error}") from error


def _toml(place: _Place) -> dict[str, Any]:
    try:
        return tomllib.loads(place.text)
    except tomllib.TOMLDecodeError as error:
        # Its message ends with the line and column.
        raise SuiteError(f"{place.path}: not valid TOML: {error}") from error


def _systems(place: _Place, tables: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, System]]:
    for name, table in tables.items():
        here = replace(place, table=f"system.{name}", label=f"system {name!r}")
        _known(here, table, set(_SYSTEM))
        for field in _SYSTEM:
            if field not in table:
                raise here.error(field, "is missing.")
        yield name, _read_system(here, table)


def _read_system(place: _Place, table: Mapping[str, Any]) -> System:
    rates = _checked(place, table, "rates", checks.formulas, {})
    system = System(
        variables=tuple(rates),
        rates=tuple(rates.values()),
        starts=_checked(place, table, "starts", lambda value: checks.points(value, len(rates)), ()),
        step=_checked(place, table, "step", checks.positive, 0.0),
        points=_checked(place, table, "points", checks.size, 0),
    )
    _check_formulas(place, system.variables, {"rates": system.rates})
    return system


def _problems(
    place: _Place, tables: Any, defaults: Mapping[str, Any], systems: Mapping[str, System]
) -> Iterator[Problem]:
    for index, table in enumerate(_tables(place, "problem", tables)):
        here = replace(place, table="problem", index=index, label=f"problem {table.get('name', index + 1)!r}")
        _known(here, table, set(_FIELDS))
        for field in _REQUIRED:
            if field not in table:
                raise here.error(field, "is missing.")
        problem = _problem(here, {**defaults, **table}, systems)
        yield from _variants(here, problem, {**defaults, **table})


def _variations(place: _Place, tables: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Variant]]:
    for name, table in tables.items():
        here = replace(place, table=f"variant.{name}", label=f"variant {name!r}")
        if "method" not in table:
            raise here.error("method", "is missing.")
        yield (
            name,
            Variant(
                method=_checked(here, table, "method", checks.text, ""),
                label=_checked(here, table, "label", checks.text, ""),
                published=_checked(here, table, "published", checks.number, None),
                settings={k: v for k, v in table.items() if k not in ("method", "label", "published")},
            ),
        )


def _included(place: _Place, tables: Any, load: Callable[[str], Suite]) -> Iterator[Problem]:
    for index, table in enumerate(_tables(place, "include", tables)):
        here = replace(place, table="include", index=index, label=f"include {index + 1}")
        _known(here, table, {"suite", "problems", "family", "limit", "n_interp", "n_extrap", *_VARIED})
        if "suite" not in table:
            raise here.error("suite", "is missing.")
        source = {p.name: p for p in load(str(table["suite"])).problems}
        for name in _checked(here, table, "problems", checks.names, tuple(source)):
            if name not in source:
                raise here.error("problems", unknown("problem", name, source))
            changed = {k: v for k, v in table.items() if k not in ("suite", "problems", *_VARIED)}
            base = replace(source[name], **{k: _value(here, table, k) for k in changed})
            yield from _variants(here, base, table)


def _problem(place: _Place, table: Mapping[str, Any], systems: Mapping[str, System]) -> Problem:
    variables = _checked(place, table, "variables", checks.identifiers, ())
    simple = [f for f in table if f not in ("variables", "system", "data", *_RANGES, *_VARIED)]
    ranges = {
        field: _checked(place, table, field, lambda v: checks.ranges(v, variables), default * len(variables))
        for field, default in _RANGES.items()
    }
    values = {"family": "", **{f: _value(place, table, f) for f in simple}}
    values["data"] = _checked(place, table, "data", lambda v: checks.rows(v, (*variables, "target")), ())
    problem = Problem(variables=variables, system=_system(place, table, systems, variables), **ranges, **values)
    _check_formulas(place, variables, {"expression": (problem.expression,), "singular": problem.singular})
    return problem


def _system(
    place: _Place, table: Mapping[str, Any], systems: Mapping[str, System], variables: tuple[str, ...]
) -> System | None:
    name = _checked(place, table, "system", checks.text, None)
    if name is None:
        return None
    if name not in systems:
        raise place.error("system", unknown("system", name, systems))
    if systems[name].variables != variables:
        raise place.error("system", f"has the variables {', '.join(systems[name].variables)}.")
    return systems[name]


def _check_formulas(place: _Place, variables: tuple[str, ...], formulas: Mapping[str, tuple[str, ...]]) -> None:
    # Imported here: a suite's fields can be read and reported on without the expression package at hand.
    from ceql.bench.points import formula

    for field, texts in formulas.items():
        for text in texts:
            try:
                formula(text, variables)
            except ValueError as error:
                raise place.error(field, f"{text!r} is not a formula in {', '.join(variables)}: {error}") from error


def _variants(place: _Place, base: Problem, table: Mapping[str, Any]) -> Iterator[Problem]:
    given = [f for f in _VARIED if f in table]
    lists = {f: table[f] if isinstance(table[f], list) else [table[f]] for f in given}
    tagged = [f for f in given if isinstance(table[f], list)]
    for values in itertools.product(*lists.values()):
        chosen = dict(zip(lists, values, strict=True))
        changed = {f: _value(place, chosen, f) for f in given}
        tag = ",".join(f"{f}={chosen[f]}" for f in tagged)
        name = f"{base.name}[{tag}]" if tag else base.name
        yield replace(base, name=name, stem=base.sampling_key, **changed)


def _value(place: _Place, table: Mapping[str, Any], field: str) -> Any:
    return _checked(place, table, field, checks.BY_NAME[field], None)


def _checked(place: _Place, table: Mapping[str, Any], field: str, check: Callable[[Any], Any], default: Any) -> Any:
    if field not in table:
        return default
    try:
        return check(table[field])
    except BenchError as error:
        raise place.error(field, str(error)) from error


def _tables(place: _Place, key: str, tables: Any) -> list[dict[str, Any]]:
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise place.error(key, f"must be tables headed [[{key}]].")
    return tables


def _known(place: _Place, table: Any, allowed: set[str]) -> None:
    if not isinstance(table, dict):
        raise place.error(place.table, f"must be a table headed [{place.table}].")
    for key in table:
        if key not in allowed:
            raise place.error(key, unknown("field", key, sorted(allowed)))


def _distinct(place: _Place, problems: list[Problem]) -> None:
    if not problems:
        raise place.error("problem", "the suite has no problems.")
    seen: set[str] = set()
    for problem in problems:
        if problem.name in seen:
            raise place.error("name", f"two problems are called {problem.name!r}.")
        seen.add(problem.name)
