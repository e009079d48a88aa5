"""What records show: accuracy against size for every problem, and success against the number of variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ceql.bench.baselines.front import pareto
from ceql.bench.records import Record, grouped
from ceql.bench.suite_tables import SAMPLE_SIZE
from ceql.output.plots.canvas import new_figure
from ceql.output.plots.style import looks

_FLOOR, _CEILING = 1e-32, 1e6  # errors beyond these are drawn at the edge
_ACROSS = 5


def draw_fronts(records: Sequence[Record]) -> Any:
    """Where each method's formulas lie, and the front they form together; None where there are no records.

    The records of the paper's suite are drawn, or all of them where there are none of it.
    """
    usable = [r for r in records if r.error is None and r.interp_mse is not None and r.node_count]
    records = [r for r in usable if r.suite == "paper"] or usable
    if not records:
        return None
    problems = grouped(records, "problem")
    style = looks(r.method for r in records)
    across = min(_ACROSS, len(problems))
    down = math.ceil(len(problems) / across)
    figure = new_figure(2.5 * across + 0.8, 2.5 * down + 0.9)
    axes = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for place, (problem, runs) in zip(axes, problems.items(), strict=False):
        front = pareto([(r.node_count or 0, _clipped(r)) for r in runs])
        sizes, errors = zip(*front, strict=True)
        place.step(sizes, errors, where="post", color="0.7", lw=1.5, zorder=0)
        # The first method is drawn last, on top of those that found the same formula.
        for method, look in reversed(style.items()):
            own = [r for r in runs if r.method == method]
            points = [r.node_count for r in own], [_clipped(r) for r in own]
            place.plot(*points, look.marker, color=look.colour, ms=7, mew=1.2, mec=_edge(look), alpha=0.85, ls="none")
        place.set(title=problem, xscale="log", yscale="log", ylim=(_FLOOR / 10, _CEILING * 10))
        place.grid(alpha=0.25)
    for place in axes[len(problems) :]:
        place.set_visible(False)
    figure.supxlabel("nodes of the formula")
    figure.supylabel("mean squared error inside the training range")
    handles = [
        axes[0].plot([], [], look.marker, color=look.colour, mec=_edge(look), ms=7, ls="none")[0]
        for look in style.values()
    ]
    _legend(figure, handles, list(style))
    return figure


def _clipped(record: Record) -> float:
    return min(max(record.interp_mse or 0.0, _FLOOR), _CEILING)


def _edge(look: Any) -> str:
    # A plus has no inside: its edge is all there is of it.
    return look.colour if look.marker == "+" else "black"


def _legend(figure: Any, handles: Sequence[Any], labels: Sequence[str]) -> None:
    figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 6), frameon=False)


def draw_success(records: Sequence[Record]) -> Any:
    """Families whose problems differ in their number of columns, with the uncertainty that the number of runs leaves.

    None where there are no such records.
    """
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
    _legend(figure, *axes[0].get_legend_handles_labels())
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
