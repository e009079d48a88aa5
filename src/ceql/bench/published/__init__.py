"""Results published by others, as data files, for comparison with our own."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Column:
    """One method's results by metric and problem: mean and standard deviation (NaN for a single run)."""

    method: str
    label: str
    cells: Mapping[str, Mapping[str, tuple[float, float]]]

    def cell(self, metric: str, problem: str) -> tuple[float, float] | None:
        return self.cells.get(metric, {}).get(problem)


@dataclass(frozen=True)
class Rate:
    """The share of runs that a method solved at a level of noise; `part` names a family, or "all"."""

    label: str
    rate: float
    source: str
    noise: float = 0.0
    part: str = "all"
    budget: str = "not stated"


@cache
def published(suite: str) -> tuple[Column, ...]:
    """The columns of published results for a suite; empty for most suites."""
    return tuple(
        Column(column.pop("method"), column.pop("label"), {metric: _pairs(cells) for metric, cells in column.items()})
        for column in _data(suite).get("column", ())
    )


@cache
def published_fits(suite: str) -> tuple[int, Mapping[str, int]] | None:
    """How many unselected runs others made of each problem, and how many of them fitted; None if not known."""
    counts = dict(_data(suite).get("fitted", {}))
    return (counts.pop("runs"), counts) if counts else None


@cache
def published_rates(suite: str) -> tuple[Rate, ...] | None:
    """The rates reported for a public benchmark, with their time limits; None for other suites."""
    data = _data(suite)
    return tuple(Rate(**row) for row in data["rate"]) if "rate" in data else None


def _data(suite: str) -> dict[str, Any]:
    path = Path(__file__).with_name(f"{suite}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _pairs(cells: Mapping[str, list[float]]) -> dict[str, tuple[float, float]]:
    return {problem: (float(mean), float(sd[0]) if sd else math.nan) for problem, (mean, *sd) in cells.items()}
