"""Draws the network of the paper's first figure from the wiring that the recipe trains."""

from __future__ import annotations

from typing import Any

import numpy as np

from ceql.network import Network
from ceql.network.wiring import OUTPUT
from ceql.operators import Argument
from ceql.output.plots.canvas import new_figure
from ceql.output.plots.style import BLUE, GREY, ORANGE, SKY
from ceql.training import recipes

_SIGNS = {"const": "1", "square": "( )²", "mul": "×", "id": "id", "log": "log", "sqrt": "√", "div": "÷"}
_STEP = 2.9  # between a layer and the next
_SUM = 1.25  # from the sums of a layer to its operators
_HEIGHT = 9.0

Place = tuple[float, float]


def draw(n_inputs: int = 2) -> Any:
    """Draws inputs, summation nodes, operators and the readout, whose real part is the prediction."""
    network = recipes.paper().network(n_inputs)
    nodes, sums = _places(network)
    figure = new_figure(11.5, 6.6)
    axes = figure.subplots()
    axes.set_axis_off()
    _draw_edges(axes, network, nodes, sums)
    for node in range(n_inputs):
        _draw_node(axes, nodes[node], f"$x_{node + 1}$", "white", 19)
    for k, s in enumerate(network.sums):
        confined = s.kind is Argument.COMPLEX
        if s.kind is not Argument.CONSTANT:
            _draw_node(axes, sums[k], "Σ", ORANGE if confined else "0.9", 10, edge="black")
    for unit, operator in enumerate(network.units):
        _draw_node(axes, nodes[network.node(unit)], _SIGNS[operator.name], SKY, 17)
    _draw_ends(axes, sums[len(network.sums) - 1])
    _draw_words(axes, network, nodes, sums)
    return figure


def _spread(count: int) -> np.ndarray:
    """The heights of this number of nodes, from top to bottom."""
    return _HEIGHT * (0.5 - (np.arange(count) + 0.5) / count)


def _places(network: Network) -> tuple[dict[int, Place], dict[int, Place]]:
    """The places of nodes and sums; an operator is placed beside its sums."""
    nodes: dict[int, Place] = {k: (0.0, float(h)) for k, h in enumerate(0.55 * _spread(network.n_inputs))}
    sums: dict[int, Place] = {}
    for layer in range(len(network.layers)):
        left = 1.7 + layer * (_STEP + _SUM)
        # A constant has no sum, but has its own row.
        rows = [
            (int(unit), k)
            for unit in np.flatnonzero(network.layer_of_unit == layer)
            for k in ([k for k, s in enumerate(network.sums) if s.unit == unit] or [None])
        ]
        heights: dict[int, list[float]] = {}
        for (unit, k), height in zip(rows, _spread(len(rows)), strict=True):
            heights.setdefault(unit, []).append(float(height))
            if k is not None:
                sums[k] = (left, float(height))
        nodes |= {network.node(unit): (left + _SUM, float(np.mean(own))) for unit, own in heights.items()}
    sums[len(network.sums) - 1] = (1.7 + len(network.layers) * (_STEP + _SUM) - 0.4, 0.0)
    return nodes, sums


def _draw_edges(axes: Any, network: Network, nodes: dict[int, Place], sums: dict[int, Place]) -> None:
    """Draws the weights from nodes to sums, dashed for inputs that skip a layer, and lines from sums to operators."""
    for edge, source in enumerate(network.edge_source):
        k = int(network.edge_sum[edge])
        kind = network.sums[k].kind
        if kind is Argument.CONSTANT:
            continue
        skips = int(source) < network.n_inputs and sums[k][0] > 2.0
        begin, end = nodes[int(source)], sums[k]
        colour = ORANGE if kind is Argument.COMPLEX else GREY
        style: dict[str, Any] = {"color": BLUE, "ls": (0, (4, 2)), "lw": 0.6, "alpha": 0.55} if skips else {}
        axes.plot(*zip(begin, end, strict=True), zorder=1, **{"color": colour, "lw": 0.6, "alpha": 0.7, **style})
    for k, s in enumerate(network.sums):
        if s.unit != OUTPUT and s.kind is not Argument.CONSTANT:
            axes.plot(*zip(sums[k], nodes[network.node(s.unit)], strict=True), color="black", lw=1.1, zorder=1)


def _draw_node(axes: Any, place: Place, text: str, colour: str, size: float, edge: str = "black") -> None:
    axes.plot(*place, "o", ms=1.45 * size, color=colour, mec=edge, mew=0.9, zorder=3)
    axes.text(*place, text, ha="center", va="center_baseline", fontsize=0.72 * size, zorder=4)


def _draw_ends(axes: Any, readout: Place) -> None:
    """Draws the arrow from the readout to its real part, which is compared with the target."""
    end = (readout[0] + 1.7, readout[1])
    arrow = {"arrowstyle": "-|>", "color": "black", "lw": 1.3, "shrinkA": 8, "shrinkB": 16}
    axes.annotate("", end, readout, arrowprops=arrow, zorder=2)
    axes.text(0.5 * (readout[0] + end[0]), readout[1] + 0.28, r"$\Re$", ha="center", fontsize=13)
    _draw_node(axes, end, r"$\hat{f}$", "white", 19)
    axes.set(xlim=(-1.0, end[0] + 0.8), ylim=(-0.5 * _HEIGHT - 1.3, 0.5 * _HEIGHT + 0.9))


def _draw_words(axes: Any, network: Network, nodes: dict[int, Place], sums: dict[int, Place]) -> None:
    top = 0.5 * _HEIGHT + 0.35
    axes.text(0.0, top, "inputs\nin ℝ", ha="center", fontsize=9)
    for layer in range(len(network.layers)):
        left = 1.7 + layer * (_STEP + _SUM)
        axes.text(left + 0.5 * _SUM, top, f"layer {layer + 1}\nsums and operators", ha="center", fontsize=9)
    axes.text(sums[len(network.sums) - 1][0] + 0.9, top, "readout and its real part", ha="center", fontsize=9)
    for text, look in (
        ("complex weight whose imaginary part matters (feeds a denominator, log or root)", {"color": ORANGE, "lw": 2}),
        ("weight whose imaginary part has no effect", {"color": GREY, "lw": 2}),
        ("skip connection from a raw input", {"color": BLUE, "lw": 1.5, "ls": (0, (4, 2))}),
    ):
        axes.plot([], [], label=text, **look)
    axes.legend(loc="lower center", ncols=2, frameon=False, fontsize=9)
