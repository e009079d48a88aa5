"""The pictures of a finding: measured beside simulated, and the states among each other with all that is known there.

Colours are told apart by colour-blind readers and backed by markers and dashes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ceql.dynamics.analysis import Behaviour, FixedPoint, held_in_words, nullcline, plane, rests_along
from ceql.dynamics.courses import Course, measured_places, r_squared
from ceql.dynamics.finding import DynamicsFinding
from ceql.errors import InputError, unknown_name
from ceql.output.curves import in_pieces, shown_range
from ceql.output.plots.canvas import axes_or_new, new_figure, plain
from ceql.output.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY

_MOST_COLUMNS = 4  # of panels; of more trajectories some are drawn, spread evenly
_MOST_PAIRS = 6
_ARROWS = 21  # along each side of a phase portrait
_POINT = {"color": BLACK, "ms": 3.2, "mew": 0.0, "alpha": 0.6, "ls": "none", "marker": "o", "zorder": 4}
_COURSE = {"color": ORANGE, "lw": 1.8}
_NULLCLINES = ((BLUE, "--"), (PINK, "-."))
# By what a fixed point is: a full mark attracts, a hollow one repels, and the others have shapes of their own.
_MARKS = {
    "stable": {"marker": "o", "mfc": GREEN, "mec": "black"},
    "unstable": {"marker": "o", "mfc": "white", "mec": RED, "mew": 2.0},
    "saddle": {"marker": "D", "mfc": "white", "mec": RED, "mew": 1.8},
    "centre": {"marker": "s", "mfc": SKY, "mec": "black"},
}
_OTHER = {"marker": "P", "mfc": GREY, "mec": "black"}


def all_figures(finding: DynamicsFinding, along: Sequence[Course], found: Behaviour) -> Iterator[tuple[str, Any]]:
    """Names and figures; `along` are courses with times between the samples."""
    yield "trajectories", trajectories(finding, along)
    yield "phase", phase_figure(finding, along, found)


def trajectories(finding: DynamicsFinding, along: Sequence[Course]) -> Any:
    """Every state over the time, a column of panels for each trajectory."""
    shown = [along[k] for k in _spread(len(along), _MOST_COLUMNS)]
    names, places = finding.system.states, measured_places(finding)
    width = min(max(3.4 * len(shown), 6.4), 14.0)
    figure = new_figure(width, 1.9 * len(names) + 1.0)
    axes = figure.subplots(len(names), len(shown), squeeze=False, sharex="col", sharey="row")
    for column, one in enumerate(shown):
        at_samples = one.states[np.searchsorted(one.time, one.measured.time)]
        for row, name in enumerate(names):
            place, title = axes[row, column], plain(one.measured.label)
            limits = shown_range(np.concatenate([one.states[:, row], *_measured(one, row, places)]))
            place.plot(one.time, in_pieces(one.states[:, row], limits), label="system", zorder=3, **_COURSE)
            for values in _measured(one, row, places):
                place.plot(one.measured.time, values, label="measured", **_POINT)
                r2 = r_squared(values, at_samples[:, row])
                title = f"{title}: R² {r2:.4f}" if title else f"R² {r2:.4f}"
            if row == 0 or row in places:
                place.set_title(title, fontsize=10)
            if column == 0:
                place.set_ylabel(plain(name))
            if row == len(names) - 1:
                place.set_xlabel(plain(finding.series.time))
    _legend(figure, axes.ravel())
    return figure


def _measured(one: Course, row: int, places: list[int]) -> list[np.ndarray]:
    return [one.measured.states[:, places.index(row)]] if row in places else []


def phase_figure(finding: DynamicsFinding, along: Sequence[Course], found: Behaviour) -> Any:
    """One state: its slope. Two: the phase portrait. More: every pair of them."""
    count = len(finding.system.states)
    if count <= 2:
        figure = new_figure(6.6, 4.4 if count == 1 else 5.8)
        phase(finding, along, found, figure.subplots())
        return figure
    pairs = list(combinations(range(count), 2))[:_MOST_PAIRS]
    columns = min(len(pairs), 3)
    rows = math.ceil(len(pairs) / columns)
    figure = new_figure(4.2 * columns, 3.9 * rows + 0.5)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for place in axes[len(pairs) :]:
        place.set_visible(False)
    for place, (across, up) in zip(axes, pairs, strict=False):
        _projection(finding, along, found, across, up, place)
    _legend(figure, axes)
    return figure


def phase(
    finding: DynamicsFinding,
    along: Sequence[Course],
    found: Behaviour,
    ax: Any = None,
    states: Sequence[str] | None = None,
) -> Any:
    """One picture: the slope of a single state, the portrait of two, or the projection on two of more."""
    names = finding.system.states
    if len(names) == 1:
        return _slope(finding, along, found, axes_or_new(ax, 6.6, 4.4))
    across, up = _two_of(names, states)
    ax = axes_or_new(ax, 6.6, 5.8)
    if len(names) > 2:
        _projection(finding, along, found, across, up, ax)
    else:
        _portrait(finding, along, found, across, up, ax)
    _beside(ax)
    return ax


def _two_of(names: Sequence[str], states: Sequence[str] | None) -> tuple[int, int]:
    if states is None:
        return 0, 1
    chosen = [states] if isinstance(states, str) else list(states)
    for name in chosen:
        if name not in names:
            raise unknown_name("state", name, names)
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        raise InputError(f"A phase portrait has two states, such as {names[0]!r} and {names[1]!r}, not {chosen!r}.")
    return names.index(chosen[0]), names.index(chosen[1])


def _portrait(
    finding: DynamicsFinding, along: Sequence[Course], found: Behaviour, across: int, up: int, ax: Any
) -> None:
    system, around = found.system, found.around
    field = plane(system, around, across, up, _ARROWS)
    x, y = np.meshgrid(field.x, field.y)
    # Arrows show directions as the eye sees them: in units of the sides of the picture.
    right, above = field.slopes[0] / around.span[across], field.slopes[1] / around.span[up]
    with np.errstate(all="ignore"):
        length = np.hypot(right, above)
        right, above = right / length, above / length
    ax.quiver(x, y, right, above, angles="uv", color="0.72", width=0.0028, scale=1.25 * _ARROWS, pivot="mid", zorder=1)
    grid = plane(system, around, across, up)
    for which, (colour, dashes) in enumerate(_NULLCLINES):
        curve = nullcline(grid, which)
        name = plain(system.states[(across, up)[which]])
        ax.plot(curve.x, curve.y, color=colour, ls=dashes, lw=1.5, label=f"d{name} = 0", zorder=2)
    _paths(finding, along, across, up, ax)
    _mark_points(found.fixed_points, across, up, ax)
    ax.set(xlim=(around.lower[across], around.upper[across]), ylim=(around.lower[up], around.upper[up]))
    held = held_in_words(system, around)
    ax.set(xlabel=plain(system.states[across]), ylabel=plain(system.states[up]))
    if held:
        ax.set_xlabel(f"{plain(system.states[across])}\n({plain(held, 80)})")


def _projection(
    finding: DynamicsFinding, along: Sequence[Course], found: Behaviour, across: int, up: int, ax: Any
) -> None:
    """Trajectories and fixed points alone: the slopes depend on the states that are not drawn."""
    around = found.around
    _paths(finding, along, across, up, ax)
    near = [point for point in found.fixed_points if point.inside] or found.fixed_points
    _mark_points(near, across, up, ax)
    margin = 0.06 * (around.data_upper - around.data_lower)
    low, high = around.data_lower - margin, around.data_upper + margin
    for point in near:
        low, high = np.minimum(low, point.state - margin), np.maximum(high, point.state + margin)
    ax.set(xlim=(low[across], high[across]), ylim=(low[up], high[up]))
    ax.set(xlabel=plain(found.system.states[across]), ylabel=plain(found.system.states[up]))


def _paths(finding: DynamicsFinding, along: Sequence[Course], across: int, up: int, ax: Any) -> None:
    places = measured_places(finding)
    both = across in places and up in places
    for one in along:
        if both:
            rows = one.measured.states[:, [places.index(across), places.index(up)]]
            ax.plot(*rows.T, label="measured", **{**_POINT, "ms": 2.6})
        ax.plot(one.states[:, across], one.states[:, up], label="system", zorder=3, **_COURSE)
        begin = {"marker": ">", "color": ORANGE, "mec": "black", "ms": 7, "ls": "none", "zorder": 5}
        ax.plot(*one.initial[[across, up]], label="initial state", **begin)


def _slope(finding: DynamicsFinding, along: Sequence[Course], found: Behaviour, ax: Any) -> Any:
    """The right-hand side of a single state, its zeros, and the range of the data."""
    system, around = found.system, found.around
    values, slopes = rests_along(system, around, 801)
    inside = (values >= around.data_lower[0]) & (values <= around.data_upper[0])
    limits = shown_range(np.append(slopes[inside], 0.0))
    drawn = in_pieces(slopes, limits)
    name = plain(system.states[0])
    ax.axvspan(around.data_lower[0], around.data_upper[0], color="0.94", lw=0, zorder=0, label="range of the data")
    ax.axhline(0.0, color=GREY, lw=1, zorder=1)
    ax.plot(values, drawn, color=ORANGE, lw=1.8, label=f"d{name}/d{plain(system.time)}", zorder=3)
    for k, one in enumerate(one for one in found.singularities if one.border.location is not None):
        ax.axvline(one.border.location, color=RED, ls=":", lw=1.4, label=None if k else one.border.kind)
    _mark_points(found.fixed_points, 0, None, ax)
    held = held_in_words(system, around)
    ax.set(xlim=(values[0], values[-1]), ylim=limits, ylabel=f"d{name}/d{plain(system.time)}")
    ax.set_xlabel(f"{name}\n({plain(held, 80)})" if held else name)
    _beside(ax)
    return ax


def _mark_points(points: Sequence[FixedPoint], across: int, up: int | None, ax: Any) -> None:
    for point in points:
        first = point.kind.split()[0]
        look = _MARKS.get(first, _OTHER)
        y = 0.0 if up is None else point.state[up]
        ax.plot(point.state[across], y, ls="none", ms=9, zorder=6, label=point.kind, **look)


def _spread(count: int, most: int) -> list[int]:
    return sorted({round(k) for k in np.linspace(0, count - 1, min(most, count))})


def _labels(axes: Any) -> dict[str, Any]:
    by_label: dict[str, Any] = {}
    for place in axes:
        handles, labels = place.get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            by_label.setdefault(label, handle)
    return by_label


def _legend(figure: Any, axes: Any) -> None:
    """One legend for all panels, each label once."""
    by_label = _labels(axes)
    columns = min(len(by_label), max(2, int(figure.get_size_inches()[0] // 1.8)))
    figure.legend(by_label.values(), by_label.keys(), loc="outside lower center", ncols=columns, frameon=False)


def _beside(ax: Any) -> None:
    """A legend above the picture, where it hides nothing."""
    by_label = _labels([ax])
    where = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2, "columnspacing": 1.2}
    ax.legend(by_label.values(), by_label.keys(), ncols=4, fontsize=9, frameon=False, **where)
