"""What a field of a suite file may hold. Each check returns the value to store or raises with the reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ceql.bench.definitions import Intervals, Range, Spread
from ceql.bench.errors import BenchError
from ceql.bench.selections import unknown


def text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BenchError(f"must be text, not {value!r}.")
    return value


def names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(v, str) and v for v in value):
        raise BenchError(f"must be a list of names, not {value!r}.")
    return tuple(value)


def texts(value: Any) -> tuple[str, ...]:
    return names(value) if value else ()


def identifiers(value: Any) -> tuple[str, ...]:
    for name in names(value):
        if not name.isidentifier():
            raise BenchError(f"{name!r} cannot be a variable: use letters, digits and underscores.")
    if len(set(value)) < len(value):
        raise BenchError("names a variable twice.")
    return tuple(value)


def number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BenchError(f"must be a finite number, not {value!r}.")
    return float(value)


def positive(value: Any) -> float:
    if number(value) <= 0:
        raise BenchError(f"must be positive, not {value!r}.")
    return float(value)


def non_negative(value: Any) -> float:
    if number(value) < 0:
        raise BenchError(f"must not be negative, not {value!r}.")
    return float(value)


def count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BenchError(f"must be a whole number, not {value!r}.")
    return value


def size(value: Any) -> int:
    if count(value) == 0:
        raise BenchError("must be at least 1.")
    return value


def intervals(value: Any) -> Intervals:
    if not isinstance(value, list) or not value:
        raise BenchError(f"must be a list of intervals such as [[-4, -2], [2, 4]], not {value!r}.")
    return tuple(_interval(pair) for pair in value)


def _interval(pair: Any) -> tuple[float, float]:
    if not isinstance(pair, list) or len(pair) != 2:
        raise BenchError(f"an interval is a pair of numbers such as [-2, 2], not {pair!r}.")
    low, high = number(pair[0]), number(pair[1])
    if not low < high:
        raise BenchError(f"the interval {pair!r} is empty: the first number must be the smaller one.")
    return low, high


def spread(value: Any) -> Range:
    """A list of intervals, or a table that says how to draw from them: `{ log = [[0.1, 10]] }`."""
    if not isinstance(value, dict):
        return intervals(value)
    kind = next((k for k in SPREADS if k in value), None)
    if kind is None:
        raise BenchError(f"a table for a variable begins with one of {', '.join(SPREADS)}, not {value!r}.")
    for key in value:
        if key not in SPREADS[kind]:
            raise BenchError(unknown(f"part of {kind!r},", key, SPREADS[kind]))
    where = intervals(value[kind])
    if kind == "log" and any(low <= 0 <= high for low, high in where):
        raise BenchError(f"no interval of a log range may hold zero, as one of {value[kind]!r} does.")
    if kind == "integer" and any(not end.is_integer() for pair in where for end in pair):
        raise BenchError(f"the ends of an integer range are whole numbers, not {value[kind]!r}.")
    if kind == "grid" and "step" not in value:
        raise BenchError("a grid needs its step, such as { grid = [[-1, 1]], step = 0.1 }.")
    return Spread(kind, where, positive(value["step"]) if kind == "grid" else 0.0)


def ranges(value: Any, variables: Sequence[str]) -> tuple[Range, ...]:
    """A range for every variable, from one for all or from a table by variable."""
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
    return tuple(tuple(number(v) for v in row) for row in zip(*columns, strict=True))


def formulas(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not value:
        raise BenchError(f'must be a table with a formula for every variable, such as {{ x = "-y" }}, not {value!r}.')
    identifiers(list(value))
    return {name: text(rate) for name, rate in value.items()}


def points(value: Any, width: int) -> tuple[tuple[float, ...], ...]:
    if not isinstance(value, list) or not value or not all(isinstance(p, list) and len(p) == width for p in value):
        raise BenchError(f"must be a list of points with {width} numbers each, not {value!r}.")
    return tuple(tuple(number(v) for v in point) for point in value)


def noise_unit(value: Any) -> str:
    if value not in NOISE_UNITS:
        raise BenchError(f"must be one of {', '.join(NOISE_UNITS)}, not {value!r}.")
    return value


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BenchError(f"must be true or false, not {value!r}.")
    return value


def table_of_tables(value: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(value, dict) or not all(isinstance(v, dict) for v in value.values()):
        raise BenchError("must be tables such as [settings.operon].")
    return value


SPREADS = {"log": ("log",), "integer": ("integer",), "grid": ("grid", "step")}
NOISE_UNITS = ("std", "rms", "absolute")
BY_NAME: dict[str, Callable[[Any], Any]] = {
    "name": text,
    "family": text,
    "expression": text,
    "n_train": size,
    "n_interp": size,
    "n_extrap": count,
    "limit": positive,
    "least": non_negative,
    "noise": non_negative,
    "noise_unit": noise_unit,
    "relative": flag,
    "nuisance": count,
    "constants": count,
    "singular": texts,
}
