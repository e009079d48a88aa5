"""Checks for the fields of a suite file. Each returns the value to store, or raises an error with the reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ceql.bench.definitions import Range, Spread
from ceql.bench.errors import BenchError
from ceql.bench.selections import unknown

Check = Callable[[Any], Any]
SPREADS = {"log": ("log",), "integer": ("integer",), "grid": ("grid", "step")}
NOISE_UNITS = ("std", "rms", "absolute")


def _check(holds: Check, message: str, stored: Check = lambda value: value) -> Check:
    """Makes a check from a condition, the error message, and a conversion of the stored value."""

    def checked(value: Any) -> Any:
        if not holds(value):
            raise BenchError(message.format(value))
        return stored(value)

    return checked


def _is_a(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0


text = _check(lambda v: isinstance(v, str) and v.strip(), "must be text, not {!r}.")
names = _check(
    lambda v: _is_list(v) and all(isinstance(name, str) and name for name in v),
    "must be a list of names, not {!r}.",
    tuple,
)
number = _check(lambda v: _is_a(v, int | float) and math.isfinite(v), "must be a finite number, not {!r}.", float)
positive = _check(lambda v: number(v) > 0, "must be positive, not {!r}.", float)
non_negative = _check(lambda v: number(v) >= 0, "must not be negative, not {!r}.", float)
count = _check(lambda v: _is_a(v, int) and v >= 0, "must be a whole number, not {!r}.")
size = _check(lambda v: count(v) > 0, "must be at least 1.")
flag = _check(lambda v: isinstance(v, bool), "must be true or false, not {!r}.")
table_of_tables = _check(
    lambda v: isinstance(v, dict) and all(isinstance(table, dict) for table in v.values()),
    "must be tables such as [settings.operon].",
)
_pair = _check(
    lambda v: isinstance(v, list) and len(v) == 2,
    "an interval is a pair of numbers such as [-2, 2], not {!r}.",
    lambda v: (number(v[0]), number(v[1])),
)
_interval = _check(
    lambda v: _pair(v)[0] < _pair(v)[1],
    "the interval {!r} is empty: the first number must be the smaller one.",
    _pair,
)
_intervals = _check(
    _is_list,
    "must be a list of intervals such as [[-4, -2], [2, 4]], not {!r}.",
    lambda v: tuple(map(_interval, v)),
)
texts = _check(
    lambda v: isinstance(v, dict) and all(isinstance(part, str) for part in v.values()),
    'must be a table of texts, such as {{ x = "mm" }}, not {!r}.',
    lambda v: tuple(v.items()),
)
BY_NAME: dict[str, Check] = {
    "name": text,
    "family": text,
    "expression": text,
    "n_train": size,
    "n_interp": size,
    "n_extrap": count,
    "limit": positive,
    "least": non_negative,
    "noise": non_negative,
    "noise_unit": _check(lambda v: v in NOISE_UNITS, f"must be one of {', '.join(NOISE_UNITS)}, not {{!r}}."),
    "relative": flag,
    "nuisance": count,
    "constants": count,
    "units": texts,
    "unit_constants": texts,
    "singular": lambda value: names(value) if value else (),
}


def identifiers(value: Any) -> tuple[str, ...]:
    for name in names(value):
        if not name.isidentifier():
            raise BenchError(f"{name!r} cannot be a variable: use letters, digits and underscores.")
    if len(set(value)) < len(value):
        raise BenchError("names a variable twice.")
    return tuple(value)


def spread(value: Any) -> Range:
    """A range from a list of intervals, or from a table that says how to draw, such as `{ log = [[0.1, 10]] }`."""
    if not isinstance(value, dict):
        return _intervals(value)
    kind = next((k for k in SPREADS if k in value), None)
    if kind is None:
        raise BenchError(f"a table for a variable begins with one of {', '.join(SPREADS)}, not {value!r}.")
    for key in value:
        if key not in SPREADS[kind]:
            raise BenchError(unknown(f"part of {kind!r},", key, SPREADS[kind]))
    where = _intervals(value[kind])
    if kind == "log" and any(low <= 0 <= high for low, high in where):
        raise BenchError(f"no interval of a log range may hold zero, as one of {value[kind]!r} does.")
    if kind == "integer" and any(not end.is_integer() for pair in where for end in pair):
        raise BenchError(f"the ends of an integer range are whole numbers, not {value[kind]!r}.")
    if kind == "grid" and "step" not in value:
        raise BenchError("a grid needs its step, such as { grid = [[-1, 1]], step = 0.1 }.")
    return Spread(kind, where, positive(value["step"]) if kind == "grid" else 0.0)


def ranges(value: Any, variables: Sequence[str]) -> tuple[Range, ...]:
    """A range for each variable, from one range for all or from a table by variable."""
    if not isinstance(value, dict) or SPREADS.keys() & value.keys() - set(variables):
        return (spread(value),) * len(variables)
    for name in value:
        if name not in variables:
            raise BenchError(unknown("variable", name, variables))
    missing = [name for name in variables if name not in value]
    if missing:
        raise BenchError(f"gives no interval for {', '.join(missing)}.")
    return tuple(spread(value[name]) for name in variables)


def rows(value: Any, names: Sequence[str]) -> tuple[tuple[float, ...], ...]:
    """Rows from a table of columns, in the order of `names`."""
    if not isinstance(value, dict) or set(value) != set(names):
        raise BenchError(f"must be a table with the columns {', '.join(names)}.")
    columns = [value[name] for name in names]
    if not all(isinstance(c, list) and len(c) == len(columns[0]) for c in columns) or not columns[0]:
        raise BenchError("must have columns of the same length, with at least one number each.")
    return tuple(tuple(map(number, row)) for row in zip(*columns, strict=True))


def formulas(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not value:
        raise BenchError(f'must be a table with a formula for every variable, such as {{ x = "-y" }}, not {value!r}.')
    identifiers(list(value))
    return {name: text(rate) for name, rate in value.items()}


def constants(value: Any) -> tuple[tuple[str, float], ...]:
    """Pairs of names and numbers from a table."""
    if not isinstance(value, dict):
        raise BenchError(f"must be a table of numbers, such as {{ k = 0.83 }}, not {value!r}.")
    return tuple((name, number(constant)) for name, constant in value.items())


def points(value: Any, width: int) -> tuple[tuple[float, ...], ...]:
    if not _is_list(value) or not all(isinstance(p, list) and len(p) == width for p in value):
        raise BenchError(f"must be a list of points with {width} numbers each, not {value!r}.")
    return tuple(tuple(map(number, point)) for point in value)
