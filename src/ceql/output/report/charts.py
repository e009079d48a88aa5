"""What the charts of a report show."""

from __future__ import annotations

import numpy as np

from ceql.data.dataset import Dataset
from ceql.formula import Formula
from ceql.output.curves import DRAWN_ROWS, Slice, drawable_losses, in_pieces, shown_range, slice_along, used_columns
from ceql.output.report.axes import Axis, log_axis
from ceql.output.report.chart import Chart
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


def fit_chart(few: Dataset, formula: Formula, target: str) -> tuple[str, int]:
    """Predicted against measured, and how many points lie beyond the chart."""
    predicted = formula(few.x)
    low, high = shown_range(np.concatenate([few.y, predicted]))
    chart = Chart(Axis(low, high, f"{target}, measured"), Axis(low, high, f"{target}, formula"), "fit")
    chart.line(np.array([low, high]), np.array([low, high]), "equal")
    beyond = chart.points(few.y, predicted)
    return chart.svg(), beyond


def residual_chart(few: Dataset, formula: Formula, target: str) -> tuple[str, int]:
    predicted = formula(few.x)
    residual = few.y - predicted
    low, high = shown_range(residual)
    low, high = min(low, 0.0), max(high, 0.0)
    x = Axis(*shown_range(predicted), f"{target}, formula")
    chart = Chart(x, Axis(low, high, "measured − formula"), "residuals")
    chart.line(np.array([x.low, x.high]), np.zeros(2), "equal")
    beyond = chart.points(predicted, residual)
    return chart.svg(), beyond


def slice_charts(subject: Subject) -> list[tuple[Slice, str]]:
    """One chart per input of the formula, all with the same y axis; with the data where there is one input only."""
    formula, data = subject.formula, subject.data
    columns = used_columns(formula) or [0]
    slices = [slice_along(formula, data, column) for column in columns]
    few = data.thinned(DRAWN_ROWS)
    limits = shown_range(np.concatenate([data.y, formula(few.x)]))
    alone = few if len(columns) == 1 else None
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
