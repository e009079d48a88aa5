"""The table of a suite whose methods leave out a part of the search: rates and seconds by method and family."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ceql.bench.ablation_tables import label_of
from ceql.bench.definitions import Suite
from ceql.bench.intervals import CONFIDENCE, counted
from ceql.bench.record_tables import median, shown
from ceql.bench.records import Record, grouped
from ceql.bench.sheets import Cell, Sheet

_HEADER = ("family", "method", "what it is", "exact", "solutions", "lost", "won", "nodes", "median s", "mean s")
_NOTE = (
    "Exact: the truth itself, and in brackets Wilson's {confidence:.0%} interval; solutions: the truth but for a "
    "factor or an added constant, constants to three digits. Lost: runs that are exact with {first} and not with this "
    "method; won: the other way round. Seconds are wall clock, over all runs of the method that gave a formula."
)


def parts_sheet(suite: Suite, records: Sequence[Record]) -> Sheet:
    """A table with a row for every family and method, compared with the suite's first method that ran."""
    ran = grouped(records, "method")
    first = next((method for method in suite.methods if method in ran), next(iter(ran), ""))
    rows = [
        _row(suite, family, method, own, of_family.get(first, []))
        for family, in_family in grouped(records, "family").items()
        for of_family in [grouped(in_family, "method")]
        for method, own in of_family.items()
    ]
    return Sheet(
        f"{suite.title}: rate and seconds by method", _HEADER, rows, _NOTE.format(confidence=CONFIDENCE, first=first)
    )


def _row(suite: Suite, family: str, method: str, own: Sequence[Record], whole: Sequence[Record]) -> list[Cell]:
    exact, theirs = _verdicts(own), _verdicts(whole)
    both = exact.keys() & theirs.keys()
    lost, won = (sum(one[run] and not other[run] for run in both) for one, other in ((theirs, exact), (exact, theirs)))
    seconds = [record.seconds for record in own if record.seconds is not None]
    cells = (
        family,
        method,
        label_of(suite, method),
        counted(sum(exact.values()), len(own)),
        sum(record.symbolic_solution for record in own),
        lost,
        won,
        shown(median(own, "node_count"), ".0f"),
        shown(median(own, "seconds"), ".1f"),
        f"{np.mean(seconds):.1f}" if seconds else "–",
    )
    return [Cell(str(cell)) for cell in cells]


def _verdicts(runs: Sequence[Record]) -> dict[tuple[str, int], bool]:
    return {(record.problem, record.seed): record.exact for record in runs}
