"""The network as a searchable model: its wiring and the methods of `Structure`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ceql.network import compiled, embedding, extract, recording, sampling
from ceql.network.sampling import Prior, Stream
from ceql.network.wiring import Wiring

if TYPE_CHECKING:
    from ceql.data.dataset import Scaling
    from ceql.network.structure import Start
    from ceql.operators.tape import Tape


class Network(Wiring):
    """Layers of operators with weighted sums between them; a `Structure` of the search."""

    @property
    def operator_names(self) -> frozenset[str]:
        return frozenset(operator.name for operator in self.units)

    def tape(self) -> Tape:
        return recording.network_tape(self)

    def cleaned(self, edges: np.ndarray) -> np.ndarray:
        return compiled.clean_up(self, edges)

    def smoothing_mask(self, edges: np.ndarray, threads: int = 1) -> np.ndarray:
        return compiled.smoothing_mask(self, edges, threads)

    def permitted(self, edges: np.ndarray, needed: Sequence[Sequence[int]]) -> np.ndarray:
        return sampling.permitted(self, edges, Prior(needed=tuple(map(tuple, needed))))

    def drawn(self, count: int, stream: Stream, prior: Prior) -> np.ndarray:
        return sampling.draw(self, count, stream, prior)

    def mutated(self, parents: np.ndarray, stream: Stream, prior: Prior) -> np.ndarray:
        return sampling.mutate(self, parents, stream, prior)

    def grafted(self, parents: np.ndarray, stream: Stream, prior: Prior) -> np.ndarray:
        return sampling.graft(self, parents, stream, prior)

    def started(self, params: np.ndarray, stream: Stream) -> np.ndarray:
        return params

    @property
    def linear_edges(self) -> np.ndarray | None:
        readout = self.sums[-1]
        edges = np.zeros(self.n_edges, bool)
        edges[readout.first : readout.last] = self.edge_source[readout.first : readout.last] <= self.one
        return edges

    def upright(self, edges: np.ndarray, params: np.ndarray, x: np.ndarray) -> np.ndarray:
        return extract.upright(self, edges, params, x)

    def named(self, edges: np.ndarray, params: np.ndarray, shorten: Callable[[Any], Any]) -> None:
        """Return None: no part of a network's formula is fixed."""

    def in_units(self, edges: np.ndarray, params: np.ndarray, symbols: Sequence[Any], scaling: Scaling) -> Any:
        return extract.in_units(self, edges, params, symbols, scaling)

    def embedded(self, formula: Any, symbols: Sequence[Any], scaling: Scaling) -> list[Start]:
        scales = scaling.x, scaling.y
        placed = (embedding.embed(formula, self, symbols, *scales, late) for late in (False, True))
        return [pair for pair in placed if pair is not None]
