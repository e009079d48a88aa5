"""Accuracy against size for every problem: where each method's formulas lie, and the front they form together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ceql.bench.baselines.front import pareto
from ceql.bench.records import Record, grouped
from ceql.output.plots.canvas import new_figure
from ceql.output.plots.style import looks

_FLOOR, _CEILING = 1e-32, 1e6  # errors beyond these are drawn at the edge
_ACROSS = 5


def draw(records: Sequence[Record]) -> Any:
    """The figure of the paper's suite, or of all records where it has none; None where there are none at all."""
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
    _legend(figure, style)
    return figure


def _clipped(record: Record) -> float:
    return min(max(record.interp_mse or 0.0, _FLOOR), _CEILING)


def _edge(look: Any) -> str:
    # A plus has no inside: its edge is all there is of it.
    return look.colour if look.marker == "+" else "black"


def _legend(figure: Any, style: dict[str, Any]) -> None:
    place = figure.axes[0]
    handles = [
        place.plot([], [], look.marker, color=look.colour, mec=_edge(look), ms=7, ls="none")[0]
        for look in style.values()
    ]
    figure.legend(handles, list(style), loc="outside upper center", ncols=min(len(style), 6), frameon=False)
