"""The picture of `ceql demo`: the formula, the paths of its pole in the complex plane, and fits with real weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from ceql.bench.pole_paths import Paths
from ceql.estimator.regressor import CEQLRegressor
from ceql.output.plots.canvas import new_figure, points_within
from ceql.output.plots.style import BLUE, GREY, ORANGE, RED

_WIDE, _HIGH = (-2.6, 2.6), (-1.6, 1.6)  # of the complex plane
_FLOOR = 1e-34
_MOST_WAYS = 8  # more paths would hide each other


def draw(model: CEQLRegressor, X: np.ndarray, y: np.ndarray, free: Paths, real: Paths) -> Any:
    figure = new_figure(13.0, 4.2)
    formula, plane, ends = figure.subplots(1, 3, width_ratios=(1.0, 1.15, 0.9))
    poles = [float(pole.location) for pole in model.poles_ if pole.kind == "pole" and pole.location is not None]
    _draw_formula(formula, model, X, y, poles)
    _draw_plane(plane, free, real, poles)
    _draw_ends(ends, free, real)
    return figure


def _draw_formula(place: Any, model: CEQLRegressor, X: np.ndarray, y: np.ndarray, poles: list[float]) -> None:
    limits = (float(np.quantile(y, 0.04)) - 4.0, float(np.quantile(y, 0.96)) + 4.0)
    x = np.linspace(-2.6, 2.6, 2001)
    value = np.asarray(model.predict(x[:, None]), float)
    value = np.where((value > 3 * limits[0]) & (value < 3 * limits[1]), value, np.nan)  # no line across the pole
    place.axvspan(float(X.min()), float(X.max()), color="0.94", lw=0, label="range of the data")
    place.plot(x, value, color=BLUE, lw=1.8, label="formula found")
    for k, pole in enumerate(poles):
        place.axvline(pole, color=RED, ls="--", lw=1.2, label=f"pole, x1 = {pole:.4g}" if k == 0 else None)
    points_within(place, X[:, 0], y, limits, color=ORANGE, mec="black", mew=0.3, ms=4, label="data")
    place.set(xlim=(-2.6, 2.6), ylim=limits, xlabel="x1", ylabel="y", title="Data and formula")
    place.legend(fontsize=8, loc="upper right")


def _draw_plane(place: Any, free: Paths, real: Paths, poles: list[float]) -> None:
    """Draws the path of the pole from complex starts that succeed, and the end points of real starts."""
    place.axhline(0.0, color="black", lw=0.9)
    shown = free.ways.T[:_MOST_WAYS]
    for k, way in enumerate(shown):
        label = f"paths of {len(shown)} successful complex starts" if k == 0 else None
        place.plot(way.real, way.imag, color=BLUE, lw=1.1, alpha=0.8, label=label)
        place.plot(way[0].real, way[0].imag, "o", color=BLUE, ms=4, mec="white", mew=0.5)
    stuck = np.real(real.ends)
    place.plot(stuck, np.zeros_like(stuck), "|", color=RED, ms=9, mew=1.0, label="end points of real starts")
    for k, pole in enumerate(poles):
        label = "pole of the formula" if k == 0 else None
        place.plot(pole, 0.0, "*", color="white", mec="black", ms=16, zorder=5, label=label)
    place.set(xlim=_WIDE, ylim=_HIGH, xlabel="Re of the pole", ylabel="Im of the pole")
    place.set_title("The pole moves around the data onto the axis")
    place.grid(alpha=0.25)
    place.legend(fontsize=8, loc="lower right")


def _draw_ends(place: Any, free: Paths, real: Paths) -> None:
    for paths, colour, name in ((free, BLUE, "complex"), (real, RED, "real")):
        label = f"{name}: {paths.arrived.sum()} of {len(paths.misfit)} reach the solution"
        place.plot(np.sort(np.maximum(paths.misfit, _FLOOR)), color=colour, lw=2.2, label=label)
    place.axhline(1e-16, color=GREY, lw=0.8, ls=":")
    place.set(
        yscale="log",
        ylim=(_FLOOR / 10, 10.0),
        xlabel="starts, sorted from best to worst",
        ylabel="relative misfit at the end",
    )
    place.set_title("Complex and real weights")
    place.grid(alpha=0.25)
    place.legend(fontsize=8, loc="center right")
