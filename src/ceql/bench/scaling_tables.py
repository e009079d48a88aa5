"""Scalability: success among columns that do not matter, and how time and memory grow with the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ceql.bench.records import Record
from ceql.bench.sheets import Cell, Sheet

SAMPLE_SIZE = "sample size"  # the family of problems that differ in their rows alone


def scaling_sheets(records: Sequence[Record]) -> list[Sheet]:
    by_rows = [r for r in records if r.family == SAMPLE_SIZE]
    others = [r for r in records if r.family != SAMPLE_SIZE]
    return ([_columns_sheet(others)] if others else []) + ([_rows_sheet(by_rows)] if by_rows else [])


def _columns_sheet(records: Sequence[Record]) -> Sheet:
    counts = sorted({r.columns for r in records if r.columns})
    keys = list(dict.fromkeys((r.family, r.method) for r in records))
    rows = [
        [Cell(family), Cell(method)]
        + [_success([r for r in records if (r.family, r.method, r.columns) == (family, method, n)]) for n in counts]
        for family, method in keys
    ]
    note = "Exact formulas of runs, and the median time in seconds."
    return Sheet("Success by number of columns", ["family", "method", *map(str, counts)], rows, note)


def _success(runs: Sequence[Record]) -> Cell:
    if not runs:
        return Cell("–")
    seconds = _median(runs, lambda r: r.seconds)
    return Cell(f"{sum(r.exact for r in runs)}/{len(runs)}, {seconds:.1f} s")


def _rows_sheet(records: Sequence[Record]) -> Sheet:
    methods = list(dict.fromkeys(r.method for r in records))
    rows = [row for method in methods for row in _growth(method, [r for r in records if r.method == method])]
    header = ["method", "rows", "runs", "exact", "median s", "peak MB", "grown MB"]
    note = (
        "Peak MB is the most memory that the process held; grown MB what came on top during the run. The last line of "
        "a method has the slopes in the doubly logarithmic plot: 1 is proportional to the rows, 0 does not depend on "
        "them."
    )
    return Sheet("Time and memory by number of rows", header, rows, note)


def _growth(method: str, records: Sequence[Record]) -> list[list[Cell]]:
    sizes = sorted({r.rows for r in records if r.rows})
    lines, seconds, grown = [], [], []
    for size in sizes:
        runs = [r for r in records if r.rows == size]
        seconds.append(_median(runs, lambda r: r.seconds))
        grown.append(_median(runs, lambda r: r.grown_mb))
        cells = [method, f"{size:,}", str(len(runs)), f"{np.mean([r.exact for r in runs]):.0%}"]
        numbers = [seconds[-1], _median(runs, lambda r: r.peak_mb), grown[-1]]
        lines.append([*map(Cell, cells), *(Cell("–" if math.isnan(n) else f"{n:.1f}") for n in numbers)])
    slopes = [_text(slope(sizes, seconds)), "", _text(slope(sizes, grown))]
    return [*lines, [Cell(method), Cell("slope"), Cell(""), Cell(""), *map(Cell, slopes)]]


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of log(value) over log(size), from the values that are positive; NaN from fewer than two."""
    pairs = [(math.log(s), math.log(v)) for s, v in zip(sizes, values, strict=True) if v > 0 and math.isfinite(v)]
    if len(pairs) < 2:
        return math.nan
    x, y = np.array(pairs).T
    return float(np.polyfit(x, y, 1)[0])


def _text(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


def _median(runs: Sequence[Record], read: Callable[[Record], float | None]) -> float:
    values = [v for r in runs if r.error is None and (v := read(r)) is not None]
    return float(np.median(values)) if values else math.nan
