"""The charts of a system's page as SVG: courses over the time, and states among each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from ceql.dynamics.analysis import Behaviour, FixedPoint, nullcline, plane, rests_along
from ceql.dynamics.courses import Course, measured_places, r_squared
from ceql.dynamics.finding import DynamicsFinding
from ceql.output.curves import DRAWN_ROWS, in_pieces, shown_range
from ceql.output.report.chart import Axis, Chart
from ceql.output.report.markup import number

_MOST_TRAJECTORIES = 6  # that are drawn by themselves, spread evenly
_MOST_PAIRS = 6
_ARROWS = 17  # along each side
_LENGTH, _BARB = 0.028, 0.4  # of an arrow, in sides of the chart, and of its barbs, in arrows
_TURN = np.radians(152.0)  # between an arrow and a barb


def course_charts(finding: DynamicsFinding, along: Sequence[Course]) -> tuple[list[tuple[str, str]], str]:
    """Captions and charts, state by state, and a remark where not all trajectories are drawn."""
    count = len(along)
    shown = sorted({round(k) for k in np.linspace(0, count - 1, min(_MOST_TRAJECTORIES, count))})
    charts = [_course(finding, along[k], state) for state in range(len(finding.system.states)) for k in shown]
    remark = f"{len(shown)} of {count} trajectories are drawn." if len(shown) < count else ""
    return charts, remark


def _course(finding: DynamicsFinding, one: Course, state: int) -> tuple[str, str]:
    name, places = finding.system.states[state], measured_places(finding)
    simulated = one.states[:, state]
    measured = (
        one.measured.states[:, places.index(state)] if state in places else np.full(len(one.measured.time), np.nan)
    )
    limits = shown_range(np.concatenate([simulated, measured]))
    margin = 0.02 * (one.time[-1] - one.time[0])
    across = Axis(float(one.time[0] - margin), float(one.time[-1] + margin), finding.series.time)
    chart = Chart(across, Axis(*limits, name), f"{name} {one.measured.label}".strip())
    chart.line(one.time, in_pieces(simulated, limits), "path")
    known = np.flatnonzero(np.isfinite(measured))
    few = known[np.unique(np.linspace(0, len(known) - 1, min(len(known), DRAWN_ROWS)).round().astype(int))]
    if len(few):
        chart.points(one.measured.time[few], measured[few])
    label = f" of {one.measured.label}" if one.measured.label else ""
    if not len(known):
        return f"{name}{label}, not measured", chart.svg()
    at_samples = simulated[np.searchsorted(one.time, one.measured.time)]
    return f"{name}{label}, R² {number(r_squared(measured, at_samples), 5)}", chart.svg()


def phase_charts(finding: DynamicsFinding, along: Sequence[Course], found: Behaviour) -> Iterator[tuple[str, str]]:
    """One state: its slope. Two: the portrait. More: pairs of them, without arrows."""
    states = found.system.states
    if len(states) == 1:
        yield _slope(found)
    elif len(states) == 2:
        yield _portrait(finding, along, found)
    else:
        for across, up in list(combinations(range(len(states)), 2))[:_MOST_PAIRS]:
            yield _projection(along, found, across, up)


def _slope(found: Behaviour) -> tuple[str, str]:
    system, around = found.system, found.around
    values, slopes = rests_along(system, around, 801)
    low, high = float(around.data_lower[0]), float(around.data_upper[0])
    limits = shown_range(np.append(slopes[(values >= low) & (values <= high)], 0.0))
    label = f"d{system.states[0]}/d{system.time}"
    chart = Chart(Axis(float(values[0]), float(values[-1]), system.states[0]), Axis(*limits, label), "slope")
    chart.band(low, high, "range")
    chart.line(values[[0, -1]], np.zeros(2), "equal")
    chart.line(values, in_pieces(slopes, limits), "path")
    for one in found.singularities:
        if one.border.location is not None and values[0] <= one.border.location <= values[-1]:
            chart.vertical(one.border.location, "pole")
    for point in found.fixed_points:
        chart.ring(float(point.state[0]), 0.0, _look(point))
    return f"{label} against {system.states[0]}", chart.svg()


def _portrait(finding: DynamicsFinding, along: Sequence[Course], found: Behaviour) -> tuple[str, str]:
    system, around = found.system, found.around
    x, y = (Axis(float(around.lower[k]), float(around.upper[k]), system.states[k]) for k in (0, 1))
    chart = Chart(x, y, "phase portrait")
    chart.line(*_arrows(found), "arrows")
    grid = plane(system, around)
    for which, kind in enumerate(("null-x", "null-y")):
        curve = nullcline(grid, which)
        chart.line(curve.x, curve.y, kind)
    _draw_paths(chart, along, 0, 1, measured=measured_places(finding) == [0, 1])
    for point in found.fixed_points:
        chart.ring(float(point.state[0]), float(point.state[1]), _look(point))
    return f"{system.states[1]} against {system.states[0]}", chart.svg()


def _projection(along: Sequence[Course], found: Behaviour, across: int, up: int) -> tuple[str, str]:
    around, states = found.around, found.system.states
    margin = 0.06 * (around.data_upper - around.data_lower)
    low, high = around.data_lower - margin, around.data_upper + margin
    x, y = (Axis(float(low[k]), float(high[k]), states[k]) for k in (across, up))
    chart = Chart(x, y, f"{states[up]} against {states[across]}")
    _draw_paths(chart, along, across, up, measured=False)
    for point in found.fixed_points:
        if point.inside:
            chart.ring(float(point.state[across]), float(point.state[up]), _look(point))
    return f"{states[up]} against {states[across]}", chart.svg()


def _draw_paths(chart: Chart, along: Sequence[Course], across: int, up: int, measured: bool) -> None:
    for one in along:
        chart.line(one.states[:, across], one.states[:, up], "path")
        whole = np.isfinite(one.measured.states).all(axis=1)
        if measured and whole.any():
            chart.points(*one.measured.states[whole][:, [across, up]].T)


@np.errstate(all="ignore")
def _arrows(found: Behaviour) -> tuple[np.ndarray, np.ndarray]:
    """All arrows of the portrait as one line with gaps: each has a shaft and two barbs."""
    around = found.around
    field = plane(found.system, around, points=_ARROWS)
    turns = np.arctan2(field.slopes[1] / around.span[1], field.slopes[0] / around.span[0]).ravel()
    x, y = (side.ravel() for side in np.meshgrid(field.x, field.y))
    drawn = []
    for middle, span, wave in ((x, around.span[0], np.cos), (y, around.span[1], np.sin)):
        tail, tip = (middle + span * _LENGTH * share * wave(turns) for share in (-0.5, 0.5))
        barbs = [tip + span * _LENGTH * _BARB * wave(turns + sign * _TURN) for sign in (-1.0, 1.0)]
        gap = np.full(len(middle), np.nan)
        drawn.append(np.column_stack([tail, tip, barbs[0], tip, barbs[1], gap]).ravel())
    return drawn[0], drawn[1]


def _look(point: FixedPoint) -> str:
    if point.is_stable:
        return "attracts"
    return "turns" if point.kind.startswith("centre") else "repels"
