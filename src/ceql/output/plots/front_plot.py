"""Plots the front: how much each larger formula gains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ceql.formula import Formula
from ceql.output.curves import drawable_losses
from ceql.output.plots.canvas import axes_or_new, plain
from ceql.output.plots.style import BLUE, GREY, RED

_LONGEST = 44
# Where a formula may be written beside its point: the offset in points, and the corner of the text at that place.
_PLACES = (
    ((8, 6), "left", "bottom"),
    ((-8, 6), "right", "bottom"),
    ((8, -6), "left", "top"),
    ((-8, -6), "right", "top"),
)


def plot_pareto(front: Sequence[Formula], chosen: int, ax: Any = None, beside: Sequence[Formula] = ()) -> Any:
    """Plots complexity against loss, with the chosen row marked and as many formulas as fit without overlap.

    `chosen` counts the rows of the front, then those `beside` it.
    """
    ax = axes_or_new(ax, 7.0, 4.6)
    formulas, last = (*front, *beside), len(front)
    sizes = np.array([formula.complexity for formula in formulas])
    losses = drawable_losses(np.array([formula.loss for formula in formulas]))
    ax.step(sizes[:last], losses[:last], where="post", color=GREY, lw=1.4, zorder=1)
    ax.plot(sizes[:last], losses[:last], "o", color=BLUE, ms=7, ls="none", label="front", zorder=2)
    if beside:
        ax.plot(
            sizes[last:], losses[last:], "o", mfc="none", mec=BLUE, ms=7, ls="none", label="not on the front", zorder=2
        )
    ring = {"mfc": "none", "mec": RED, "mew": 2.0, "ms": 15, "ls": "none"}  # as on the page of a report
    ax.plot(sizes[chosen], losses[chosen], "o", label="chosen", zorder=3, **ring)
    ax.set_yscale("log")
    ax.set(xlabel="complexity, nodes", ylabel="loss, mean squared error")
    ax.margins(x=0.12, y=0.14)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(loc="lower left", fontsize=9, framealpha=0.9)
    _annotate(ax, formulas, chosen, sizes, losses)
    return ax


def _annotate(ax: Any, front: Sequence[Formula], chosen: int, sizes: np.ndarray, losses: np.ndarray) -> None:
    """Writes the chosen formula, then the others while there is room."""
    from matplotlib.transforms import Bbox

    ax.figure.draw_without_rendering()  # places are known only after the layout
    frame = ax.get_window_extent()
    points = ax.transData.transform(np.column_stack([sizes, losses]))
    taken = [Bbox.from_extents(x - 7, y - 7, x + 7, y + 7) for x, y in points] + [ax.get_legend().get_window_extent()]
    for k in sorted(range(len(front)), key=lambda row: (row != chosen, row)):
        others = [box for j, box in enumerate(taken) if j != k]
        for offset, across, up in _PLACES:
            text = ax.annotate(
                plain(str(front[k]), _LONGEST), (sizes[k], losses[k]), offset, textcoords="offset points",
                ha=across, va=up, fontsize=8.5, fontweight="bold" if k == chosen else "normal",
            )  # fmt: skip
            box = text.get_window_extent()
            inside = box.x0 >= frame.x0 and box.x1 <= frame.x1 and box.y0 >= frame.y0 and box.y1 <= frame.y1
            if inside and not any(box.overlaps(other) for other in others):
                taken.append(box)
                break
            text.remove()
