"""What the search, elimination and the front need to know of a model, so that not only networks can be searched."""

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

    A start is a mask over the edges and a row of parameters. The last parameters are imaginary parts: they are in use
    while a fit goes through the complex domain, and gone from the formula. `Network` is one, a template's `Assembly`
    another.
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

    def smoothing_mask(self, edges: np.ndarray, threads: int = 1) -> np.ndarray:
        """The same with every imaginary part that smooths a singularity of a live edge."""
        ...

    @property
    def operator_names(self) -> frozenset[str]:
        """What a formula without a search may be made of in its place; none where only the search can fill it in."""
        ...

    def tape(self) -> Tape: ...

    def cleaned(self, edges: np.ndarray) -> np.ndarray:
        """Masks without the edges that cannot matter any more."""
        ...

    def permitted(self, edges: np.ndarray, needed: Sequence[Sequence[int]]) -> np.ndarray:
        """Per clean mask, whether it uses one input of each group in `needed`."""
        ...

    def drawn(self, count: int, stream: Stream, prior: Prior) -> np.ndarray:
        """Random clean masks, (count, n_edges)."""
        ...

    def mutated(self, parents: np.ndarray, stream: Stream, prior: Prior) -> np.ndarray:
        """One clean child per parent."""
        ...

    def grafted(self, parents: np.ndarray, stream: Stream, prior: Prior) -> np.ndarray:
        """One clean child per parent, with an operator put into one of its edges."""
        ...

    def started(self, params: np.ndarray, stream: Stream) -> np.ndarray:
        """Start values from normal deviates: what is known of the sizes of parameters is brought in here."""
        ...

    @property
    def linear_edges(self) -> np.ndarray | None:
        """The mask of a weighted sum of all inputs; None where the model has no such thing."""
        ...

    def upright(self, edges: np.ndarray, params: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The same parameters with the argument of every log negated that is negative at all rows of `x`."""
        ...

    def in_units(self, edges: np.ndarray, params: np.ndarray, symbols: Sequence[Any], scaling: Scaling) -> Any:
        """The formula in the user's units, as a SymPy expression."""
        ...

    def named(self, edges: np.ndarray, params: np.ndarray, shorten: Callable[[Any], Any]) -> NamedForm | None:
        """The formula over constants with names, where it is to stay as it is but for free parts, which `shorten`
        shortens; None where all of it is free."""
        ...

    def embedded(self, formula: Any, symbols: Sequence[Any], scaling: Scaling) -> list[Start]:
        """Starts that have the values of this formula; none where it does not fit in."""
        ...
