"""Results that others have published, as data files, to stand beside our own."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Column:
    """One method's published results: metric, then problem, then mean and standard deviation (NaN for a single run)."""

    method: str
    label: str
    cells: Mapping[str, Mapping[str, tuple[float, float]]]

    def cell(self, metric: str, problem: str) -> tuple[float, float] | None:
        return self.cells.get(metric, {}).get(problem)


@cache
def published(suite: str) -> tuple[Column, ...]:
    """What has been published on a suite of ours; nothing for most."""
    path = _FOLDER / f"{suite}.toml"
    if not path.is_file():
        return ()
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(
        Column(
            column["method"],
            column["label"],
            {
                metric: {problem: _pair(values) for problem, values in cells.items()}
                for metric, cells in column.items()
                if metric not in ("method", "label")
            },
        )
        for column in data.get("column", ())
    )


def _pair(values: list[float]) -> tuple[float, float]:
    return float(values[0]), float(values[1]) if len(values) > 1 else math.nan
