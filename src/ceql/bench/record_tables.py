"""The tables of every suite from its records, as data frames and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd

from ceql.bench.records import Record, by_families
from ceql.bench.sheets import Cell, Sheet, as_markdown, number

METRICS = ("interp_mse", "extrap_mse", "node_count")
_RATES = {
    "runs": ("seed", "size"),
    "errors": ("error", "count"),
    "exact": ("exact", "mean"),
    "equivalent": ("equivalent", "mean"),
    "median_seconds": ("seconds", "median"),
    "worst_seconds": ("seconds", "max"),
}
_MOMENTS = {f"{m}_{name}": (m, moment) for m in METRICS for name, moment in (("mean", "mean"), ("sd", "std"))}
_STYLES = {"exact": "%", "equivalent": "%", "median_seconds": ".2f", "worst_seconds": ".2f"}
_STYLES |= {"interp_mse": ".1e", "extrap_mse": ".1e", "node_count": ".0f"}


def frame(records: Iterable[Record]) -> pd.DataFrame:
    """The records as a data frame, one row each."""
    return pd.DataFrame([asdict(record) for record in records], columns=list(Record.__dataclass_fields__))


def by_problem(records: Iterable[Record]) -> pd.DataFrame:
    """Mean and standard deviation of test errors and sizes, rates and times, by problem and method.

    Means and times are over runs that gave a formula; rates are over all runs.
    """
    return _summary(records, ["problem", "method"], _RATES | _MOMENTS)


def by_family(records: Iterable[Record]) -> pd.DataFrame:
    """Rates and times by family and method."""
    each = [replace(record, family=name) for name, own in by_families(records).items() for record in own]
    return _summary(each, ["family", "method"], _RATES)


def by_method(records: Iterable[Record]) -> pd.DataFrame:
    """Rates and times by method, over all problems."""
    return _summary(records, ["method"], _RATES)


def failures(records: Iterable[Record]) -> pd.DataFrame:
    """All runs that are not exact, with the formula they found or the error."""
    data = frame(record for record in records if not record.exact)
    data["outcome"] = data["error"].where(data["error"].notna(), data["expression"])
    return data.filter(["problem", "method", "seed", *METRICS, "outcome"])


def markdown(records: Sequence[Record]) -> str:
    """The report as Markdown: tables of methods, families, problems and failures."""
    parts = [method_table(records)]
    if len({record.family for record in records}) > 1:
        parts += ["## Families", _rendered(by_family(records))]
    parts += ["## Problems", problem_table(records)]
    missed = failures(records)
    parts += [f"## Not exact: {len(missed)} of {len(records)} runs"]
    parts += [_rendered(missed)] if len(missed) else []
    return "\n\n".join(parts) + "\n"


def method_table(records: Iterable[Record]) -> str:
    """Rates and times by method, as Markdown."""
    return _rendered(by_method(records))


def problem_table(records: Iterable[Record]) -> str:
    """Means and standard deviations by problem and method, as Markdown."""
    data = by_problem(records)
    for metric in METRICS:
        pairs = zip(data[f"{metric}_mean"], data[f"{metric}_sd"], strict=True)
        data[metric] = [number(mean, sd, fixed=metric == "node_count").text for mean, sd in pairs]
    return _rendered(data.filter(["problem", "method", "runs", "errors", *METRICS, *list(_RATES)[2:]]))


def median(records: Iterable[Record], field: str) -> float:
    """The median of a field over runs that gave a formula; NaN if there are none."""
    values = [v for r in records if r.error is None and (v := getattr(r, field)) is not None]
    return float(np.median(values)) if values else math.nan


def shown(value: float | None, style: str) -> str:
    """A number in this style, or a dash if it is missing."""
    if style == "%":
        return f"{100 * value:.0f} %" if value is not None else "–"
    return "–" if value is None or math.isnan(value) else f"{value:{style}}"


def _summary(records: Iterable[Record], keys: list[str], columns: dict[str, Any]) -> pd.DataFrame:
    """The aggregated records, in the order of the records, which is that of the suite."""
    data = frame(records)
    measured = [*METRICS, "seconds"]
    data[measured] = data[measured].astype(float).where(data["error"].isna())
    data[["exact", "equivalent"]] = data[["exact", "equivalent"]].astype(float)
    return data.groupby(keys, sort=False).agg(**columns).reset_index()


def _rendered(data: pd.DataFrame) -> str:
    cells = [[_cell(value, _STYLES.get(str(name), "")) for value in data[name]] for name in data]
    header = [str(name).replace("_", " ") for name in data]
    return as_markdown(Sheet("", header, list(zip(*cells, strict=True))))


def _cell(value: Any, style: str) -> Cell:
    return Cell(shown(value, style) if style and not isinstance(value, str) else str(value))
