"""Converts a formula into a graph of operators: inputs, units whose arguments are weighted sums, and one output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sympy import Abs, Mul, Pow, Symbol, exp

from ceql.expression.symbolic import Expr, above_and_below, terms_of

INPUT, UNIT, OUTPUT = "input", "unit", "output"
_NUMERALS = {2: "²", 3: "³", 4: "⁴", 5: "⁵"}


@dataclass(frozen=True)
class Port:
    """An argument of a unit: the sum of its edges plus a constant."""

    bias: float = 0.0


@dataclass(frozen=True)
class Node:
    """A node of the graph; `label` is its operation on arguments called a, b, ..., and `depth` is its layer."""

    label: str
    kind: str
    depth: int
    ports: tuple[Port, ...] = ()


@dataclass(frozen=True)
class Edge:
    """The value of a node times a weight, added to an argument of another; nodes are given by their index."""

    source: int
    target: int
    port: int
    weight: float


@dataclass(frozen=True)
class Graph:
    """Nodes and edges; the last node is the output."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def graph_of(expression: Expr, symbols: Sequence[Symbol], output: str = "y") -> Graph:
    """Return the graph of a formula; unused inputs are left out, and equal parts are one node."""
    builder = _Builder({symbol: symbol.name for symbol in symbols})
    builder.add(output, OUTPUT, [expression])
    return Graph(tuple(builder.nodes), tuple(builder.edges))


@dataclass
class _Builder:
    names: dict[Symbol, str]
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    known: dict[Expr, int] = field(default_factory=dict)

    def place(self, part: Expr) -> int:
        """Return the index of the node for a part of the formula without a numeric factor, and add it if new."""
        if part not in self.known:
            if isinstance(part, Symbol):
                self.known[part] = self.add(self.names.get(part, part.name), INPUT, [])
            else:
                label, arguments = _unit(part)
                self.known[part] = self.add(label, UNIT, arguments)
        return self.known[part]

    def add(self, label: str, kind: str, arguments: Sequence[Expr]) -> int:
        sums = [_weighted_sum(argument) for argument in arguments]
        sources = [[(self.place(part), weight) for weight, part in terms] for _, terms in sums]
        depth = max((self.nodes[place].depth + 1 for port in sources for place, _ in port), default=0)
        self.nodes.append(Node(label, kind, depth, tuple(Port(bias) for bias, _ in sums)))
        own = len(self.nodes) - 1
        self.edges += [Edge(place, own, k, weight) for k, port in enumerate(sources) for place, weight in port]
        return own


def _weighted_sum(expression: Expr) -> tuple[float, list[tuple[float, Expr]]]:
    """Return the constant of a sum, and its other terms as pairs of a number and the rest."""
    bias, terms = 0.0, []
    for term in terms_of(expression):
        number, rest = term.as_independent(*term.free_symbols, as_Add=False)
        if rest.free_symbols:
            terms.append((float(number), rest))
        else:
            bias += float(term)
    return bias, terms


def _unit(part: Expr) -> tuple[str, list[Expr]]:
    """Return the label of a part's operation, and its arguments."""
    if isinstance(part, Mul):
        above, below = above_and_below(part)
        if below:
            return "a / b", [Mul(*above), Mul(*below)]
        return " · ".join("abcdefghij"[: len(above)]) if len(above) <= 10 else "product", list(above)
    if isinstance(part, Pow):
        return _power(part)
    if isinstance(part, Abs):
        return "|a|", [part.args[0]]
    if isinstance(part, exp):
        return "exp a", [part.args[0]]
    return f"{part.func.__name__} a", list(part.args)


def _power(part: Pow) -> tuple[str, list[Expr]]:
    base, exponent = part.args
    if not exponent.is_number:
        return "a ^ b", [base, exponent]
    value = float(exponent)
    if value < 0:
        return "1 / a", [Pow(base, -exponent)]
    if value == 0.5:
        return "√a", [base]
    return (f"a{_NUMERALS[int(value)]}" if value in _NUMERALS else f"a ^ {value:.4g}"), [base]
