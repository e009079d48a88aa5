"""The interface of a model that can be searched, so that the search is not limited to networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from ceql.data.dataset import Scaling
    from ceql.expression.constants.named import NamedForm
    from ceql.network.sampling import Prior, Stream
    from ceql.operators.tape import Tape


Start = tuple[np.ndarray, np.ndarray]  # a mask over the edges and a row of parameters


class Structure(Protocol):
    """A model with edges that can be alive or not, numbered like its first parameters.

    A start is a mask over the edges and a row of parameters. The last parameters are imaginary parts, which are used
    while a fit goes through the complex domain and do not occur in the formula. `Network` and a template's `Assembly`
    implement this protocol.
    """

    @property
    def n_inputs(self) -> int: ...

    @property
    def n_edges(self) -> int: ...

    @property
    def n_params(self) -> int: ...

    @property
    def edge_source(self) -> np.ndarray:
        """Per edge, the index of the input column it comes from; any other number for other sources."""
        ...

    @property
    def is_imaginary(self) -> np.ndarray:
        """Per parameter, whether it is an imaginary part."""
        ...

    @property
    def is_frequency(self) -> np.ndarray:
        """Per parameter, whether it is a frequency: a real weight inside a sine or cosine, not of its constant."""
        ...

    def parameter_mask(self, edges: np.ndarray, imaginary: bool = True) -> np.ndarray:
        """Return the masks over parameters that belong to masks over edges, (..., n_edges) -> (..., n_params)."""
        ...

    def smoothing_mask(self, edges: np.ndarray, threads: int = 1) -> np.ndarray:
        """Return the same with every imaginary part that smooths a singularity of a live edge."""
        ...

    @property
    def operator_names(self) -> frozenset[str]:
        """The operators that formulas found without a search may contain; none if the model needs a search."""
        ...

    def tape(self) -> Tape: ...

    def cleaned(self, edges: np.ndarray) -> np.ndarray:
        """Return the masks without edges that cannot matter."""
        ...

    def permitted(self, edges: np.ndarray, needed: Sequence[Sequence[int]]) -> np.ndarray:
        """Return, per clean mask, whether it uses at least one input of each group in `needed`."""
        ...

    def drawn(self, count: int, stream: Stream, prior: Prior) -> np.ndarray:
        """Return random clean masks, (count, n_edges)."""
        ...

    def mutated(self, parents: np.ndarray, stream: Stream, prior: Prior) -> np.ndarray:
        """Return one clean mutated child per parent."""
        ...

    def grafted(self, parents: np.ndarray, stream: Stream, prior: Prior) -> np.ndarray:
        """Return one clean child per parent, with an operator inserted into one of its edges."""
        ...

    def started(self, params: np.ndarray, stream: Stream) -> np.ndarray:
        """Return start values made from normal deviates, using what is known about the sizes of parameters."""
        ...

    @property
    def linear_edges(self) -> np.ndarray | None:
        """The mask of a weighted sum of all inputs; None if the model cannot be such a sum."""
        ...

    def upright(self, edges: np.ndarray, params: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the parameters with the argument of a log negated wherever it is negative in all rows of `x`."""
        ...

    def in_units(self, edges: np.ndarray, params: np.ndarray, symbols: Sequence[Any], scaling: Scaling) -> Any:
        """Return the formula in the user's units, as a SymPy expression."""
        ...

    def named(self, edges: np.ndarray, params: np.ndarray, shorten: Callable[[Any], Any]) -> NamedForm | None:
        """Return the formula over named constants, with `shorten` applied to its free parts only; None if all of it is
        free."""
        ...

    def embedded(self, formula: Any, symbols: Sequence[Any], scaling: Scaling) -> list[Start]:
        """Return starts that compute this formula; none if it does not fit into the model."""
        ...
