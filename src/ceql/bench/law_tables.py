"""Tables for measured data with a known law: how often it is chosen and offered, and what was chosen instead."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from ceql.bench.record_tables import median, shown
from ceql.bench.records import Record, grouped
from ceql.bench.sheets import Cell, Sheet, escaped

_RATES = ("method", "tables", "runs", "chosen", "offered", "R²", "nodes", "median s", "worst s", "budget", "errors")
_RATES_NOTE = (
    "Chosen: the law's constants can be set so that it has the values of the chosen formula, on the rows and on a grid "
    "around them, within 1e-6 of their spread. Offered: such a formula, with a loss no more than 5 % above the law's "
    "own best fit, is among those that the method gives. R² on the rows, nodes and seconds are medians over the runs "
    "that gave a formula; a run without one counts as neither chosen nor offered."
)
_TABLES_NOTE = "Runs in which the law was chosen, and offered, of all runs."
_MISSED_NOTE = (
    "Of the runs that did not choose the law, the formula with the largest R². Name: what the catalogue of named laws "
    "calls that formula. Offered: how many of these runs offered the law. Long formulas are cut off here; the records "
    "have them whole."
)
_LONGEST = 120  # characters of a formula in a table
_MISSED = ("table", "method", "runs", "law", "formula instead", "name", "R²", "offered", "outcome")


def is_of_laws(records: Iterable[Record]) -> bool:
    """Whether these are runs on measured tables with a known law."""
    return any(record.law is not None for record in records)


def law_sheets(records: Sequence[Record]) -> list[Sheet]:
    """Tables of rates by method, verdicts by table, and formulas that were chosen instead of the law."""
    missed = [record for record in records if not record.chosen]
    groups = grouped(missed, "problem", "method").values()
    title = f"Law not chosen: {len(missed)} of {len(records)} runs"
    return [
        Sheet("Laws chosen and offered", _RATES, list(_rates(records)), _RATES_NOTE),
        _by_table(records),
        *([Sheet(title, _MISSED, [_instead(runs) for runs in groups], _MISSED_NOTE)] if missed else []),
    ]


def _rates(records: Sequence[Record]) -> Iterator[list[Cell]]:
    for method, runs in grouped(records, "method").items():
        budget = runs[0].settings.get("time_limit")
        yield _cells(
            method,
            len({run.problem for run in runs}),
            len(runs),
            _share(runs, "chosen"),
            _share(runs, "offered"),
            shown(median(runs, "r2"), ".4f"),
            shown(median(runs, "node_count"), ".0f"),
            shown(median(runs, "seconds"), ".1f"),
            shown(max((run.seconds for run in runs if run.seconds is not None), default=math.nan), ".1f"),
            f"{budget:g} s" if budget else "–",
            sum(run.error is not None for run in runs),
        )


def _by_table(records: Sequence[Record]) -> Sheet:
    """A table with a row for each measured table and a column for each method."""
    methods = list(grouped(records, "method"))
    rows = []
    for table, runs in grouped(records, "problem").items():
        own = grouped(runs, "method")
        rows.append([Cell(table), _formula(runs[0].law), *(_verdicts(own.get(method, [])) for method in methods)])
    return Sheet("Tables", ["table", "law", *methods], rows, _TABLES_NOTE)


def _verdicts(runs: Sequence[Record]) -> Cell:
    chosen, offered = (sum(bool(getattr(run, field)) for run in runs) for field in ("chosen", "offered"))
    return Cell(f"{chosen}, {offered} of {len(runs)}" if runs else "–")


def _instead(runs: Sequence[Record]) -> list[Cell]:
    """The row of a method on a table, from the runs that did not choose the law."""
    best = max(runs, key=lambda run: -math.inf if run.r2 is None or math.isnan(run.r2) else run.r2)
    return [
        *_cells(best.problem, best.method, len(runs)),
        _formula(best.law),
        _formula(best.expression),
        *_cells(best.name or "–", shown(best.r2, ".4f"), sum(bool(run.offered) for run in runs)),
        Cell(best.error or best.outcome or "–"),
    ]


def _formula(text: str | None) -> Cell:
    if text is None:
        return Cell("–")
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
    return Cell(f"`{shown}`", rf"\texttt{{{escaped(shown)}}}")


def _share(runs: Sequence[Record], field: str) -> str:
    count = sum(bool(getattr(run, field)) for run in runs)
    return f"{count} ({100 * count / len(runs):.0f} %)"


def _cells(*values: object) -> list[Cell]:
    return [Cell(str(value)) for value in values]
