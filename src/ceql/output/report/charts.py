"""What the charts of a report show."""

from __future__ import annotations

import numpy as np

from ceql.data.dataset import Dataset
from ceql.formula import Formula
from ceql.output.curves import DRAWN_ROWS, Slice, drawable_losses, in_pieces, shown_range, slice_along, used_columns
from ceql.output.report.chart import Axis, Chart, log_axis
from ceql.output.report.subject import Subject

_KINDS = {"pole": "pole", "log singularity": "log-singularity", "edge of the domain": "edge"}


def front_chart(subject: Subject) -> str:
    front = subject.discovery.front
    sizes = np.array([float(formula.complexity) for formula in front])
    losses = drawable_losses(np.array([formula.loss for formula in front]))
    x = Axis(0.0, max(5.0, sizes.max() * 1.08 + 1.0), "complexity, nodes")
    chart = Chart(x, log_axis(losses, "loss"), "complexity against loss")
    chart.line(np.repeat(sizes, 2)[1:], np.repeat(losses, 2)[:-1], "step")
    chart.points(sizes, losses, "points large")
    chart.ring(sizes[subject.row], losses[subject.row], "ring")
    return chart.svg()


def fit_charts(few: Dataset, formula: Formula, target: str) -> tuple[list[str], int]:
    """Predicted against measured, residuals against predicted, and how many points lie beyond the charts."""
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
    """One chart per input of the formula, all with the same y axis; with the data where there is one input only."""
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
