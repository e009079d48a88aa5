"""Plots a formula of two variables as a map."""

from __future__ import annotations

from typing import Any

import numpy as np

from ceql.errors import InputError
from ceql.expression import compile_numpy
from ceql.output.plots.canvas import new_figure


def plot_surface(model: Any, X: np.ndarray, y: np.ndarray, margin: float = 1.0) -> Any:
    """Plots a map of a formula of two variables in and around the data with its poles, and predicted against measured
    values.

    Returns a matplotlib figure.
    """
    if X.shape[1] != 2:
        raise InputError(f"A map needs two variables; the data have {X.shape[1]}.")
    names = [str(symbol) for symbol in model.discovery_.best.symbols]
    lower, upper = X.min(axis=0), X.max(axis=0)
    reach = margin * (upper - lower) / 2
    axes_values = [np.linspace(lower[k] - reach[k], upper[k] + reach[k], 401) for k in range(2)]
    grid = np.stack(np.meshgrid(*axes_values, indexing="xy"), axis=-1)
    values = model.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    limit = 2.0 * float(np.quantile(np.abs(y), 0.9))

    figure = new_figure(11, 4.6)
    from matplotlib.patches import Rectangle

    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    mesh = left.pcolormesh(
        *axes_values, np.clip(values, -limit, limit), cmap="PuOr", vmin=-limit, vmax=limit, rasterized=True
    )
    figure.colorbar(mesh, ax=left, label="formula", extend="both")
    left.scatter(*X.T, s=9, c="black", linewidths=0, label="data")
    left.add_patch(Rectangle(tuple(lower), *(upper - lower), fill=False, edgecolor="black", linewidth=1))
    for pole in model.discovery_.poles:
        zero = compile_numpy(pole.vanishes, model.discovery_.best.symbols)(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        left.contour(*axes_values, zero, levels=[0.0], colors="black", linestyles="dashed", linewidths=1.5)
        left.plot([], [], "k--", lw=1.5, label=pole.kind)
    left.set(xlabel=names[0], ylabel=names[1], title="The formula inside and outside the data (box)")
    left.legend(loc="upper left", framealpha=0.9)

    predicted = model.predict(X)
    right.plot(*[[min(y.min(), predicted.min()), max(y.max(), predicted.max())]] * 2, color="0.6", lw=1)
    right.scatter(y, predicted, s=14, color="#1b6ca8")
    right.set(xlabel="measured", ylabel="formula", title="Formula against data", xscale="symlog", yscale="symlog")
    return figure
