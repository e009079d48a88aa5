"""Rates that others report for a public benchmark, with the budget they had."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Rate:
    """The share of runs that a method solved at a level of noise; `part` names a family, or "all"."""

    label: str
    rate: float
    noise: float
    part: str
    budget: str
    source: str


@cache
def published_rates(suite: str) -> tuple[Rate, ...] | None:
    """What has been reported for a public benchmark; None for a suite that is none."""
    path = _FOLDER / f"{suite}.toml"
    if not path.is_file():
        return None
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    if "rate" not in data:
        return None
    return tuple(
        Rate(
            row["label"],
            float(row["rate"]),
            float(row.get("noise", 0.0)),
            row.get("part", "all"),
            row.get("budget", "not stated"),
            row["source"],
        )
        for row in data["rate"]
    )
