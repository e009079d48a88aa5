"""Figures from records: accuracy against size for every problem, and success against the number of columns."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ceql.bench.baselines.front import pareto
from ceql.bench.intervals import CONFIDENCE, wilson
from ceql.bench.records import Record, grouped
from ceql.bench.suite_tables import SAMPLE_SIZE
from ceql.output.plots.canvas import moved_by, new_figure
from ceql.output.plots.style import looks

_FLOOR, _CEILING = 1e-32, 1e6  # errors beyond these are drawn at the edge
_ACROSS = 5
_PANEL = (150.0, 130.0)  # approximate size of a panel in points
_APART = 11.0  # points between the centres of two markers
_PUSHES = 60

Point = tuple[float, float]


def draw_fronts(records: Sequence[Record]) -> Any:
    """Draws the median run of each method and the front they form together; None if there are no records.

    Only records of the paper's suite are drawn, or all of them if there are none. Markers that would overlap are moved
    apart, with a line from each to its true place.
    """
    usable = [r for r in records if r.error is None and r.interp_mse is not None and r.node_count]
    records = [r for r in usable if r.suite == "paper"] or usable
    if not records:
        return None
    problems = dict(sorted(grouped(records, "problem").items(), key=lambda item: _in_order(item[0])))
    style = looks(r.method for r in records)
    across = min(_ACROSS, len(problems))
    down = math.ceil(len(problems) / across)
    figure = new_figure(2.5 * across + 0.8, 2.5 * down + 0.9)
    axes = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    places = {problem: _medians(runs) for problem, runs in problems.items()}
    sizes = [size for own in places.values() for size, _ in own.values()]
    limits = ((0.6 * min(sizes), 1.8 * max(sizes)), (_FLOOR / 1e5, _CEILING * 10))
    for place, (problem, own) in zip(axes, places.items(), strict=False):
        _draw_panel(place, own, limits, style)
        place.set(title=problem, xscale="log", yscale="log", xlim=limits[0], ylim=limits[1])
        place.grid(alpha=0.25)
    for place in axes[len(problems) :]:
        place.set_visible(False)
    figure.supxlabel("nodes of the formula (median over the seeds)")
    figure.supylabel("median mean squared error inside the training range")
    _legend(figure, [_handle(axes[0], look) for look in style.values()], list(style))
    return figure


def _in_order(name: str) -> list[tuple[bool, int, str]]:
    """A sort key for names that compares numbers in them by value: E-2 comes before E-10."""
    parts = re.split(r"(\d+)", name)
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def _medians(runs: Sequence[Record]) -> dict[str, Point]:
    """The median size and the median error of each method, over runs that gave a formula."""
    return {
        method: (
            float(np.median([r.node_count or 0 for r in own])),
            float(np.exp(np.median([math.log(_clipped(r)) for r in own]))),
        )
        for method, own in grouped(runs, "method").items()
    }


def _draw_panel(place: Any, points: Mapping[str, Point], limits: Any, style: Mapping[str, Any]) -> None:
    sizes, errors = zip(*pareto(list(points.values())), strict=True)
    place.step(sizes, errors, where="post", color="0.7", lw=1.5, zorder=0)
    methods = [m for m in style if m in points]
    moved = apart(np.array([_in_points(points[m], limits) for m in methods]))
    for method, (right, up) in zip(methods, moved, strict=True):
        x, y = points[method]
        arrow = {"arrowstyle": "-", "color": "0.4", "lw": 0.8, "shrinkA": 0, "shrinkB": 0}
        if math.hypot(right, up) > 1.0:
            place.annotate("", (x, y), (right, up), textcoords="offset points", arrowprops=arrow, zorder=2)
            place.plot(x, y, ".", color="0.25", ms=3, zorder=2)
        look = style[method]
        marker = {"color": look.colour, "mec": _edge(look), "ms": 8, "mew": 1.0, "clip_on": False, "zorder": 3}
        place.plot(x, y, look.marker, transform=moved_by(place, right, up), **marker)


def _in_points(point: Point, limits: Any) -> Point:
    """The place of a point on two logarithmic axes, in points from the corner."""
    shares = [math.log(v / low) / math.log(high / low) for v, (low, high) in zip(point, limits, strict=True)]
    return shares[0] * _PANEL[0], shares[1] * _PANEL[1]


def apart(places: np.ndarray) -> np.ndarray:
    """How far to move each marker so that no two overlap; the result is deterministic."""
    angles = np.linspace(0.0, 2.0 * np.pi, len(places), endpoint=False)
    now = places + 1e-3 * np.column_stack([np.cos(angles), np.sin(angles)])  # separates markers at the same place
    for _ in range(_PUSHES):
        between = now[:, None] - now[None]
        distance = np.hypot(*np.moveaxis(between, -1, 0)) + np.eye(len(now)) * 1e9
        lack = np.clip(_APART - distance, 0.0, None)
        now = now + 0.5 * (between / distance[..., None] * lack[..., None]).sum(axis=1)
        if not lack.any():
            break
    return now - places


def _handle(place: Any, look: Any) -> Any:
    return place.plot([], [], look.marker, color=look.colour, mec=_edge(look), ms=8, ls="none")[0]


def _clipped(record: Record) -> float:
    return min(max(record.interp_mse or 0.0, _FLOOR), _CEILING)


def _edge(look: Any) -> str:
    # A plus consists of its edge only.
    return look.colour if look.marker == "+" else "black"


def _legend(figure: Any, handles: Sequence[Any], labels: Sequence[str]) -> None:
    figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 6), frameon=False)


def draw_success(records: Sequence[Record]) -> Any:
    """Draws success against the number of columns for problems with irrelevant columns, with confidence intervals.

    None if there are no such records.
    """
    counted = grouped((r for r in records if r.columns and r.family != SAMPLE_SIZE), "family")
    families = {family: own for family, own in counted.items() if _is_one_formula(own)}
    if not families:
        return None
    style = looks(r.method for own in families.values() for r in own)
    figure = new_figure(3.4 * len(families) + 0.6, 3.9)
    axes = figure.subplots(1, len(families), sharey=True, squeeze=False).ravel()
    for place, (family, runs) in zip(axes, families.items(), strict=True):
        counts = sorted({r.columns or 0 for r in runs})
        for k, (method, look) in enumerate(style.items()):
            own = [r for r in runs if r.method == method]
            _points(place, own, counts, method, look, shift=0.7 * ((k + 0.5) / len(style) - 0.5))
        place.set(title=family, xlabel="number of columns", ylim=(-0.04, 1.04), xlim=(-0.6, len(counts) - 0.4))
        place.set_xticks(range(len(counts)), [str(n) for n in counts])
        place.grid(alpha=0.25, axis="y")
    axes[0].set_ylabel(f"share of exact formulas,\nWilson's {CONFIDENCE:.0%} interval")
    _legend(figure, *axes[0].get_legend_handles_labels())
    return figure


def _is_one_formula(records: Sequence[Record]) -> bool:
    """Whether the problems are one formula with different numbers of columns, so that they share an axis."""
    return len({r.problem.partition("[")[0] for r in records}) == 1 and len({r.columns for r in records}) > 1


def _points(place: Any, records: Sequence[Record], counts: Sequence[int], method: str, look: Any, shift: float) -> None:
    """Draws a point for each number of columns, beside those of other methods, without connecting lines."""
    runs = sorted(grouped(records, "columns").items())
    rates = [sum(r.exact for r in own) / len(own) for _, own in runs]
    ends = [wilson(sum(r.exact for r in own), len(own)) for _, own in runs]
    low, high = ([abs(end[k] - rate) for end, rate in zip(ends, rates, strict=True)] for k in (0, 1))
    place.errorbar(
        [counts.index(count) + shift for count, _ in runs], rates, (low, high), label=method,
        color=look.colour, marker=look.marker, ms=8, mec="black", mew=0.6, ls="none", elinewidth=1.5, capsize=4,
    )  # fmt: skip
