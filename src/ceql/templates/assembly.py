"""A template put together for the columns of a table: one model with edges, masks and a tape, ready to be searched.

Its edges are, in this order: parameters that may be left out, the gates of terms, and the edges of every unknown
function. After them come the parameters that are always there, then the imaginary parts. A term without its gate, or
with a function of which nothing is left, is gone as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ceql.data.dataset import Scaling
from ceql.network import Network, Start
from ceql.network.sampling import Prior
from ceql.operators.tape import Tape
from ceql.templates import drawing
from ceql.templates.extraction import expression_of, uprighted
from ceql.templates.reading import gate_of, read_frame, read_terms
from ceql.templates.recording import record
from ceql.templates.template import Parameter, Template, Unknown

WHOLE = -1  # stands for the template itself where a term is asked for
_TINY = 1e-6  # the root of the smallest value of a parameter with a sign, in units of its size


@dataclass(frozen=True, eq=False)
class Number:
    """A parameter in its place: `index` in the row of parameters, `term` it belongs to or WHOLE."""

    name: str
    parameter: Parameter
    term: int
    index: int

    def value(self, raw: Any) -> Any:
        """The number from what the fit holds: with a sign it is a square, which has one."""
        if self.parameter.sign is None:
            return self.parameter.size * raw
        return (1.0 if self.parameter.sign == "+" else -1.0) * self.parameter.size * raw**2

    def raw(self, value: Any) -> Any:
        """What the fit holds for this value."""
        if self.parameter.sign is None:
            return value / self.parameter.size
        return np.sqrt(np.abs(value) / self.parameter.size)

    def slope(self, raw: float) -> float:
        """How fast the number changes with what the fit holds."""
        return self.parameter.size * (1.0 if self.parameter.sign is None else 2.0 * raw)

    @property
    def bounds(self) -> tuple[float, float]:
        if self.parameter.sign is not None:
            return _TINY, np.inf
        return self.parameter.low / self.parameter.size, self.parameter.high / self.parameter.size


@dataclass(frozen=True, eq=False)
class Block:
    """An unknown function in its place: its network, the columns it reads, its edges and its imaginary parts."""

    name: str
    function: Unknown
    term: int
    network: Network
    columns: tuple[int, ...]
    first: int
    imaginary: int

    @property
    def edges(self) -> slice:
        return slice(self.first, self.first + self.network.n_edges)

    @property
    def imaginary_parts(self) -> slice:
        return slice(self.imaginary, self.imaginary + self.network.n_params - self.network.n_edges)

    def params(self, params: np.ndarray) -> np.ndarray:
        """The network's own row of parameters."""
        return np.concatenate([params[..., self.edges], params[..., self.imaginary_parts]], axis=-1)


@dataclass(frozen=True, eq=False)
class Term:
    """One term of a sum: `gate` is the edge that switches it on, `edges` all that go with it."""

    sum: str
    gate: int
    held: bool  # whether the gate is a bare switch, held at one
    edges: np.ndarray


