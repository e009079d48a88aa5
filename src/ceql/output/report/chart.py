"""The charts of a report, written as SVG; their colours come from the page's style sheet, light or dark."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ceql.data.dataset import Dataset
from ceql.discovery import Discovery
from ceql.formula import Formula
from ceql.output.curves import DRAWN_ROWS, Slice, drawable_losses, in_pieces, shown_range, slice_along, used_columns
from ceql.output.report.markup import escape
from ceql.output.report.subject import Subject

_TICKS = 5
_MOST_DECADES = 6
_MOST_CHARACTERS = 42  # all numbers along one axis together
WIDTH, HEIGHT = 400, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 12, 12, 46
_ACROSS, _UP = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
_LONGEST_LABEL = 44
_KINDS = {"pole": "pole", "log singularity": "log-singularity", "edge of the domain": "edge"}


@dataclass(frozen=True)
class Axis:
    """One axis of a chart: places of values along it, and round numbers for its labels."""

    low: float
    high: float
    label: str
    log: bool = False

    def share(self, values: np.ndarray | float) -> np.ndarray:
        """The position of values along the axis: 0 at the lower end, 1 at the upper end."""
        values = np.asarray(values, float)
        if not self.log:
            return (values - self.low) / (self.high - self.low)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(values / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[tuple[float, str]]:
        return _decades(self.low, self.high) if self.log else _round_numbers(self.low, self.high)


def log_axis(values: np.ndarray, label: str) -> Axis:
    """A logarithmic axis over whole decades around positive values, with room at both ends."""
    low, high = math.log10(values.min()), math.log10(values.max())
    room = 0.1 + 0.06 * (high - low)
    return Axis(10.0 ** math.floor(low - room), 10.0 ** math.ceil(high + room), label, log=True)


def _round_numbers(low: float, high: float) -> list[tuple[float, str]]:
    rough = (high - low) / _TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = size * next(factor for factor in (1, 2, 5, 10) if factor * size >= 0.999 * rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    ticks = [(k * step, _written(k * step, step)) for k in range(first, last + 1)]
    crowded = sum(len(text) for _, text in ticks) > _MOST_CHARACTERS
    return ticks[:: 2 if crowded else 1]


def _written(value: float, step: float) -> str:
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if value and (abs(value) >= 1e6 or decimals > 5):
        digits = max(0, math.floor(math.log10(abs(value)) + 1e-9) - math.floor(math.log10(step) + 1e-9))
        mantissa, exponent = f"{value:.{digits}e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", "−")
    return f"{value:.{decimals}f}".replace("-", "−") if value else "0"


def _decades(low: float, high: float) -> list[tuple[float, str]]:
    first, last = round(math.log10(low)), round(math.log10(high))
    step = max(1, math.ceil((last - first) / _MOST_DECADES))
    return [(10.0**k, f"1e{k}".replace("-", "−")) for k in range(first, last + 1, step)]


class Chart:
    """A chart, drawn in the order in which things are added; `kind` is a class of the style sheet."""

    def __init__(self, x: Axis, y: Axis, title: str) -> None:
        self._x, self._y, self._title = x, y, title
        self._inside: list[str] = []

    def band(self, low: float, high: float, kind: str) -> None:
        left, right = np.clip(self._x.share(np.array([low, high])), 0, 1) * _ACROSS
        self._inside.append(f'<rect class="{kind}" x="{left:.1f}" y="0" width="{right - left:.1f}" height="{_UP}"/>')

    def vertical(self, x: float, kind: str) -> None:
        at = float(self._x.share(x)) * _ACROSS
        self._inside.append(f'<path class="{kind}" d="M{at:.1f} 0V{_UP}"/>')

    def line(self, x: np.ndarray, y: np.ndarray, kind: str) -> None:
        """Adds a line with gaps where y is NaN."""
        left, top = self._places(x, y)
        drawn = np.isfinite(left) & np.isfinite(top)
        begins = drawn & ~np.r_[False, drawn[:-1]]
        steps = [f"{'M' if begins[k] else 'L'}{left[k]:.1f} {top[k]:.1f}" for k in np.flatnonzero(drawn)]
        if steps:
            self._inside.append(f'<path class="{kind}" d="{"".join(steps)}"/>')

    def points(self, x: np.ndarray, y: np.ndarray, kind: str = "points") -> int:
        """Adds dots; those outside the chart become triangles at its edge. Returns how many are outside."""
        left, top = self._places(x, y)
        inside = (left >= 0) & (left <= _ACROSS) & (top >= 0) & (top <= _UP)
        # A line of zero length with round ends is a dot, so that a thousand dots are one short path.
        dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(left[inside], top[inside], strict=True))
        if dots:
            self._inside.append(f'<path class="{kind}" d="{dots}"/>')
        edges = np.clip(left[~inside], 4, _ACROSS - 4), np.clip(top[~inside], 4, _UP - 4)
        marks = "".join(f"M{a:.1f} {b - 4:.1f}l4 7h-8z" for a, b in zip(*edges, strict=True))
        if marks:
            self._inside.append(f'<path class="beyond" d="{marks}"/>')
        return int((~inside).sum())

    def ring(self, x: float, y: float, kind: str) -> None:
        left, top = (float(place[0]) for place in self._places(np.array([x]), np.array([y])))
        self._inside.append(f'<circle class="{kind}" cx="{left:.1f}" cy="{top:.1f}" r="8"/>')

    def svg(self) -> str:
        """The chart as SVG; a nested svg element cuts off what lies outside the axes."""
        frame = f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{_ACROSS}" height="{_UP}"/>'
        clipped = f'<svg x="{_LEFT}" y="{_TOP}" width="{_ACROSS}" height="{_UP}">{"".join(self._inside)}</svg>'
        return (
            f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self._title)}">'
            f"{self._grid()}{clipped}{frame}{self._labels()}</svg>"
        )

    def _places(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._x.share(x) * _ACROSS, (1.0 - self._y.share(y)) * _UP

    def _grid(self) -> str:
        parts = []
        for value, text in self._x.ticks():
            at = f"{_LEFT + float(self._x.share(value)) * _ACROSS:.1f}"
            parts.append(f'<path class="grid" d="M{at} {_TOP}v{_UP}"/>')
            parts.append(f'<text x="{at}" y="{_TOP + _UP + 15}" text-anchor="middle">{escape(text)}</text>')
        for value, text in self._y.ticks():
            at = _TOP + (1.0 - float(self._y.share(value))) * _UP
            parts.append(f'<path class="grid" d="M{_LEFT} {at:.1f}h{_ACROSS}"/>')
            parts.append(f'<text x="{_LEFT - 5}" y="{at + 4:.1f}" text-anchor="end">{escape(text)}</text>')
        return "".join(parts)

    def _labels(self) -> str:
        across, up = (
            escape(text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…")
            for text in (self._x.label, self._y.label)
        )
        turned = f"translate(13 {_TOP + _UP / 2}) rotate(-90)"
        below = f'x="{_LEFT + _ACROSS / 2}" y="{HEIGHT - 8}"'
        return (
            f'<text class="label" {below} text-anchor="middle">{across}</text>'
            f'<text class="label" transform="{turned}" text-anchor="middle">{up}</text>'
        )


def front_chart(discovery: Discovery, row: int) -> str:
    formulas = discovery.formulas
    sizes = np.array([float(formula.complexity) for formula in formulas])
    return front_drawing(sizes, np.array([formula.loss for formula in formulas]), len(discovery.front), row)


def front_drawing(sizes: np.ndarray, losses: np.ndarray, last: int, row: int) -> str:
    """The chart of sizes against losses; the first `last` rows are the front, and one row is marked."""
    losses = drawable_losses(losses)
    x = Axis(0.0, max(5.0, sizes.max() * 1.08 + 1.0), "complexity, nodes")
    chart = Chart(x, log_axis(losses, "loss"), "complexity against loss")
    chart.line(np.repeat(sizes[:last], 2)[1:], np.repeat(losses[:last], 2)[:-1], "step")
    chart.points(sizes[:last], losses[:last], "points large")
    chart.points(sizes[last:], losses[last:])
    chart.ring(sizes[row], losses[row], "ring")
    return chart.svg()


def fit_charts(few: Dataset, formula: Formula, target: str) -> tuple[list[str], int]:
    """Charts of predicted against measured values and of residuals, and how many points lie outside of them."""
    predicted = formula(few.x)
    residual = few.y - predicted
    both, spread = shown_range(np.concatenate([few.y, predicted])), shown_range(residual)
    y = Axis(*both, f"{target}, formula")
    apart = Axis(min(spread[0], 0.0), max(spread[1], 0.0), "measured − formula")
    drawn, beyond = [], 0
    for title, x_axis, y_axis, equal, across, up in (
        ("fit", Axis(*both, f"{target}, measured"), y, both, few.y, predicted),
        ("residuals", Axis(*shown_range(predicted), y.label), apart, (0.0, 0.0), predicted, residual),
    ):
        chart = Chart(x_axis, y_axis, title)
        chart.line(np.array([x_axis.low, x_axis.high]), np.array(equal), "equal")
        beyond += chart.points(across, up)
        drawn.append(chart.svg())
    return drawn, beyond


def slice_charts(subject: Subject) -> list[tuple[Slice, str]]:
    """A chart for each input of the formula, all with the same y axis; with the data if there is only one input."""
    formula, data = subject.formula, subject.data
    columns = used_columns(formula) or [0]
    few = data.thinned(DRAWN_ROWS)
    limits = shown_range(np.concatenate([data.y, formula(few.x)]))
    alone = few if len(columns) == 1 else None
    slices = [slice_along(formula, data, column) for column in columns]
    return [(piece, _slice_chart(piece, limits, subject.target, alone)) for piece in slices]


def _slice_chart(piece: Slice, limits: tuple[float, float], target: str, data: Dataset | None) -> str:
    x = Axis(float(piece.x[0]), float(piece.x[-1]), piece.name)
    chart = Chart(x, Axis(*limits, target), f"the formula along {piece.name}")
    chart.band(piece.lower, piece.upper, "range")
    for border in piece.borders:
        if border.location is not None:
            chart.vertical(border.location, _KINDS[border.kind])
    y = in_pieces(piece.y, limits)
    chart.line(piece.x, np.where(piece.inside, np.nan, y), "curve outside")
    chart.line(piece.x, np.where(piece.inside, y, np.nan), "curve")
    if data is not None:
        chart.points(data.x[:, piece.column], data.y)
    return chart.svg()
