"""Places the nodes of a layered graph and routes its edges around the layers they pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ceql.expression.graph import OUTPUT, Graph

_SWEEPS = 8

Point = tuple[float, float]
Lane = tuple[int, int]  # a node and a layer: the node itself, or edges from it that pass a later layer


@dataclass(frozen=True)
class Layout:
    """The places of nodes (x is the layer, y grows upwards); `routes` holds the points that each edge passes on its
    way.
    """

    places: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]


def layered(graph: Graph, heights: Sequence[float]) -> Layout:
    """A layout with a column for each depth, ordered so that few edges cross; `heights` is the room each node needs."""
    depth = [node.depth for node in graph.nodes]
    # An edge goes from layer to layer; all edges of a node share one lane in the layers that they only pass.
    links: list[tuple[Lane, Lane]] = []
    for edge in graph.edges:
        passed = [(edge.source, d) for d in range(depth[edge.source], depth[edge.target])]
        links += pairwise([*passed, (edge.target, depth[edge.target])])
    lanes = dict.fromkeys([*enumerate(depth), *(lane for link in links for lane in link)])
    layers: list[list[Lane]] = [[] for _ in range(max(depth) + 1)]
    for lane in sorted(lanes, key=lambda lane: (graph.nodes[lane[0]].kind == OUTPUT, lane)):
        layers[lane[1]].append(lane)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        for layer in layers if forward else reversed(layers):
            _order(layer, links, _heights(layers, heights), forward)
    y = _heights(layers, heights)
    places = tuple((float(d), y[k, d]) for k, d in enumerate(depth))
    routes = tuple(
        tuple((float(d), y[edge.source, d]) for d in range(depth[edge.source] + 1, depth[edge.target]))
        for edge in graph.edges
    )
    return Layout(places, routes)


def _heights(layers: Sequence[Sequence[Lane]], heights: Sequence[float]) -> dict[Lane, float]:
    """The height of each lane; each layer is centred on zero, with the first lane at the top."""
    y: dict[Lane, float] = {}
    for number, layer in enumerate(layers):
        before = layers[number - 1] if number else []
        rooms = [0.6 if (k, number - 1) in before else heights[k] for k, _ in layer]
        top = sum(rooms) / 2
        for lane, room in zip(layer, rooms, strict=True):
            y[lane] = top - room / 2
            top -= room
    return y


def _order(layer: list[Lane], links: Sequence[tuple[Lane, Lane]], y: dict[Lane, float], forward: bool) -> None:
    """Sorts a layer by the mean height of each lane's neighbours on one side; lanes without neighbours keep their
    height.
    """

    def wanted(lane: Lane) -> float:
        near = [a for a, b in links if b == lane] if forward else [b for a, b in links if a == lane]
        return sum(y[other] for other in near) / len(near) if near else y[lane]

    layer.sort(key=lambda lane: -wanted(lane))
