"""The rate of success against the number of variables, with the uncertainty that the number of runs leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ceql.bench.records import Record, grouped
from ceql.bench.suite_tables import SAMPLE_SIZE
from ceql.output.plots.canvas import new_figure
from ceql.output.plots.style import looks


def draw(records: Sequence[Record]) -> Any:
    """The figure of families whose problems differ in their number of columns; None where there are none."""
    counted = grouped((r for r in records if r.columns and r.family != SAMPLE_SIZE), "family")
    families = {family: own for family, own in counted.items() if len({r.columns for r in own}) > 1}
    if not families:
        return None
    style = looks(r.method for r in records if r.family in families)
    figure = new_figure(3.4 * len(families) + 0.6, 3.9)
    axes = figure.subplots(1, len(families), sharey=True, squeeze=False).ravel()
    for place, (family, runs) in zip(axes, families.items(), strict=True):
        counts = sorted({r.columns or 0 for r in runs})
        for k, (method, look) in enumerate(style.items()):
            own = [r for r in runs if r.method == method]
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
    runs = sorted(grouped(records, "columns").items())
    rates = [sum(r.exact for r in own) / len(own) for _, own in runs]
    ends = [wilson(sum(r.exact for r in own), len(own)) for _, own in runs]
    low, high = ([abs(end[k] - rate) for end, rate in zip(ends, rates, strict=True)] for k in (0, 1))
    place.errorbar(
        [count * shift for count, _ in runs], rates, (low, high), label=method,
        color=look.colour, marker=look.marker, ms=7, mec="black", mew=0.6, lw=1.5, capsize=3,
    )  # fmt: skip


def wilson(hits: int, runs: int) -> tuple[float, float]:
    """Wilson's interval for a rate, one standard deviation wide on each side."""
    from scipy.stats import binomtest, norm

    one_sigma = float(norm.cdf(1.0) - norm.cdf(-1.0))
    interval = binomtest(hits, runs).proportion_ci(one_sigma, method="wilson")
    return float(interval.low), float(interval.high)
