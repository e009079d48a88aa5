"""The public benchmarks: solution rates by family and level of noise, beside those that others report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ceql.bench.definitions import Suite
from ceql.bench.problems import load_suite
from ceql.bench.published.rates import Rate, published_rates
from ceql.bench.records import Record
from ceql.bench.sheets import Cell, Sheet

ACCURATE = 0.999
_HEADER = ("method", "noise", "problems", "runs", "solutions", "exact", "R² > 0.999", "nodes", "seconds", "budget")
_NOTE = (
    "Solutions: the truth but for a factor or an added constant, constants to three digits, as SRBench counts them; "
    "exact: the truth itself; R² on test points; nodes and seconds are medians over the runs that gave a formula. "
    "Rows marked (reported) are others' figures with the budget that they name."
)


def public_sheets(suite: Suite, records: Sequence[Record]) -> list[Sheet]:
    """One table: our rows by method, noise and family, then the reported ones."""
    rows = [row for group in _groups(records) for row in _own_rows(group)]
    rows += [_reported(rate) for rate in published_rates(suite.name) or ()]
    note = _warning(suite, records) + _NOTE + _on_the_front(records)
    return [Sheet(f"{suite.title}: solution rates", _HEADER, rows, note)]


def _on_the_front(records: Sequence[Record]) -> str:
    """Said where laws are sought: others count one that stands anywhere on the front."""
    asked = [record for record in records if record.front_solution is not None]
    methods = dict.fromkeys(record.method for record in asked)
    counts = [[bool(r.front_solution) for r in asked if r.method == method] for method in methods]
    shares = [f"{method} {sum(flags)} of {len(flags)}" for method, flags in zip(methods, counts, strict=True)]
    return (
        f" Laws that stand anywhere on the front, as the reported rates count them: {', '.join(shares)}."
        if shares
        else ""
    )


def _warning(suite: Suite, records: Sequence[Record]) -> str:
    """Said of a selection, since reported rates are over whole benchmarks."""
    ran, there = len({record.plain_problem for record in records}), len(load_suite(suite.name).problems)
    if ran >= there:
        return ""
    return (
        f"**Only {ran} of the {there} problems of this suite ran:** rates over a selection cannot be set beside rates "
        "over other problems. "
    )


def _groups(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Runs of one method at one level of noise; problems with noise of their own stay together."""
    for method in dict.fromkeys(record.method for record in records):
        runs = [record for record in records if record.method == method]
        for level in sorted({_added(run) for run in runs}):
            yield [run for run in runs if _added(run) == level]


def _added(record: Record) -> float:
    return record.noise if record.plain_problem != record.problem else 0.0


def _own_rows(group: Sequence[Record]) -> Iterator[list[Cell]]:
    families = list(dict.fromkeys(record.family for record in group))
    yield _row(group, "all")
    if len(families) > 1:
        yield from (_row([r for r in group if r.family == family], family) for family in families)


def _row(group: Sequence[Record], part: str) -> list[Cell]:
    budget = group[0].settings.get("time_limit")
    texts = [
        group[0].method,
        "of the suite" if any(r.noise and not _added(r) for r in group) else f"{_added(group[0]):g}",
        part,
        str(len(group)),
        _share([record.symbolic_solution for record in group]),
        _share([record.exact for record in group]),
        _share([record.r2 is not None and record.r2 > ACCURATE for record in group]),
        _median([record.node_count for record in group], ".0f"),
        _median([record.seconds for record in group], ".1f"),
        f"{budget:g} s" if budget else "–",
    ]
    return [Cell(text) for text in texts]


def _reported(rate: Rate) -> list[Cell]:
    texts = [f"{rate.label} (reported)", f"{rate.noise:g}", rate.part, "", f"{100 * rate.rate:.1f} %"]
    return [Cell(text) for text in (*texts, "", "", "", "", f"{rate.budget}; {rate.source}")]


def _share(flags: Sequence[bool]) -> str:
    return f"{100 * float(np.mean(flags)):.1f} %"


def _median(values: Sequence[float | None], style: str) -> str:
    known = [value for value in values if value is not None]
    return f"{float(np.median(known)):{style}}" if known else "–"
