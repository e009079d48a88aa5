"""Accuracy against size for every problem: where each method's formulas lie, and the front they form together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ceql.bench.records import Record
from ceql.output.plots.canvas import new_figure
from ceql.output.plots.style import looks

_FLOOR, _CEILING = 1e-32, 1e6  # errors beyond these are drawn at the edge
_ACROSS = 5


def usable(records: Sequence[Record]) -> list[Record]:
    return [r for r in records if r.error is None and r.interp_mse is not None and r.node_count]


def draw(records: Sequence[Record]) -> Any:
    records = usable(records)
    problems = list(dict.fromkeys(r.problem for r in records))
    style = looks(r.method for r in records)
    across = min(_ACROSS, len(problems))
    down = math.ceil(len(problems) / across)
    figure = new_figure(2.5 * across + 0.8, 2.5 * down + 0.9)
    axes = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for place, problem in zip(axes, problems, strict=False):
        runs = [r for r in records if r.problem == problem]
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


def pareto(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points than which no smaller one is as accurate."""
    front: list[tuple[float, float]] = []
    for size, error in sorted(points):
        if not front or error < front[-1][1]:
            front.append((size, error))
    return front


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
