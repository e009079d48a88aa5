"""What the search, elimination and the front need to know of a model, so that not only networks can be searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ceql.network.network import Network

if TYPE_CHECKING:
    from ceql.data.dataset import Scaling
    from ceql.network.sampling import Prior
    from ceql.operators.tape import Tape


class Structure(Protocol):
    """A model with edges that can be alive or not, numbered like its first parameters.

    A start is a mask over the edges and a row of parameters. The last parameters are imaginary parts: they are in use
    while a fit goes through the complex domain, and gone from the formula. `Network` offers the same through the
    functions `network_tape`, `clean_up`, `draw`, `mutate`, `upright` and `in_units`, which ask any other structure for
    its own way.
    """

    @property
    def n_inputs(self) -> int: ...

    @property
    def n_edges(self) -> int: ...

    @property
    def n_params(self) -> int: ...

    @property
    def edge_source(self) -> np.ndarray:
        """Per edge, the input column it comes from, or any other number."""
        ...

    @property
    def is_imaginary(self) -> np.ndarray:
        """Per parameter, whether it is an imaginary part."""
        ...

    @property
    def is_frequency(self) -> np.ndarray:
        """Per parameter, whether it is the real weight of an input inside a sine or a cosine."""
        ...

    def parameter_mask(self, edges: np.ndarray, imaginary: bool = True) -> np.ndarray:
        """Masks over parameters from masks over edges, (..., n_edges) -> (..., n_params)."""
        ...

    def smoothing_mask(self, edges: np.ndarray) -> np.ndarray:
        """The same with every imaginary part that smooths a singularity of a live edge."""
        ...

    def tape(self) -> Tape: ...

    def cleaned(self, edges: np.ndarray) -> np.ndarray:
        """Masks without the edges that cannot matter any more."""
        ...

    def drawn(self, count: int, rng: np.random.Generator, prior: Prior) -> np.ndarray:
        """Random clean masks, (count, n_edges)."""
        ...

    def mutated(self, parents: np.ndarray, rng: np.random.Generator, prior: Prior) -> np.ndarray:
        """One clean child per parent."""
        ...

    def started(self, params: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Start values from normal deviates: what is known of the sizes of parameters is brought in here."""
        ...

    def upright(self, edges: np.ndarray, params: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The same parameters with the argument of every log negated that is negative at all rows of `x`."""
        ...

    def in_units(self, edges: np.ndarray, params: np.ndarray, symbols: Sequence[Any], scaling: Scaling) -> Any:
        """The formula in the user's units, as a SymPy expression."""
        ...


Searchable = Network | Structure
