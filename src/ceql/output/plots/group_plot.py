"""Plots a formula with constants of groups and the data, with one curve for each group."""

from __future__ import annotations

from typing import Any

import numpy as np

from ceql.data.dataset import Dataset
from ceql.groups.grouped_formula import GroupedFormula
from ceql.output.curves import in_pieces, shown_range
from ceql.output.group_curves import curves
from ceql.output.plots.canvas import plain, points_within
from ceql.output.plots.style import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY

_COLOURS = (BLUE, ORANGE, GREEN, RED, PINK, SKY, BLACK)
_MARKERS = "osv^DP*X<>"
_NAMED = 14  # number of groups in the legend; more would hide the picture


def plot_groups(formula: GroupedFormula, data: Dataset, column: int, target: str, ax: Any) -> Any:
    """Plots the data and the curve of every group along the only column in the formula."""
    limits = shown_range(np.concatenate([data.y, formula(data.x)]))
    for k, (label, rows, piece) in enumerate(curves(formula, data, column)):
        colour, marker = _COLOURS[k % len(_COLOURS)], _MARKERS[k % len(_MARKERS)]
        y = in_pieces(piece.y, limits)
        name = plain(label) if k < _NAMED else None
        ax.plot(piece.x, np.where(piece.inside, y, np.nan), color=colour, lw=1.6, label=name)
        ax.plot(piece.x, np.where(piece.inside, np.nan, y), color=colour, lw=1.2, ls=(0, (4, 2)))
        inside = (rows.y >= limits[0]) & (rows.y <= limits[1])
        ax.plot(
            rows.x[inside, column], rows.y[inside], ls="none", marker=marker, color=colour, ms=4.5, mew=0.0, alpha=0.8
        )
        points_within(ax, rows.x[~inside, column], rows.y[~inside], limits, color=colour, ms=4, mew=0.0)
    ax.set(ylim=limits, xlabel=plain(data.names[column]), ylabel=plain(target))
    ax.legend(loc="best", fontsize=9, framealpha=0.9, title=plain(formula.column))
    return ax
