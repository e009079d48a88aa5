"""Tables from records, as data frames and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from ceql.bench.records import Record

_METRICS = ("interp_mse", "extrap_mse", "node_count")
_MOMENTS = tuple(f"{metric}_{moment}" for metric in _METRICS for moment in ("mean", "sd"))
_RATES = ("runs", "errors", "exact", "equivalent", "median_seconds", "worst_seconds")


def frame(records: Iterable[Record]) -> pd.DataFrame:
    """The records as a data frame, one row each."""
    return pd.DataFrame([asdict(record) for record in records], columns=list(Record.__dataclass_fields__))


def by_problem(records: Iterable[Record]) -> pd.DataFrame:
    """Per problem and method: mean and sd of the test errors and of the size, rates, times.

    Means and times are over the runs that gave a formula; the rates are over all runs.
    """
    return _summary(records, ("problem", "method"), _statistics)


def by_family(records: Iterable[Record]) -> pd.DataFrame:
    """Per family and method: rates and times."""
    return _summary(records, ("family", "method"), _rates)


def by_method(records: Iterable[Record]) -> pd.DataFrame:
    """Per method, over everything: rates and times."""
    return _summary(records, ("method",), _rates)


def failures(records: Iterable[Record]) -> pd.DataFrame:
    """Every run that is not exact, with what it found or why it found nothing."""
    columns = ("problem", "method", "seed", *_METRICS)
    rows = [
        {name: getattr(record, name) for name in columns} | {"outcome": record.error or record.expression}
        for record in records
        if not record.exact
    ]
    return pd.DataFrame(rows, columns=[*columns, "outcome"])


def markdown(records: Sequence[Record], title: str = "") -> str:
    """The report: all methods, families, problems and failures."""
    parts = [f"# {title}"] if title else []
    parts += [method_table(records)]
    if len({record.family for record in records}) > 1:
        parts += ["## Families", _rendered(by_family(records))]
    parts += ["## Problems", problem_table(records)]
    missed = failures(records)
    parts += [f"## Not exact: {len(missed)} of {len(records)} runs"]
    parts += [_rendered(missed)] if len(missed) else []
    return "\n\n".join(parts) + "\n"


def method_table(records: Iterable[Record]) -> str:
    """Rates and times per method, as Markdown."""
    return _rendered(by_method(records))


def problem_table(records: Iterable[Record]) -> str:
    """Mean and sd per problem and method, as Markdown."""
    data = by_problem(records)
    shown = {name: data[name] for name in ("problem", "method", "runs", "errors")}
    for metric in _METRICS:
        pairs = zip(data[f"{metric}_mean"], data[f"{metric}_sd"], strict=True)
        shown[metric] = pd.Series([mean_and_sd(mean, sd, fixed=metric == "node_count") for mean, sd in pairs])
    shown |= {name: data[name] for name in _RATES[2:]}
    return _rendered(pd.DataFrame(shown))


def mean_and_sd(mean: float, sd: float = math.nan, fixed: bool = False) -> str:
    """A mean with its standard deviation, such as `1.2e-12 ± 3.4e-13`."""
    style = ".1f" if fixed else ".1e"
    if not math.isfinite(mean):
        return "–" if math.isnan(mean) else "inf"
    return f"{mean:{style}}" if math.isnan(sd) else f"{mean:{style}} ± {sd:{style}}"


def to_markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table of texts."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _summary(
    records: Iterable[Record], keys: tuple[str, ...], measure: Callable[[list[Record]], dict[str, Any]]
) -> pd.DataFrame:
    # The order of the records is the order of the suite: a dict keeps it.
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(getattr(record, key) for key in keys), []).append(record)
    rows = [dict(zip(keys, values, strict=True)) | measure(group) for values, group in groups.items()]
    return pd.DataFrame(rows, columns=list(rows[0]) if rows else [*keys, *_RATES, *_MOMENTS])


def _rates(group: Sequence[Record]) -> dict[str, Any]:
    done = [record for record in group if record.error is None]
    seconds = _values(done, "seconds")
    return {
        "runs": len(group),
        "errors": len(group) - len(done),
        "exact": float(np.mean([record.exact for record in group])),
        "equivalent": float(np.mean([record.equivalent for record in group])),
        "median_seconds": float(np.median(seconds)) if len(seconds) else math.nan,
        "worst_seconds": float(seconds.max()) if len(seconds) else math.nan,
    }


def _statistics(group: Sequence[Record]) -> dict[str, Any]:
    done = [record for record in group if record.error is None]
    statistics = _rates(group)
    for metric in _METRICS:
        values = _values(done, metric)
        # The spread of one value, or of values of which some are infinite, is not worth printing.
        spread = len(values) > 1 and bool(np.isfinite(values).all())
        statistics[f"{metric}_mean"] = float(values.mean()) if len(values) else math.nan
        with np.errstate(over="ignore"):  # an error of 1e200 is one that a method may well make
            statistics[f"{metric}_sd"] = float(values.std(ddof=1)) if spread else math.nan
    return statistics


def _values(records: Sequence[Record], name: str) -> np.ndarray:
    values = [getattr(record, name) for record in records]
    return np.array([value for value in values if value is not None], dtype=float)


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _number(value: Any, style: str) -> str:
    if isinstance(value, str):
        return value
    return "–" if value is None or math.isnan(value) else f"{value:{style}}"


_FORMATS: dict[str, Callable[[Any], str]] = {
    "exact": _percent,
    "equivalent": _percent,
    "median_seconds": lambda v: _number(v, ".2f"),
    "worst_seconds": lambda v: _number(v, ".2f"),
    "interp_mse": lambda v: _number(v, ".1e"),
    "extrap_mse": lambda v: _number(v, ".1e"),
    "node_count": lambda v: _number(v, ".0f"),
}


def _rendered(data: pd.DataFrame) -> str:
    header = [str(name) for name in data.columns]
    cells = [[_FORMATS.get(name, str)(value) for value in data[name]] for name in header]
    return to_markdown([name.replace("_", " ") for name in header], zip(*cells, strict=True))
