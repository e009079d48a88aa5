"""Plots the formula as a network: inputs, operators in layers, the output, and the weights between them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from ceql.expression.graph import INPUT, OUTPUT, Node, graph_of
from ceql.formula import Formula
from ceql.output.plots.canvas import axes_or_new, plain
from ceql.output.plots.layout import Point, layered
from ceql.output.plots.style import BLUE, RED

_HALF_WIDTH = 0.26  # of a node, in layers
_LINE = 0.34  # height of a line of text, in units of the layout
_INCHES_ACROSS, _INCHES_UP = 1.75, 0.62
_FACES = {INPUT: "#e8f1f8", OUTPUT: "#fdf0d5"}
_STOPS = (0.5, 0.35, 0.65, 0.25, 0.75)  # where along an edge its weight may be written


def plot_network(formula: Formula, target: str, ax: Any = None) -> Any:
    """Plots the network; wider edges have larger weights, and negative weights are dashed."""
    graph = graph_of(formula.expression, formula.symbols, target)
    heights = [_height(node) + 0.35 for node in graph.nodes]
    layout = layered(graph, heights)
    x, y = np.array(layout.places).T
    room = 0.5 * max(heights)
    across, up = float(np.ptp(x)) + 0.9, float(np.ptp(y)) + 2 * room
    ax = axes_or_new(ax, max(2.4, _INCHES_ACROSS * across), max(1.4, _INCHES_UP * up))
    ax.set(xlim=(x.min() - 0.45, x.max() + 0.45), ylim=(y.min() - room, y.max() + room))
    ax.set_axis_off()
    size = _font_size(ax)
    largest = max((abs(edge.weight) for edge in graph.edges), default=1.0) or 1.0
    written: list[Point] = []
    for edge, route in zip(graph.edges, layout.routes, strict=True):
        begin = (layout.places[edge.source][0] + _HALF_WIDTH, layout.places[edge.source][1])
        end = _port_place(graph.nodes[edge.target], layout.places[edge.target], edge.port)
        width = 0.8 + 2.6 * math.sqrt(abs(edge.weight) / largest)
        _draw_edge(ax, [begin, *route, end], edge.weight, width, size, written)
    for node, place in zip(graph.nodes, layout.places, strict=True):
        _draw_node(ax, node, place, size)
    return ax


def _lines(node: Node) -> list[str]:
    """The lines of text in a box: the operator, and the constants added to its arguments."""
    biases = [(name, port.bias) for name, port in zip("abcdefghij", node.ports, strict=False) if port.bias]
    signed = [(name, f"{'+' if bias >= 0 else '−'} {_short(abs(bias))}") for name, bias in biases]
    return [node.label, *(words if node.kind == OUTPUT else f"{name}: {words}" for name, words in signed)]


def _short(value: float) -> str:
    return f"{value:.5g}".replace("-", "−")


def _height(node: Node) -> float:
    return max(_LINE * (len(_lines(node)) + 0.6), _LINE * len(node.ports) * 1.1)


def _font_size(ax: Any) -> float:
    """The font size, smaller if the axes are too small for the graph."""
    box = ax.get_window_extent()
    across = ax.get_xlim()[1] - ax.get_xlim()[0]
    points = box.width / ax.figure.dpi * 72 / across
    return float(np.clip(9.5 * points / (_INCHES_ACROSS * 72), 4.5, 9.5))


def _port_place(node: Node, place: Point, port: int) -> Point:
    count = max(1, len(node.ports))
    return place[0] - _HALF_WIDTH, place[1] + _height(node) * (0.5 - (port + 0.5) / count)


def _draw_node(ax: Any, node: Node, place: Point, size: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    height = _height(node)
    corner = (place[0] - _HALF_WIDTH, place[1] - height / 2)
    style = {"boxstyle": "round,pad=0,rounding_size=0.07", "mutation_aspect": _INCHES_ACROSS / _INCHES_UP}
    face = _FACES.get(node.kind, "white")
    ax.add_patch(FancyBboxPatch(corner, 2 * _HALF_WIDTH, height, fc=face, ec="0.25", lw=1.0, zorder=4, **style))
    lines = _lines(node)
    for k, line in enumerate(lines):
        y = place[1] + _LINE * ((len(lines) - 1) / 2 - k)
        text = plain(line, 14)
        ax.text(place[0], y, text, ha="center", va="center", fontsize=size if k == 0 else 0.85 * size, zorder=5)
    if len(node.ports) > 1:
        for port, name in enumerate("abcdefghij"[: len(node.ports)]):
            x, y = _port_place(node, place, port)
            ax.text(x + 0.03, y, name, ha="left", va="center", fontsize=0.75 * size, color="0.35", zorder=5)


def _draw_edge(ax: Any, route: list[Point], weight: float, width: float, size: float, written: list[Point]) -> None:
    """Draws an edge as a curve that is level at every point of its route, with its weight where there is room."""
    t = np.linspace(0.0, 1.0, 40)
    rise = t * t * (3 - 2 * t)
    x = np.concatenate([a[0] + (b[0] - a[0]) * t for a, b in pairwise(route)])
    y = np.concatenate([a[1] + (b[1] - a[1]) * rise for a, b in pairwise(route)])
    colour, dashes = (BLUE, "-") if weight >= 0 else (RED, (0, (4, 1.5)))
    ax.plot(x, y, color=colour, ls=dashes, lw=width, zorder=2, solid_capstyle="butt")
    if weight == 1.0:
        return
    # Only the last stretch belongs to this edge alone; before it, edges of one node share their route.
    last = len(x) - len(x) // (len(route) - 1)
    stops = [last + int(stop * (len(x) - 1 - last)) for stop in _STOPS]
    free = [k for k in stops if all(abs(x[k] - a) > 0.3 or abs(y[k] - b) > _LINE for a, b in written)]
    k = free[0] if free else stops[0]
    written.append((x[k], y[k]))
    box = {"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none", "alpha": 0.9}
    text = _short(weight)
    ax.text(x[k], y[k], text, ha="center", va="center", fontsize=0.9 * size, color=colour, bbox=box, zorder=3)
