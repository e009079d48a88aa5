"""The network's interface to the compiled core: its wiring, and masks in the core's layout."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ceql import _core
from ceql.network.wiring import OUTPUT, Wiring
from ceql.operators import Argument
from ceql.operators.tape import in_layout


@lru_cache(maxsize=64)
def core_wiring(network: Wiring) -> _core.Wiring:
    """Return the core's copy of the network's sums and edges."""
    sums = [
        (network.n_nodes if s.unit == OUTPUT else network.node(s.unit), s.first, s.last, s.kind is Argument.CONSTANT)
        for s in network.sums
    ]
    return _core.Wiring(
        n_inputs=network.n_inputs,
        source=in_layout(network.edge_source, np.int32),
        sums=in_layout(sums, np.int32),
        imaginary=in_layout(network.imaginary, np.int32),
        layer_of=in_layout(network.layer_of_unit, np.int32),
    )


def as_bytes(masks: np.ndarray) -> np.ndarray:
    """Return masks as rows of bytes, (masks, edges)."""
    return in_layout(np.asarray(masks, bool).reshape(-1, masks.shape[-1]), np.bool_).view(np.uint8)


def clean_up(network: Wiring, edges: np.ndarray, threads: int = 1) -> np.ndarray:
    """Remove edges that cannot matter, repeatedly, until none is left; `edges` is (..., n_edges), a copy is returned.

    A unit with an empty argument is removed as a whole (a division without a denominator, a product without a factor),
    and so is one that no longer reaches the output.
    """
    edges = np.asarray(edges, bool)
    return _core.clean(core_wiring(network), as_bytes(edges), threads).view(bool).reshape(edges.shape)


def smoothing_mask(network: Wiring, edges: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return masks over parameters in which every complex sum in use has imaginary parts of its own.

    If a denominator has a single edge, its imaginary part is proportional to its real part and smooths nothing. So the
    constant and the inputs in use always have an imaginary weight there, whether or not their real edge is alive.
    """
    edges = np.asarray(edges, bool)
    masks = _core.smooth(core_wiring(network), as_bytes(edges), threads).view(bool)
    return masks.reshape((*edges.shape[:-1], network.n_params))
