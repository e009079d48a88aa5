"""The graph computes what the formula computes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.expression import compile_numpy, parse_formula
from ceql.expression.graph import INPUT, OUTPUT, Graph, graph_of
from ceql.formula import make_symbols

NAMES = ("x1", "x2", "x3")
SYMBOLS = make_symbols(NAMES)
UNITS = {
    "a / b": np.divide, "1 / a": lambda a: 1 / a, "√a": np.sqrt, "a ^ b": np.power, "|a|": np.abs,
    "a²": lambda a: a**2, "a³": lambda a: a**3, "a⁴": lambda a: a**4, "a⁵": lambda a: a**5,
    "log a": np.log, "sin a": np.sin,
}  # fmt: skip


def applied(label: str, arguments: list[np.ndarray]) -> np.ndarray:
    if label in UNITS:
        return UNITS[label](*arguments)
    if label.startswith("a ^ "):
        return arguments[0] ** float(label.removeprefix("a ^ "))
    assert label == " · ".join("abcdefghij"[: len(arguments)])
    return np.prod(arguments, axis=0)


def value(graph: Graph, x: np.ndarray) -> np.ndarray:
    values: list[np.ndarray] = []
    for k, node in enumerate(graph.nodes):
        sums = [np.full(len(x), port.bias) for port in node.ports]
        for edge in graph.edges:
            if edge.target == k:
                sums[edge.port] = sums[edge.port] + edge.weight * values[edge.source]
        if node.kind == INPUT:
            values.append(x[:, NAMES.index(node.label)])
        else:
            values.append(sums[0] if node.kind == OUTPUT else applied(node.label, sums))
    return values[-1]


numbers = st.integers(1, 40).map(lambda n: f"{n / 8}")
formulas = st.recursive(
    st.sampled_from(NAMES) | numbers,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" + ", " - ", "*", "/"]), inner).map(lambda t: f"({t[0]}){t[1]}({t[2]})"),
        inner.map(lambda e: f"sqrt(abs({e}) + 1)"),
        inner.map(lambda e: f"log(({e})**2 + 1.5)"),
        inner.map(lambda e: f"sin({e})"),
        inner.map(lambda e: f"(abs({e}) + 0.5)**1.7"),
    ),
    max_leaves=6,
)


@settings(max_examples=30, deadline=None)
@given(formulas)
def test_the_graph_has_the_values_of_the_formula(text):
    try:
        expression = parse_formula(text, NAMES)
    except ValueError:  # a division by zero
        return
    x = np.random.default_rng(0).uniform(0.5, 2, (7, 3))
    graph = graph_of(expression, SYMBOLS)
    wanted = np.broadcast_to(compile_numpy(expression, SYMBOLS)(x), 7)
    got = value(graph, x)
    np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-8 * (1 + np.abs(wanted).max()))


@settings(max_examples=30, deadline=None)
@given(formulas)
def test_edges_lead_forward_and_inputs_come_first(text):
    try:
        expression = parse_formula(text, NAMES)
    except ValueError:
        return
    graph = graph_of(expression, SYMBOLS, "image")
    assert all(graph.nodes[edge.source].depth < graph.nodes[edge.target].depth for edge in graph.edges)
    assert (graph.nodes[-1].label, graph.nodes[-1].kind) == ("image", OUTPUT)
    used = {node.label for node in graph.nodes if node.kind == INPUT}
    assert used == {symbol.name for symbol in expression.free_symbols}


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("3.2*x1/(x1 - 3.2)", ["x1", "a / b", "y"]),
        ("1.5 - 1.45/(x1 + 0.7)", ["x1", "1 / a", "y"]),
        ("x1 + sin(x1)*sin(x1)", ["x1", "sin a", "a²", "y"]),
        ("4.5", ["y"]),
        ("x1**x2", ["x1", "x2", "a ^ b", "y"]),
        ("sqrt(2*x1)", ["x1", "√a", "y"]),
    ],
)
def test_nodes_are_the_operators(text, labels):
    assert [node.label for node in graph_of(parse_formula(text, NAMES), SYMBOLS).nodes] == labels
