"""Layers of operators with weighted sums between them, as data.

Every argument of every operator is a weighted sum over its sources: the units of earlier layers, the raw inputs if skip
connections are on, and the constant one if `bias` is on. Weights are complex, but imaginary parts exist only on edges
into arguments where they matter, and on those of a `complex_readout`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from ceql import operators
from ceql.errors import InputError, unknown_name
from ceql.operators import Argument, Operator

# What a layer sees besides the previous layer: nothing, the raw inputs (as in the paper), or these and all earlier
# layers.
Skip = Literal["none", "inputs", "all"]

OUTPUT = -1  # in place of a unit's index: the readout


@dataclass(frozen=True)
class Sum:
    """A weighted sum: argument `position` of `unit`, or the readout. Its edges are `first` to `last - 1`."""

    unit: int
    position: int
    kind: Argument
    first: int
    last: int


def expand(layer: Sequence[str] | dict[str, int]) -> tuple[str, ...]:
    """Return a layer as names with repetition: {"mul": 2} becomes ("mul", "mul")."""
    if isinstance(layer, dict):
        return tuple(name for name, count in layer.items() for _ in range(count))
    return tuple(layer)


@dataclass(frozen=True)
class Wiring:
    """The nodes, sums and edges of a network. Nodes are the raw inputs, the constant one, then the units by layer."""

    n_inputs: int
    layers: Sequence[Sequence[str] | dict[str, int]]
    skip: Skip = "inputs"
    bias: bool = False
    complex_readout: bool = False  # whether operators that can pass on complex values have complex readout weights

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(expand(layer) for layer in self.layers))
        if self.n_inputs < 1:
            raise InputError("A network needs at least one input.")
        if not self.layers or not all(self.layers):
            raise InputError("A network needs at least one layer, and every layer at least one operator.")
        if self.skip not in get_args(Skip):
            raise unknown_name("skip connection", self.skip, get_args(Skip))
        for layer in self.layers:
            for name in layer:
                operators.get(name)

    def __reduce__(self) -> tuple:
        """Pickle operators by name, and the user's own as formulas, which are registered on unpickling."""
        own = {unit.name: unit.definition for unit in self.units if unit.definition}
        return _arrived, (type(self), self.n_inputs, self.layers, self.skip, self.bias, self.complex_readout, own)

    @property
    def one(self) -> int:
        return self.n_inputs

    @cached_property
    def units(self) -> tuple[Operator, ...]:
        return tuple(operators.get(name) for layer in self.layers for name in layer)

    @cached_property
    def layer_of_unit(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.layers)), [len(layer) for layer in self.layers])

    def node(self, unit: int | np.integer) -> int:
        """Return the node number of a unit."""
        return self.n_inputs + 1 + int(unit)

    @property
    def n_nodes(self) -> int:
        return self.n_inputs + 1 + len(self.units)

    def sources(self, layer: int) -> list[int]:
        """Return the nodes that a sum in this layer may use; the readout counts as one more layer."""
        inputs = list(range(self.n_inputs)) if self.skip != "none" or layer == 0 else []
        bias = [self.one] if self.bias else []
        if self.skip == "all":
            earlier = np.flatnonzero(self.layer_of_unit < layer)
        else:
            earlier = np.flatnonzero(self.layer_of_unit == layer - 1)
        return inputs + bias + [self.node(unit) for unit in earlier]

    @cached_property
    def _wiring(self) -> tuple[tuple[Sum, ...], np.ndarray]:
        sums, sources = [], []
        targets = [
            (unit, position, kind, int(self.layer_of_unit[unit]))
            for unit, operator in enumerate(self.units)
            for position, kind in enumerate(operator.arguments)
        ]
        targets.append((OUTPUT, 0, Argument.REAL, len(self.layers)))
        for unit, position, kind, layer in targets:
            drawn = [self.one] if kind is Argument.CONSTANT else self.sources(layer)
            sums.append(Sum(unit, position, kind, len(sources), len(sources) + len(drawn)))
            sources.extend(drawn)
        return tuple(sums), np.array(sources, np.int64)

    @property
    def sums(self) -> tuple[Sum, ...]:
        return self._wiring[0]

    @property
    def edge_source(self) -> np.ndarray:
        """Per edge, the node it comes from."""
        return self._wiring[1]

    @cached_property
    def edge_sum(self) -> np.ndarray:
        """Per edge, the sum it goes into."""
        return np.repeat(np.arange(len(self.sums)), [s.last - s.first for s in self.sums])

    @property
    def n_edges(self) -> int:
        return len(self.edge_source)

    @cached_property
    def imaginary(self) -> np.ndarray:
        """Per edge, the parameter that is the imaginary part of its weight, or -1. Real parts are 0 .. n_edges-1."""
        wanted = np.array([self.sums[s].kind is Argument.COMPLEX for s in self.edge_sum], bool)
        if self.complex_readout:
            hands_on = [False] * (self.n_inputs + 1) + [u.imaginary_part is not None for u in self.units]
            readout = self.sums[-1]
            wanted[readout.first :] = np.array(hands_on)[self.edge_source[readout.first :]]
        return np.where(wanted, self.n_edges + np.cumsum(wanted) - 1, -1)

    @property
    def n_params(self) -> int:
        return self.n_edges + int((self.imaginary >= 0).sum())

    @property
    def is_imaginary(self) -> np.ndarray:
        """Per parameter, whether it is an imaginary part."""
        return np.arange(self.n_params) >= self.n_edges

    @property
    def is_frequency(self) -> np.ndarray:
        """Per parameter, whether it is a frequency: a real weight inside a sine or cosine, not of the constant."""
        return self._is_frequency

    @cached_property
    def _is_frequency(self) -> np.ndarray:
        oscillates = [s.unit != OUTPUT and self.units[s.unit].oscillates for s in self.sums]
        of_edge = np.array(oscillates)[self.edge_sum] & (self.edge_source != self.one)
        return np.concatenate([of_edge, np.zeros(self.n_params - self.n_edges, bool)])

    def parameter_mask(self, edges: np.ndarray, imaginary: bool = True) -> np.ndarray:
        """Return the masks over parameters that belong to masks over edges, (..., n_edges) -> (..., n_params)."""
        edges = np.asarray(edges, bool)
        of_imaginary = edges[..., self.imaginary >= 0]
        return np.concatenate([edges, of_imaginary if imaginary else np.zeros_like(of_imaginary)], axis=-1)

    def complex_weights(self, params: np.ndarray) -> np.ndarray:
        """Return, per edge, the complex weight given by a parameter vector."""
        padded = np.concatenate([params, np.zeros((*params.shape[:-1], 1))], axis=-1)
        return params[..., : self.n_edges] + 1j * padded[..., self.imaginary]


def _arrived(
    kind: type[Wiring],
    n_inputs: int,
    layers: tuple,
    skip: Skip,
    bias: bool,
    complex_readout: bool,
    own: dict[str, tuple],
) -> Wiring:
    for name, definition in own.items():
        if name not in operators.names():
            operators.register(name, *definition)
    return kind(n_inputs, layers, skip, bias, complex_readout)
