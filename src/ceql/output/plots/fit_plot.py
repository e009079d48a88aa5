"""Plots the formula with the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from ceql.data.dataset import Dataset
from ceql.errors import unknown_name
from ceql.formula import Formula
from ceql.groups.grouped_formula import GroupedFormula
from ceql.output.curves import DRAWN_ROWS, goodness, in_pieces, shown_range, slice_along, used_columns
from ceql.output.plots.canvas import axes_or_new, plain, points_within
from ceql.output.plots.group_plot import plot_groups
from ceql.output.plots.style import BLACK, BLUE, BORDERS, GREY, ORANGE

_POINT = {"color": BLACK, "ms": 4, "mew": 0.0, "alpha": 0.7}
_HOLLOW = {"mfc": "none", "mec": ORANGE, "color": ORANGE, "mew": 1.2, "ms": 6}
_PANEL, _GAP = 1.3, 0.12  # inches: the height of the residuals, and the room above them


def plot_fit(formula: Formula, data: Dataset, target: str, against: str | None = None, ax: Any = None) -> Any:
    """Plots the data and the curve for one input; for several, predicted against measured values or both `against` a
    column, over the residuals.
    """
    if against is not None and against not in data.names:
        raise unknown_name("column", against, data.names)
    used = used_columns(formula)
    if isinstance(formula, GroupedFormula) and len(used) == 1 and against in (None, data.names[used[0]]):
        return plot_groups(formula, data, used[0], target, axes_or_new(ax, 6.4, 4.2))
    if len(data.names) == 1 or (len(used) == 1 and against in (None, data.names[used[0]])):
        return _curve(formula, data, used[0] if used else 0, target, axes_or_new(ax, 6.4, 4.2))
    ax = axes_or_new(ax, 5.6, 6.0)
    few = data.thinned(DRAWN_ROWS)
    _points(ax, few, formula(few.x), target, None if against is None else few.names.index(against))
    quality = goodness(formula, data)
    explained = f"R² {quality.r2:.6g}, " if np.isfinite(quality.r2) else ""
    ax.set_title(f"{explained}RMSE {quality.rmse:.3g}", fontsize=10)
    return ax


def _curve(formula: Formula, data: Dataset, column: int, target: str, ax: Any) -> Any:
    shown, few = slice_along(formula, data, column), data.thinned(DRAWN_ROWS)
    limits = shown_range(np.concatenate([data.y, formula(data.x)]))
    y = in_pieces(shown.y, limits)
    ax.axvspan(shown.lower, shown.upper, color="0.94", lw=0, zorder=0)
    ax.plot(shown.x, np.where(shown.inside, y, np.nan), color=BLUE, lw=1.8, label="formula")
    ax.plot(shown.x, np.where(shown.inside, np.nan, y), color=BLUE, lw=1.5, ls=(0, (4, 2)), label="beyond the data")
    seen: set[str] = set()
    for border in shown.borders:
        label = None if border.kind in seen else border.kind
        colour, dashes, _ = BORDERS[border.kind]
        ax.axvline(border.location, color=colour, lw=1.2, ls=dashes, label=label, zorder=1)
        seen.add(border.kind)
    points_within(ax, few.x[:, column], few.y, limits, label="data", **_POINT)
    ax.set(xlim=(shown.x[0], shown.x[-1]), ylim=limits, xlabel=plain(shown.name), ylabel=plain(target))
    ax.legend(loc="best", fontsize=9, framealpha=0.9)
    return ax


def _points(ax: Any, data: Dataset, predicted: np.ndarray, target: str, column: int | None) -> None:
    """Plots predicted against measured values, or both against a column; the residuals are below."""
    limits = shown_range(np.concatenate([data.y, predicted]))
    if column is None:
        x, below = np.clip(data.y, *limits), f"{plain(target)}, measured"
        ax.plot(limits, limits, color=GREY, lw=1, ls="--", label="equal", zorder=0)
        points_within(ax, x, predicted, limits, **_POINT)
        ax.set(xlim=limits, ylim=limits, ylabel=f"{plain(target)}, formula")
        ax.legend(loc="upper left", fontsize=9)
    else:
        x, below = data.x[:, column], plain(data.names[column])
        points_within(ax, x, data.y, limits, label="data", **_POINT)
        points_within(ax, x, predicted, limits, label="formula", **_HOLLOW)
        ax.set(ylim=limits, ylabel=plain(target))
        ax.legend(loc="best", fontsize=9, framealpha=0.9)
    _residuals_below(ax, x, data.y - predicted, below)


def _residuals_below(ax: Any, x: np.ndarray, residual: np.ndarray, label: str) -> None:
    """Adds a panel with the residuals under the axes, with the same width and the same x.

    Its height is fixed in inches: a share of the height of the axes would change with the layout that depends on it.
    """
    from matplotlib.transforms import Bbox

    height = min(_PANEL, 0.25 * ax.figure.bbox.height / ax.figure.dpi)
    panel = ax.inset_axes([0.0, -0.4, 1.0, 0.3], sharex=ax)

    def strip_below(_axes: Any, _renderer: Any) -> Bbox:
        box, inch = ax.get_position(), ax.figure.dpi / ax.figure.bbox.height
        return Bbox.from_bounds(box.x0, box.y0 - (_GAP + height) * inch, box.width, height * inch)

    panel.set_axes_locator(strip_below)
    panel.axhline(0.0, color=GREY, lw=1, ls="--", zorder=0)
    points_within(panel, x, residual, shown_range(residual), **_POINT)
    panel.set(xlabel=label, ylabel="residual", ylim=shown_range(residual))
    panel.locator_params(axis="y", nbins=4)
    ax.tick_params(labelbottom=False)
