"""The rate of success against the number of variables, with the uncertainty that the number of runs leaves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ceql.bench.records import Record
from ceql.bench.suite_tables import SAMPLE_SIZE
from ceql.output.plots.canvas import new_figure
from ceql.output.plots.style import looks


def usable(records: Sequence[Record]) -> list[Record]:
    """The records of families whose problems differ in their number of columns."""
    counted = [r for r in records if r.columns and r.family != SAMPLE_SIZE]
    widths: dict[str, set[int]] = {}
    for record in counted:
        widths.setdefault(record.family, set()).add(record.columns or 0)
    return [r for r in counted if len(widths[r.family]) > 1]


def draw(records: Sequence[Record]) -> Any:
    records = usable(records)
    families = list(dict.fromkeys(r.family for r in records))
    style = looks(r.method for r in records)
    figure = new_figure(3.4 * len(families) + 0.6, 3.9)
    axes = figure.subplots(1, len(families), sharey=True, squeeze=False).ravel()
    for place, family in zip(axes, families, strict=True):
        counts = sorted({r.columns or 0 for r in records if r.family == family})
        for k, (method, look) in enumerate(style.items()):
            own = [r for r in records if (r.family, r.method) == (family, method)]
            _line(place, own, method, look, shift=1.0 + 0.02 * (k - len(style) / 2))
        place.set(title=family, xlabel="number of variables", xscale="log", ylim=(-0.04, 1.04))
        place.set_xticks(counts, [str(n) for n in counts])
        place.minorticks_off()
        place.grid(alpha=0.25)
    axes[0].set_ylabel("share of exact formulas")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 6), frameon=False)
    return figure


def _line(place: Any, records: Sequence[Record], method: str, look: Any, shift: float) -> None:
    """Points of several methods are moved apart a little, as they often lie on each other."""
    counts = sorted({r.columns or 0 for r in records})
    rates, low, high = [], [], []
    for count in counts:
        runs = [r.exact for r in records if r.columns == count]
        rate = sum(runs) / len(runs)
        lower, upper = wilson(sum(runs), len(runs))
        rates.append(rate)
        low.append(rate - lower)
        high.append(upper - rate)
    place.errorbar(
        [n * shift for n in counts], rates, (low, high), label=method,
        color=look.colour, marker=look.marker, ms=7, mec="black", mew=0.6, lw=1.5, capsize=3,
    )  # fmt: skip


def wilson(hits: int, runs: int, z: float = 1.0) -> tuple[float, float]:
    """Wilson's interval for a rate, one standard deviation wide on each side by default."""
    rate, share = hits / runs, z * z / runs
    middle = (rate + share / 2) / (1 + share)
    half = z / (1 + share) * math.sqrt(rate * (1 - rate) / runs + share / (4 * runs))
    return max(0.0, min(middle - half, rate)), min(1.0, max(middle + half, rate))
