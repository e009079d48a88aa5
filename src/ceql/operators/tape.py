"""Programs for the core: nodes that are weighted sums of earlier nodes or operators on them.

A tape has slots (input columns, the constant one, then a slot per node) and parameters. A batch of starts shares one
tape; each start switches parameters off by a mask and the core then walks only what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ceql import _core

OPCODES: dict[str, int] = dict(_core.OPCODES)


def in_layout(values: ArrayLike, dtype: type[np.generic]) -> np.ndarray:
    """Return an array in the core's layout: contiguous and aligned, unlike some views of other arrays or buffers."""
    return np.require(np.ascontiguousarray(values, dtype), requirements="A")


@dataclass(frozen=True, eq=False)
class Tape:
    """A finished program. ``partner[k]`` is the parameter that is the imaginary part of parameter ``k``, or -1."""

    n_inputs: int
    nodes: np.ndarray
    edges: np.ndarray
    coefficients: np.ndarray
    n_params: int
    output: int
    aux: np.ndarray
    partner: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @cached_property
    def core(self) -> _core.Tape:
        """The core's copy of the tape; the core rejects a malformed tape with a ValueError."""
        return _core.Tape(
            n_inputs=self.n_inputs,
            nodes=in_layout(self.nodes, np.int32),
            edges=in_layout(self.edges, np.int32),
            coefficients=in_layout(self.coefficients, np.float64),
            n_params=self.n_params,
            output=self.output,
            aux=in_layout(self.aux, np.int32),
            partner=in_layout(self.partner, np.int32),
            lower=in_layout(self.lower, np.float64),
            upper=in_layout(self.upper, np.float64),
        )


@dataclass
class TapeBuilder:
    """Builds a tape node by node and parameter by parameter."""

    n_inputs: int
    _nodes: list[tuple[int, int, int, int]] = field(default_factory=list)
    _edges: list[tuple[int, int]] = field(default_factory=list)
    _coefficients: list[float] = field(default_factory=list)
    _bounds: list[tuple[float, float]] = field(default_factory=list)
    _partner: dict[int, int] = field(default_factory=dict)
    _aux: list[int] = field(default_factory=list)

    @property
    def one(self) -> int:
        """The slot that is 1 for every sample."""
        return self.n_inputs

    def parameter(self, lower: float = -np.inf, upper: float = np.inf) -> int:
        self._bounds.append((lower, upper))
        return len(self._bounds) - 1

    def pair(self, real: int, imaginary: int) -> None:
        """Declare two parameters as the real and imaginary part of one complex number."""
        self._partner[real] = imaginary

    def linear(self, terms: list[tuple[int, int, float]]) -> int:
        """Add a weighted sum over (source slot, parameter or -1, fixed coefficient) and return its slot."""
        first = len(self._edges)
        for source, parameter, coefficient in terms:
            self._edges.append((source, parameter))
            self._coefficients.append(coefficient)
        return self._add(OPCODES["linear"], first, len(terms), -1)

    def operator(self, name: str, *slots: int | None) -> int:
        a, b, c = (-1 if slot is None else slot for slot in (*slots, None, None, None)[:3])
        return self._add(OPCODES[name], a, b, c)

    def penalise(self, slot: int) -> None:
        """Mark this slot as penalised: its mean square can be added to the objective."""
        self._aux.append(slot)

    def finish(self, output: int) -> Tape:
        n = len(self._bounds)
        partner = np.full(n, -1, np.int32)
        for real, imaginary in self._partner.items():
            partner[real] = imaginary
        bounds = np.array(self._bounds, float).reshape(n, 2)
        return Tape(
            n_inputs=self.n_inputs,
            nodes=np.array(self._nodes, np.int32).reshape(-1, 4),
            edges=np.array(self._edges, np.int32).reshape(-1, 2),
            coefficients=np.array(self._coefficients, float),
            n_params=n,
            output=output,
            aux=np.array(self._aux, np.int32),
            partner=partner,
            lower=bounds[:, 0].copy(),
            upper=bounds[:, 1].copy(),
        )

    def _add(self, op: int, a: int, b: int, c: int) -> int:
        self._nodes.append((op, a, b, c))
        return self.n_inputs + len(self._nodes)
