"""Reads suite files.

A suite is TOML:

    title = "..."                          one line about the suite
    methods = ["ceql", "operon"]           run when the user names none
    seeds = "0-4"
    time_limit = 60                        seconds a run
    memory = true                          measure the memory of every run, each in a process of its own
    folder = true                          the problems are the tables of a folder, which `law_folder` reads
    parts = true                           its table: rates and seconds by method and family, beside the first method
    [settings.operon]                      settings of a method that differ in this suite
    [variant.no-skips]                     a method under another name, with other settings
    method, label, published               its name, a few words, a rate reported by others; all else are settings
    [defaults]                             fields of a problem, for all problems that do not set them
    [[problem]]                            one table per problem
    name, family, expression, variables    text, text, formula, list of names; a family may be several, as in
                                           "3 terms; 2 constants", and tables then have a line for each of them
    train, test, extrap                    a range for every variable, or a table by variable; a range is a list of
                                           intervals, or { log = [[0.1, 10]] }, { integer = [[1, 5]] } or
                                           { grid = [[-1, 1]], step = 0.1 }
    n_train, n_interp, n_extrap, nuisance  how many points and columns; no extrapolation with n_extrap = 0
    limit, least                           targets larger or smaller than these are drawn again
    noise, noise_unit, relative            a fraction, of "std" or "rms", or "absolute"; errors beside the target's size
    singular                               the expressions that vanish
    data                                   columns to train on, with the column "target", in place of drawn points
    constants                              how many constants of the law the data determine
    units                                  of the variables and of "target", for methods that use them
    unit_constants                         constants with their units that such methods may use, by name
    system                                 the name of differential equations whose solutions are the points
    [system.NAME]                          such equations
    rates, starts, step, points            a formula for every variable, where the solutions start, and the points
                                           taken from each of them
    [[motion]]                             differential equations to be found in samples of their trajectories
    name, family                           as for a problem
    rates, constants                       a formula for every state; values of the constants in them
    starts, test                           initial states of the trajectories to train on, and of those to test on
    span, samples                          of every trajectory: its last time, and how often it is sampled
    [[include]]                            problems of another suite, with fields changed
    suite, problems                        its name and the names of the problems taken

`n_train`, `noise` and `nuisance` may be lists: the problem then stands for one variant per value, named
`E-5[noise=0.01]`, all drawn from the same points.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ceql.bench import fields as checks
from ceql.bench.definitions import PAPER_EXTRAP, PAPER_TRAIN, Motion, Problem, Suite, System, Variant
from ceql.bench.errors import BenchError, SuiteError
from ceql.bench.points import formula
from ceql.bench.selections import parse_seeds, unknown

_SUITE: dict[str, checks.Check] = {
    "methods": checks.names,
    "seeds": lambda value: parse_seeds(str(value)),
    "time_limit": checks.positive,
    "settings": checks.table_of_tables,
    "memory": checks.flag,
    "folder": checks.flag,
    "parts": checks.flag,
}
_TOP = ("title", *_SUITE, "variant", "system", "defaults", "problem", "motion", "include")
_SYSTEM = ("rates", "starts", "step", "points")
_MOTION = ("name", "family", "rates", "constants", "starts", "test", "span", "samples")
_VARIANT = ("method", "label", "published")
_VARIED = ("n_train", "noise", "nuisance")
_CHANGED = ("family", "limit", "n_interp", "n_extrap")
_RANGES = {"train": (PAPER_TRAIN,), "test": (), "extrap": (PAPER_EXTRAP,)}
_FIELDS = [f.name for f in fields(Problem) if f.name not in ("stem", "start", "motion")]
_REQUIRED = ("name", "expression", "variables")


@dataclass(frozen=True)
class _Table:
    """A table of a suite file, which knows its place for error messages."""

    path: Path
    text: str
    content: Any
    head: str = ""
    index: int = 0
    label: str = ""

    def error(self, field: str, message: str) -> SuiteError:
        line = self._line(field)
        where = (str(self.path), f"line {line}" if line else "", self.label, f"field {field!r}")
        return SuiteError(f"{', '.join(filter(None, where))}: {message}")

    def _line(self, field: str) -> int | None:
        """The line of the field, or of the head of its table; tomllib does not keep positions."""
        lines = self.text.splitlines()
        pattern = rf"\s*\[+\s*{re.escape(self.head)}\s*\]+"
        heads = [i for i, line in enumerate(lines) if self.head and re.match(pattern, line)]
        start = heads[self.index] if self.index < len(heads) else 0
        for number in range(start, len(lines)):
            if number > start and lines[number].lstrip().startswith("["):
                break
            if re.match(rf"\s*[\"']?{re.escape(field)}[\"']?\s*[.=]", lines[number]):
                return number + 1
        return start + 1 if self.head else None

    def read(self, field: str, check: checks.Check | None = None, default: Any = None) -> Any:
        """The checked value of a field, or the default if the table does not have it."""
        if field not in self.content:
            return default
        try:
            return (check or checks.BY_NAME[field])(self.content[field])
        except BenchError as error:
            raise self.error(field, str(error)) from error

    def require(self, allowed: Collection[str], required: Collection[str] = ()) -> None:
        """Raises an error if the table has an unknown field or lacks a required one."""
        if not isinstance(self.content, dict):
            raise self.error(self.head, f"must be a table headed [{self.head}].")
        for key in self.content:
            if key not in allowed:
                raise self.error(key, unknown("field", key, sorted(allowed)))
        for field in required:
            if field not in self.content:
                raise self.error(field, "is missing.")

    def listed(self, key: str) -> Iterator[_Table]:
        """Yields the tables headed [[key]]."""
        tables = self.content.get(key, [])
        if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
            raise self.error(key, f"must be tables headed [[{key}]].")
        for index, table in enumerate(tables):
            label = f"{key} {table.get('name', index + 1)!r}"
            yield replace(self, content=table, head=key, index=index, label=label)

    def named(self, key: str) -> Iterator[tuple[str, _Table]]:
        """Yields the tables headed [key.NAME] with their names."""
        for name, table in self.read(key, checks.table_of_tables, {}).items():
            yield name, replace(self, content=table, head=f"{key}.{name}", label=f"{key} {name!r}")


def read_suite(path: Path, load: Callable[[str], Suite]) -> Suite:
    """Reads a suite file. `load` loads the suites that it includes."""
    top = _opened(path)
    top.require(_TOP)
    defaults = replace(top, content=top.content.get("defaults", {}), head="defaults", label="defaults")
    defaults.require(set(_FIELDS) - set(_REQUIRED))
    systems = {name: _system(table) for name, table in top.named("system")}
    problems = [p for table in top.listed("problem") for p in _problems(table, defaults.content, systems)]
    problems += [_motion(table) for table in top.listed("motion")]
    problems += [p for table in top.listed("include") for p in _included(table, load)]
    _distinct(top, problems)
    variants = {name: _variant(table) for name, table in top.named("variant")}
    given = {field: top.read(field, check) for field, check in _SUITE.items() if field in top.content}
    return Suite(path.stem, str(top.content.get("title", path.stem)), tuple(problems), variants=variants, **given)


def _opened(path: Path) -> _Table:
    try:
        text = path.read_text(encoding="utf-8")
        return _Table(path, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        # Its message ends with the line and column.
        raise SuiteError(f"{path}: not valid TOML: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteError(f"{path}: cannot be read: {error}") from error


def _system(table: _Table) -> System:
    table.require(_SYSTEM, _SYSTEM)
    rates = table.read("rates", checks.formulas)
    starts = table.read("starts", lambda value: checks.points(value, len(rates)))
    _check_formulas(table, tuple(rates), "rates", tuple(rates.values()))
    step, points = table.read("step", checks.positive), table.read("points", checks.size)
    return System(tuple(rates), tuple(rates.values()), starts, step, points)


def _motion(table: _Table) -> Problem:
    table.require(_MOTION, ("name", "rates", "starts"))
    rates = table.read("rates", checks.formulas)
    constants = table.read("constants", checks.constants, ())
    both = next((name for name, _ in constants if name in rates), None)
    if both is not None:
        raise table.error("constants", f"{both!r} is a state and a constant: rename one of them.")
    names = (*rates, *(name for name, _ in constants))
    _check_formulas(table, names, "rates", tuple(rates.values()))
    motion = Motion(
        tuple(rates.values()),
        constants,
        table.read("starts", lambda value: checks.points(value, len(rates))),
        table.read("test", lambda value: checks.points(value, len(rates)), ()),
        table.read("span", checks.positive, Motion.span),
        table.read("samples", checks.size, Motion.samples),
    )
    return Problem(
        name=table.read("name"),
        family=table.read("family", default=""),
        expression="; ".join(f"d{state}/dt = {rate}" for state, rate in rates.items()),
        variables=tuple(rates),
        train=(),
        extrap=(),
        n_train=motion.samples * len(motion.starts),
        motion=motion,
    )


def _variant(table: _Table) -> Variant:
    table.require(table.content, ["method"])
    method, label = table.read("method", checks.text), table.read("label", checks.text, "")
    settings = {k: v for k, v in table.content.items() if k not in _VARIANT}
    return Variant(method, label, table.read("published", checks.number), settings)


def _problems(own: _Table, defaults: Mapping[str, Any], systems: Mapping[str, System]) -> Iterator[Problem]:
    own.require(_FIELDS, _REQUIRED)
    table = replace(own, content={**defaults, **own.content})
    variables = table.read("variables", checks.identifiers)
    simple = [f for f in table.content if f in checks.BY_NAME and f not in _VARIED]
    ranges = {
        field: table.read(field, lambda v: checks.ranges(v, variables), default * len(variables))
        for field, default in _RANGES.items()
    }
    values = {"family": "", **{f: table.read(f) for f in simple}}
    values["data"] = table.read("data", lambda v: checks.rows(v, (*variables, "target")), ())
    problem = Problem(variables=variables, system=_system_of(table, systems, variables), **ranges, **values)
    _check_formulas(table, variables, "expression", (problem.expression,))
    _check_formulas(table, variables, "singular", problem.singular)
    yield from _variants(table, problem)


def _included(table: _Table, load: Callable[[str], Suite]) -> Iterator[Problem]:
    table.require(("suite", "problems", *_CHANGED, *_VARIED), ["suite"])
    source = {p.name: p for p in load(str(table.content["suite"])).problems}
    for name in table.read("problems", checks.names, tuple(source)):
        if name not in source:
            raise table.error("problems", unknown("problem", name, source))
        changed = {k: table.read(k) for k in _CHANGED if k in table.content}
        yield from _variants(table, replace(source[name], **changed))


def _system_of(table: _Table, systems: Mapping[str, System], variables: tuple[str, ...]) -> System | None:
    name = table.read("system", checks.text)
    if name is None:
        return None
    if name not in systems:
        raise table.error("system", unknown("system", name, systems))
    if systems[name].variables != variables:
        raise table.error("system", f"has the variables {', '.join(systems[name].variables)}.")
    return systems[name]


def _check_formulas(table: _Table, variables: tuple[str, ...], field: str, texts: tuple[str, ...]) -> None:
    for text in texts:
        try:
            formula(text, variables)
        except ValueError as error:
            raise table.error(field, f"{text!r} is not a formula in {', '.join(variables)}: {error}") from error


def _variants(table: _Table, base: Problem) -> Iterator[Problem]:
    given = {f: table.content[f] for f in _VARIED if f in table.content}
    for values in itertools.product(*(v if isinstance(v, list) else [v] for v in given.values())):
        chosen = replace(table, content=dict(zip(given, values, strict=True)))
        tag = ",".join(f"{f}={v}" for f, v in chosen.content.items() if isinstance(given[f], list))
        name = f"{base.name}[{tag}]" if tag else base.name
        yield replace(base, name=name, stem=base.sampling_key, **{f: chosen.read(f) for f in given})


def _distinct(top: _Table, problems: list[Problem]) -> None:
    if not problems and not top.content.get("folder"):
        raise top.error("problem", "the suite has no problems.")
    seen: set[str] = set()
    for problem in problems:
        if problem.name in seen:
            raise top.error("name", f"two problems are called {problem.name!r}.")
        seen.add(problem.name)
