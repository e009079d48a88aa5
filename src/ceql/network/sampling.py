"""Small random sub-networks of a library, many at a time, as masks over its edges.

A dense network can fit a few points in many wrong ways. A sub-network with a handful of operators and edges either is
the formula or is not, and the core is fast enough to test thousands of them per second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ceql import _core
from ceql.errors import InputError
from ceql.network.compiled import as_bytes, core_wiring
from ceql.network.nesting import nesting_bits
from ceql.network.wiring import Wiring


@dataclass(frozen=True)
class Prior:
    """The distribution of random sub-networks before any data are seen."""

    # Chances of using 1, 2, 3 layers; the last value also applies to deeper ones.
    depths: tuple[float, ...] = (0.15, 0.50, 0.35)
    # Chances of 0, 1, 2, ... units in the first, a middle and the last of the layers that are used.
    first_layer: tuple[float, ...] = (0.05, 0.42, 0.35, 0.18)
    middle_layer: tuple[float, ...] = (0.0, 0.55, 0.35, 0.10)
    last_layer: tuple[float, ...] = (0.0, 0.75, 0.22, 0.03)
    low_fan_in: float = 0.3  # share of sub-networks whose sums have one or two sources
    full_fan_in: float = 0.3  # share of sub-networks whose sums take every available source
    bare_readout: float = 0.5  # share of sub-networks whose output takes hardly more than units that nothing else uses
    # Relative chances of operators in the first layer and in later ones: products and squares come early in formulas;
    # quotients, logarithms and roots come late.
    early: tuple[tuple[str, float], ...] = (("square", 2.0), ("mul", 2.0), ("log", 0.5), ("sqrt", 0.5))
    late: tuple[tuple[str, float], ...] = (("div", 2.0), ("log", 1.5), ("sqrt", 1.5), ("square", 0.5))
    inputs_used: tuple[float, ...] = (0.25, 0.25, 0.2, 0.15, 0.15)  # chances of using 1, 2, ... of many inputs
    few_inputs: int = 8  # up to this number of inputs, some sub-networks may use all of them
    all_inputs: float = 0.4  # share of sub-networks that do
    maximum_edges: int = 26
    # Chances of each edge.
    low_density: float = 0.12  # in sums with one or two sources
    # In sums of any other kind: drawn from this range, except where all sources are taken.
    density: tuple[float, float] = (0.3, 0.9)
    bare_density: float = 0.1  # into an output with few edges
    readout_density: tuple[float, float] = (0.2, 1.0)  # into any other output: drawn from this range
    # Relative chances that a mutation adds an edge, drops one, adds a unit or swaps one.
    mutations: tuple[float, ...] = (0.35, 0.25, 0.2, 0.2)
    more_mutations: float = 0.7  # mean number of further mutations of a child
    more_sources: float = 0.6  # mean number of further sources for each sum of an added unit
    # From the user's constraints: operators that may not stand inside another, and groups of inputs of which one is
    # used.
    nesting: tuple[tuple[str, tuple[str, ...]], ...] = ()
    needed: tuple[tuple[int, ...], ...] = ()

    def depth_chances(self, network: Wiring) -> np.ndarray:
        """Return the chance of each number of layers in use. Unless all layers feed the output, all are in use."""
        n = len(network.layers)
        chances = np.array([self.depths[min(k, len(self.depths) - 1)] for k in range(n)])
        if network.skip != "all":
            chances[:-1] = 0.0
        return chances / chances.sum()

    def operator_weights(self, names: Sequence[str], layer: int) -> np.ndarray:
        table = dict(self.early if layer == 0 else self.late)
        return np.array([table.get(name, 1.0) for name in names])

    def unit_chances(self, layer: int, depth: int) -> np.ndarray:
        table = self.last_layer if layer == depth else self.first_layer if layer == 0 else self.middle_layer
        return np.array(table) / np.sum(table)


@dataclass(frozen=True)
class Stream:
    """The random numbers of some starts; those of a start depend only on the key and its number."""

    key: int
    first: int = 0  # the number of the first start
    threads: int = 1  # number of threads that share the starts

    @property
    def rng(self) -> np.random.Generator:
        """Return a generator for numbers drawn in Python, for all starts together."""
        return np.random.default_rng([self.key, self.first])

    def after(self, starts: int) -> Stream:
        return replace(self, first=self.first + starts)


def draw(network: Wiring, count: int, stream: Stream, prior: Prior = Prior()) -> np.ndarray:
    """Return `count` random clean sub-networks, (count, n_edges)."""
    given = core_wiring(network), _core_prior(network, prior), stream.key, stream.first, count, stream.threads
    try:
        return _core.draw(*given).view(bool)
    except RuntimeError as error:
        raise InputError(f"The search cannot begin: {error}.") from error


def mutate(network: Wiring, parents: np.ndarray, stream: Stream, prior: Prior = Prior()) -> np.ndarray:
    """Return one child per parent, with edges added or dropped and units added or swapped for others of their layer.

    A child that is too large or breaks a constraint is replaced by its parent.
    """
    return _bred(network, parents, False, stream, prior)


def graft(network: Wiring, parents: np.ndarray, stream: Stream, prior: Prior = Prior()) -> np.ndarray:
    """Return one child per parent with an operator inserted into one of its edges: x in sin(x) becomes x**2 or x*z."""
    return _bred(network, parents, True, stream, prior)


def _bred(network: Wiring, parents: np.ndarray, graft: bool, stream: Stream, prior: Prior) -> np.ndarray:
    given = core_wiring(network), _core_prior(network, prior), as_bytes(parents), graft
    return _core.breed(*given, stream.key, stream.first, stream.threads).view(bool)


def permitted(network: Wiring, edges: np.ndarray, prior: Prior) -> np.ndarray:
    """Return, per row of clean `edges`, whether it has no forbidden nesting and uses an input of each needed group."""
    given = core_wiring(network), _core_prior(network, prior), as_bytes(edges)
    return _core.permitted(*given, threads=1).view(bool)[:, 0]


@lru_cache(maxsize=256)
def _core_prior(network: Wiring, prior: Prior) -> _core.Prior:
    """Return the prior as arrays over the layers, units and inputs of a network."""
    layers, n = range(len(network.layers)), network.n_inputs
    of_inputs = np.ones(n) if n <= 2 else np.array(prior.inputs_used[:n])
    tables = [[prior.unit_chances(layer, max(layer, last)) for last in layers] for layer in layers]
    most = max(len(table) for row in tables for table in row)
    units = np.array([[np.pad(table, (0, most - len(table))) for table in row] for row in tables])
    weights = [prior.operator_weights(tuple(layer), k) for k, layer in enumerate(network.layers)]
    operators, banned = nesting_bits(network, prior.nesting)
    needed = np.array([np.isin(np.arange(n), group) for group in prior.needed]).reshape(-1, n)
    return _core.Prior(
        core_wiring(network),
        depths=np.cumsum(prior.depth_chances(network)),
        units=np.cumsum(units, axis=2),
        weights=np.concatenate(weights),
        inputs_used=np.cumsum(of_inputs) / of_inputs.sum(),
        all_inputs=prior.all_inputs if n <= prior.few_inputs else 0.0,
        low_fan_in=prior.low_fan_in,
        full_fan_in=prior.full_fan_in,
        bare_readout=prior.bare_readout,
        low_density=prior.low_density,
        density=np.array(prior.density),
        bare_density=prior.bare_density,
        readout_density=np.array(prior.readout_density),
        mutations=np.cumsum(prior.mutations) / np.sum(prior.mutations),
        more_mutations=prior.more_mutations,
        more_sources=prior.more_sources,
        maximum_edges=prior.maximum_edges,
        operators=operators,
        banned=banned,
        needed=needed.astype(np.uint8),
    )
