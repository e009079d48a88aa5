from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.expression.graph import INPUT, OUTPUT, UNIT, Edge, Graph, Node, Port
from ceql.output.plots.layout import layered


@st.composite
def graphs(draw) -> Graph:
    count = draw(st.integers(1, 9))
    edges, nodes = [], []
    for k in range(count):
        sources = draw(st.sets(st.integers(0, k - 1), max_size=4)) if k else set()
        depth = max((nodes[s].depth + 1 for s in sources), default=0)
        nodes.append(Node("n", UNIT if sources else INPUT, depth, (Port(),)))
        edges += [Edge(s, k, 0, 1.0) for s in sorted(sources)]
    deepest = max(node.depth for node in nodes) + 1
    edges += [Edge(k, count, 0, 1.0) for k in range(count) if all(edge.source != k for edge in edges)]
    return Graph((*nodes, Node("y", OUTPUT, deepest, (Port(),))), tuple(edges))


@settings(max_examples=50, deadline=None)
@given(graphs(), st.data())
def test_nodes_of_a_layer_keep_apart_and_edges_pass_between_them(graph, data):
    heights = data.draw(st.lists(st.floats(0.5, 2.0), min_size=len(graph.nodes), max_size=len(graph.nodes)))
    layout = layered(graph, heights)
    for depth in {node.depth for node in graph.nodes}:
        own = [k for k, node in enumerate(graph.nodes) if node.depth == depth]
        lanes = sorted((layout.places[k][1], heights[k]) for k in own)
        assert all(b - a >= (u + v) / 2 - 1e-9 for (a, u), (b, v) in pairwise(lanes))
        assert {layout.places[k][0] for k in own} == {float(depth)}
    for edge, route in zip(graph.edges, layout.routes, strict=True):
        passed = range(graph.nodes[edge.source].depth + 1, graph.nodes[edge.target].depth)
        assert [x for x, _ in route] == [float(depth) for depth in passed]
        for x, y in route:
            near = [k for k, node in enumerate(graph.nodes) if node.depth == x]
            assert all(abs(y - layout.places[k][1]) >= heights[k] / 2 - 1e-9 for k in near)
