"""Removes the free scale of quotients: numerator and denominator may be divided by the same number."""

from __future__ import annotations

import numpy as np

from ceql.network import Network


def normalised(network: Network, edges: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Return the parameters with the weights of every quotient scaled so that the largest live one has size one."""
    params = params.copy()
    sizes = np.abs(network.complex_weights(params))
    for unit, operator in enumerate(network.units):
        if operator.name != "div":
            continue
        both = np.concatenate([np.arange(s.first, s.last) for s in network.sums if s.unit == unit])
        largest = np.max(sizes[both], initial=0.0, where=edges[both])
        if largest > 0.0:
            imaginary = network.imaginary[both]
            params[both] /= largest
            params[imaginary[imaginary >= 0]] /= largest
    return params