@dataclass(frozen=True, eq=False)
class Assembly:
    """A template for given columns and a scaling of the data; a `Structure` of the search."""

    template: Template
    names: tuple[str, ...]
    scaling: Scaling

    def __post_init__(self) -> None:
        _ = self.frame, self.term_forms  # every complaint about the text comes here

    def __reduce__(self) -> tuple:
        """Travels as data; the networks go along for the operators of the user's own that they bring."""
        return _arrived, ([block.network for block in self.blocks], self.template, self.names, self.scaling)

    @cached_property
    def frame(self) -> Any:
        return read_frame(self.template, self.names)

    @cached_property
    def term_forms(self) -> dict[str, dict[str, Any]]:
        return {name: read_terms(self.template, name, self.names) for name in self.template.sums}

    @cached_property
    def _layout(self) -> _Layout:
        return _lay_out(self)

    @property
    def numbers(self) -> tuple[Number, ...]:
        return self._layout.numbers

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self._layout.blocks

    @property
    def terms(self) -> tuple[Term, ...]:
        return self._layout.terms

    @property
    def n_inputs(self) -> int:
        return len(self.names)

    @property
    def n_edges(self) -> int:
        return self._layout.n_edges

    @property
    def n_real(self) -> int:
        """Parameters that are no imaginary parts: the edges, then those that are always there."""
        return self._layout.n_real

    @property
    def n_params(self) -> int:
        return self.n_real + sum(b.network.n_params - b.network.n_edges for b in self.blocks) + self.n_smoothing

    @property
    def n_smoothing(self) -> int:
        """Imaginary parts of the frame; they are the last parameters."""
        return self._recorded[1]

    @cached_property
    def _recorded(self) -> tuple[Tape, int]:
        return record(self)

    def tape(self) -> Tape:
        return self._recorded[0]

    @property
    def edge_source(self) -> np.ndarray:
        return self._edge_marks[0]

    @property
    def is_frequency(self) -> np.ndarray:
        return self._edge_marks[1]

    @property
    def is_imaginary(self) -> np.ndarray:
        return np.arange(self.n_params) >= self.n_real

    @cached_property
    def _edge_marks(self) -> tuple[np.ndarray, np.ndarray]:
        source, frequency = np.full(self.n_edges, -1), np.zeros(self.n_params, bool)
        for block in self.blocks:
            columns = np.array([*block.columns, -1])
            source[block.edges] = columns[np.minimum(block.network.edge_source, len(block.columns))]
            frequency[block.edges] = block.network.is_frequency[: block.network.n_edges]
        return source, frequency

    def parameter_mask(self, edges: np.ndarray, imaginary: bool = True) -> np.ndarray:
        """With the imaginary parts of live edges or without any."""
        return self._mask(edges, imaginary, smoothing=False)

    def smoothing_mask(self, edges: np.ndarray) -> np.ndarray:
        return self._mask(edges, imaginary=True, smoothing=True)

    def _mask(self, edges: np.ndarray, imaginary: bool, smoothing: bool) -> np.ndarray:
        edges = np.asarray(edges, bool)
        masks = np.zeros((*edges.shape[:-1], self.n_params), bool)
        masks[..., : self.n_edges] = edges
        # Of a term that is off these are out of the core's sight, on or not.
        masks[..., self.n_edges : self.n_real] = True
        if imaginary:
            masks[..., self.n_params - self.n_smoothing :] = smoothing
            for block in self.blocks:
                own = edges[..., block.edges]
                of_network = block.network.smoothing_mask(own) if smoothing else block.network.parameter_mask(own)
                masks[..., block.imaginary_parts] = of_network[..., block.network.n_edges :]
        return masks

    @property
    def operator_names(self) -> frozenset[str]:
        """None: a template is filled in by the search alone."""
        return frozenset()

    @property
    def linear_edges(self) -> None:
        return None

    def embedded(self, formula: Any, symbols: Sequence[Any], scaling: Scaling) -> list[Start]:
        return []

    def permitted(self, edges: np.ndarray, needed: Sequence[Sequence[int]]) -> np.ndarray:
        return np.ones(len(edges), bool)

    def cleaned(self, edges: np.ndarray) -> np.ndarray:
        edges = np.array(edges, bool)
        for block in self.blocks:
            edges[..., block.edges] = block.network.cleaned(edges[..., block.edges])
        for number, term in enumerate(self.terms):
            alive = edges[..., term.gate].copy()
            for block in self.blocks:
                if block.term == number:
                    alive &= edges[..., block.edges].any(axis=-1)
            edges[..., term.edges] &= alive[..., None]
        return edges

    def drawn(self, count: int, rng: np.random.Generator, prior: Prior) -> np.ndarray:
        return drawing.draw(self, count, rng, prior)

    def mutated(self, parents: np.ndarray, rng: np.random.Generator, prior: Prior) -> np.ndarray:
        return drawing.mutate(self, parents, rng, prior)

    def grafted(self, parents: np.ndarray, rng: np.random.Generator, prior: Prior) -> np.ndarray:
        return drawing.mutate(self, parents, rng, prior)

    def started(self, params: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return drawing.start(self, params, rng)

    def upright(self, edges: np.ndarray, params: np.ndarray, x: np.ndarray) -> np.ndarray:
        return uprighted(self, edges, params, x)

    def in_units(self, edges: np.ndarray, params: np.ndarray, symbols: Sequence[Any], scaling: Scaling) -> Any:
        return expression_of(self, edges, params, symbols)


def _arrived(networks: list[Network], template: Template, names: tuple[str, ...], scaling: Scaling) -> Assembly:
    return Assembly(template, names, scaling)


def network_of(function: Unknown) -> Network:
    """An unknown function as a network. Without operators one unit is there that nothing will use."""
    twice = {"square", "mul"} & set(function.operators) if len(function.inputs) > 1 else set()
    layer = tuple(name for name in function.operators for _ in range(2 if name in twice else 1)) or ("id",)
    return Network(len(function.inputs), (layer,) * function.layers, skip="all", bias=function.constant)


@dataclass(frozen=True, eq=False)
class _Owner:
    """The template itself, or one term of it, with what belongs to it. `gate` names the parameter that switches it."""

    term: int
    parameters: Mapping[str, Parameter]
    functions: Mapping[str, Unknown]
    sum: str = ""
    gate: str | None = None


@dataclass(frozen=True, eq=False)
class _Layout:
    """Every part of a template in its place among edges and parameters."""

    numbers: tuple[Number, ...]
    blocks: tuple[Block, ...]
    terms: tuple[Term, ...]
    n_edges: int
    n_real: int


def _owners(assembly: Assembly) -> list[_Owner]:
    template = assembly.template
    owners = [_Owner(WHOLE, template.parameters, template.functions)]
    for name, terms in template.sums.items():
        gate = gate_of(terms, assembly.term_forms[name])
        first = len(owners) - 1
        owners += [_Owner(first + k, terms.parameters, terms.functions, name, gate) for k in range(terms.most)]
    return owners


def _lay_out(assembly: Assembly) -> _Layout:
    owners = _owners(assembly)
    declared = [(name, parameter, owner.term) for owner in owners for name, parameter in owner.parameters.items()]
    optional = [number for number in declared if number[1].may_vanish]
    fixed = [number for number in declared if not number[1].may_vanish]
    n_edges = len(optional)
    gates: dict[int, int] = {}
    for owner in owners[1:]:
        if owner.gate is None:
            gates[owner.term] = n_edges
            n_edges += 1
        else:
            (gates[owner.term],) = (k for k, n in enumerate(optional) if n[0] == owner.gate and n[2] == owner.term)
    placed: list[tuple[str, Unknown, int, Network, int]] = []
    for owner in owners:
        for name, function in owner.functions.items():
            placed.append((name, function, owner.term, network_of(function), n_edges))
            n_edges += placed[-1][3].n_edges
    imaginary = n_real = n_edges + len(fixed)
    blocks = []
    for name, function, term, network, first in placed:
        columns = tuple(assembly.names.index(column) for column in function.inputs)
        blocks.append(Block(name, function, term, network, columns, first, imaginary))
        imaginary += network.n_params - network.n_edges
    numbers = [Number(name, parameter, term, k) for k, (name, parameter, term) in enumerate(optional)]
    numbers += [Number(name, parameter, term, n_edges + k) for k, (name, parameter, term) in enumerate(fixed)]
    terms = [
        Term(owner.sum, gates[owner.term], owner.gate is None, _edges_of(owner.term, gates, numbers, blocks, n_edges))
        for owner in owners[1:]
    ]
    return _Layout(tuple(numbers), tuple(blocks), tuple(terms), n_edges, n_real)


def _edges_of(
    term: int, gates: Mapping[int, int], numbers: list[Number], blocks: list[Block], n_edges: int
) -> np.ndarray:
    own = [gates[term], *(n.index for n in numbers if n.term == term and n.index < n_edges)]
    own += [edge for block in blocks if block.term == term for edge in range(block.edges.start, block.edges.stop)]
    return np.unique(own)
