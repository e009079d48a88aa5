"""Plots where the formula is singular or leaves its domain."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from ceql.data.dataset import Dataset
from ceql.expression import compile_numpy
from ceql.expression.evaluate.poles import Pole, find_borders, restricted
from ceql.formula import Formula
from ceql.output.curves import DRAWN_ROWS, Slice, borders_around, by_relevance, slice_along, widened
from ceql.output.plots.canvas import axes_or_new, plain
from ceql.output.plots.style import BLACK, BORDERS, GREY

_GRID = 301
_LINE_LENGTH = 56  # characters under the picture


def plot_poles(formula: Formula, data: Dataset, ax: Any = None) -> Any:
    """Plots a line with marks for one input, or curves in the plane of the two inputs that matter most."""
    columns = _columns(formula, data)
    if len(columns) == 1:
        return _line(formula, data, columns[0], axes_or_new(ax, 7.0, 2.4))
    return _plane(formula, data, columns[0], columns[1], axes_or_new(ax, 6.2, 5.2))


def _columns(formula: Formula, data: Dataset) -> list[int]:
    """The inputs to draw, at most two: those that determine a border come first."""
    ranked = by_relevance(formula, data) or [0]
    deciding = {symbol for border in borders_around(formula, data) for symbol in border.vanishes.free_symbols}
    ranked.sort(key=lambda k: formula.symbols[k] not in deciding)
    return sorted(ranked[:2])


def _line(formula: Formula, data: Dataset, column: int, ax: Any) -> Any:
    shown = slice_along(formula, data, column)
    values = data.thinned(DRAWN_ROWS).x[:, column]
    ax.axhline(0.0, color=GREY, lw=1)
    ax.plot(values, np.zeros(len(values)), "|", color=BLACK, ms=12, mew=0.8, alpha=0.6, label="data")
    _shade_undefined(ax, shown)
    for border in shown.borders:
        colour, dashes, marker = BORDERS[border.kind]
        ax.plot([border.location] * 2, [-1, 1], color=colour, ls=dashes, lw=1.4)
        ax.plot(border.location, 0.0, marker, color=colour, mec="black", mew=0.6, ms=11, label=border.kind, ls="none")
    for k, border in enumerate(sorted(shown.borders, key=lambda pole: pole.location or 0.0)):
        # Alternate the height of neighbours, so that their numbers do not overlap.
        ax.text(border.location, 1.08 + 0.4 * (k % 2), f"{border.location:.5g}", ha="center", va="bottom", fontsize=9)
    ax.set(xlim=(shown.x[0], shown.x[-1]), ylim=(-1.2, 2.0), xlabel=plain(shown.name), yticks=[])
    ax.spines[["left", "right", "top"]].set_visible(False)
    _finish(ax, bool(shown.borders))
    return ax


def _shade_undefined(ax: Any, shown: Slice) -> None:
    step = np.diff(shown.x).max() * 2
    missing = ~np.isfinite(shown.y)
    starts = np.flatnonzero(missing & ~np.r_[False, missing[:-1]])
    ends = np.flatnonzero(missing & ~np.r_[missing[1:], False])
    wide = [(shown.x[a], shown.x[b]) for a, b in zip(starts, ends, strict=True) if shown.x[b] - shown.x[a] > step]
    for k, (left, right) in enumerate(wide):
        ax.axvspan(left, right, facecolor="none", edgecolor="0.6", hatch="///", lw=0, label=None if k else "undefined")


def _plane(formula: Formula, data: Dataset, across: int, up: int, ax: Any) -> Any:
    few = data.thinned(DRAWN_ROWS)
    medians = np.median(data.x, axis=0)
    lower, upper = widened(data.x.min(axis=0), data.x.max(axis=0))
    sides = [np.linspace(lower[k], upper[k], _GRID) for k in (across, up)]
    points = np.tile(medians, (_GRID * _GRID, 1))
    points[:, across], points[:, up] = (side.ravel() for side in np.meshgrid(*sides))
    missing = ~np.isfinite(formula(points)).reshape(_GRID, _GRID)
    if missing.sum() >= 2 * _GRID:  # single points on a pole are no region
        ax.contourf(*sides, missing.astype(float), levels=[0.5, 1.5], colors=["0.93"], hatches=["//"])
        ax.fill([], [], facecolor="0.93", hatch="//", edgecolor="0.6", lw=0, label="undefined")
    symbols = [formula.symbols[across], formula.symbols[up]]
    held = {s: float(m) for s, m in zip(formula.symbols, medians, strict=True) if s not in symbols}
    drawn = [across, up]
    borders = find_borders(restricted(formula.expression, held), symbols, lower[drawn], upper[drawn])
    for border in borders:
        _border_curve(ax, border, symbols, sides)
    ax.plot(few.x[:, across], few.x[:, up], ".", color=BLACK, ms=4, alpha=0.6, label="data")
    ax.set(xlim=(lower[across], upper[across]), ylim=(lower[up], upper[up]))
    ax.set(xlabel=plain(data.names[across]) + _what_is_held(formula, held), ylabel=plain(data.names[up]))
    _finish(ax, bool(borders))
    return ax


def _border_curve(ax: Any, border: Pole, symbols: list[Any], sides: list[np.ndarray]) -> None:
    colour, dashes, _ = BORDERS[border.kind]
    if border.location is not None:
        draw = ax.axvline if symbols[0] in border.vanishes.free_symbols else ax.axhline
        draw(border.location, color=colour, ls=dashes, lw=1.8, label=border.kind)
        return
    points = np.column_stack([side.ravel() for side in np.meshgrid(*sides)])
    zero = np.broadcast_to(compile_numpy(border.vanishes, symbols)(points), len(points)).reshape(_GRID, _GRID)
    ax.contour(*sides, np.ma.masked_invalid(zero), levels=[0.0], colors=[colour], linestyles=[dashes], linewidths=1.8)
    ax.plot([], [], color=colour, ls=dashes, lw=1.8, label=border.kind)


def _what_is_held(formula: Formula, held: dict[Any, float]) -> str:
    used = [f"{plain(s.name, 12)} = {v:.4g}" for s, v in held.items() if s in formula.expression.free_symbols]
    rest = f" and {len(used) - 3} more" if len(used) > 3 else ""
    words = f"(others at their medians: {', '.join(used[:3])}{rest})"
    return "\n" + textwrap.fill(words, _LINE_LENGTH) if used else ""


def _finish(ax: Any, any_border: bool) -> None:
    """Adds a legend without repetitions above the picture, with a note if there is nothing to mark."""
    if not any_border:
        ax.plot([], [], ls="none", label="no pole in this range")
    by_label = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2, "columnspacing": 1.2}
    ax.legend(by_label.values(), by_label.keys(), ncols=4, fontsize=9, frameon=False, **place)
