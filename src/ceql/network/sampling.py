"""Small random sub-networks of a library, many at a time, as masks over its edges.

One dense network fits a few points in a thousand wrong ways. A sub-network with a handful of operators and edges
either is the formula or is not, and a core that fits thousands of them a second can afford to ask.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ceql.network.masks import clean_up
from ceql.network.nesting import permitted
from ceql.network.wiring import OUTPUT, Sum, Wiring
from ceql.operators import Argument


@dataclass(frozen=True)
class Prior:
    """What sub-networks look like before the data have spoken."""

    depths: tuple[float, ...] = (0.15, 0.50, 0.35)  # chances of using 1, 2, 3 layers; the last one counts for more
    # Chances of 0, 1, 2, ... units in the first, a middle and the last of the layers that a draw uses.
    first_layer: tuple[float, ...] = (0.05, 0.42, 0.35, 0.18)
    middle_layer: tuple[float, ...] = (0.0, 0.55, 0.35, 0.10)
    last_layer: tuple[float, ...] = (0.0, 0.75, 0.22, 0.03)
    low_fan_in: float = 0.3  # share of draws whose sums have one or two sources
    full_fan_in: float = 0.3  # share of draws whose sums take every source there is
    bare_readout: float = 0.5  # share of draws whose output has only the edges that nothing else uses
    # How much likelier than others an operator is in the first layer of a draw and in the later ones: products and
    # squares come early in formulas, quotients, logarithms and roots late.
    early: tuple[tuple[str, float], ...] = (("square", 2.0), ("mul", 2.0), ("log", 0.5), ("sqrt", 0.5))
    late: tuple[tuple[str, float], ...] = (("div", 2.0), ("log", 1.5), ("sqrt", 1.5), ("square", 0.5))
    inputs_used: tuple[float, ...] = (0.25, 0.25, 0.2, 0.15, 0.15)  # chances of using 1, 2, ... of many inputs
    few_inputs: int = 8  # up to this number of inputs, some draws may use all of them
    all_inputs: float = 0.4  # share of these draws
    maximum_edges: int = 26
    # Chances of an edge: where sums have one or two sources, in other draws (anywhere between two numbers), and into an
    # output that has few edges, or into another one.
    low_density: float = 0.12
    density: tuple[float, float] = (0.3, 0.9)
    bare_density: float = 0.1
    readout_density: tuple[float, float] = (0.2, 1.0)
    # A mutation adds an edge, drops one, adds a unit or swaps one, with these chances.
    mutations: tuple[float, ...] = (0.35, 0.25, 0.2, 0.2)
    more_mutations: float = 0.7  # mean number of further mutations of a child
    more_sources: float = 0.6  # mean number of further sources of each sum of a unit that is added
    # What the constraints ask for: operators that may not stand inside another, inputs of which one must be used.
    nesting: tuple[tuple[str, tuple[str, ...]], ...] = ()
    needed: tuple[tuple[int, ...], ...] = ()

    def allows(self, network: Wiring, edges: np.ndarray) -> np.ndarray:
        """Per clean mask, whether it may be drawn."""
        size = edges.sum(axis=1)
        fine = (size > 0) & (size <= self.maximum_edges)
        if self.nesting or self.needed:
            fine &= permitted(network, edges, self.nesting, self.needed)
        return fine

    def depth_chances(self, network: Wiring) -> np.ndarray:
        """Per number of layers in use. Only where all layers feed the output can the later ones stay empty."""
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


@dataclass(frozen=True, eq=False)
class _Wires:
    """A network's wiring as arrays, made once per network."""

    source: np.ndarray  # per edge: node
    target: np.ndarray  # per edge: node it goes into, n_nodes for the output
    firsts: np.ndarray  # per sum: its first edge
    is_constant_sum: np.ndarray  # per edge: into an exponent
    first_unit: int  # node of unit 0; the others follow
    sums_of: tuple[tuple[Sum, ...], ...]  # per unit
    is_swappable: np.ndarray  # per unit: it has arguments


def _wires(network: Wiring) -> _Wires:
    sums = network.sums
    target_of_sum = np.array([network.n_nodes if s.unit == OUTPUT else network.node(s.unit) for s in sums])
    constant = np.array([s.kind is Argument.CONSTANT for s in sums])
    return _Wires(
        network.edge_source,
        target_of_sum[network.edge_sum],
        np.array([s.first for s in sums]),
        constant[network.edge_sum],
        network.node(0),
        tuple(tuple(s for s in sums if s.unit == unit) for unit in range(len(network.units))),
        np.array([operator.arity > 0 for operator in network.units], bool),
    )


def _one_of(options: np.ndarray, rng: np.random.Generator) -> int:
    """As `rng.choice`, whose checks cost more than the draw."""
    return int(options[rng.integers(0, len(options))])


def draw(network: Wiring, count: int, rng: np.random.Generator, prior: Prior = Prior()) -> np.ndarray:
    """`count` clean sub-networks, (count, n_edges)."""
    wires = _wires(network)
    kept: list[np.ndarray] = []
    missing = count
    while missing > 0:
        edges = clean_up(network, _draft(network, wires, int(1.5 * missing) + 8, rng, prior))
        good = edges[prior.allows(network, edges)]
        kept.append(good[:missing])
        missing -= len(kept[-1])
    return np.concatenate(kept)


def _draft(network: Wiring, wires: _Wires, count: int, rng: np.random.Generator, prior: Prior) -> np.ndarray:
    alive = _choose_nodes(network, count, rng, prior)
    possible = alive[:, wires.source] & alive[:, wires.target]
    kind = rng.random(count)
    sparse = kind < prior.low_fan_in
    full = kind >= 1.0 - prior.full_fan_in
    chance = np.where(sparse, prior.low_density, np.where(full, 1.0, rng.uniform(*prior.density, count)))[:, None]
    is_bare = rng.random(count) < prior.bare_readout
    readout = np.where(is_bare, prior.bare_density, rng.uniform(*prior.readout_density, count))[:, None]
    ticket = rng.random(possible.shape)
    into_output = wires.target == network.n_nodes
    edges = possible & (ticket < np.where(into_output, readout, chance))
    # Every sum of a chosen unit draws on something: the possible source with the lowest ticket.
    ticket = np.where(possible, ticket, 2.0)
    lowest = np.minimum.reduceat(ticket, wires.firsts, axis=1)
    edges |= possible & (ticket == lowest[:, network.edge_sum])
    edges |= possible & wires.is_constant_sum
    return _connect_upwards(network, wires, alive, edges, possible, rng)


def _choose_nodes(network: Wiring, count: int, rng: np.random.Generator, prior: Prior) -> np.ndarray:
    """Which inputs and units each draw may use, (count, n_nodes + 1); the last column is the output."""
    alive = np.zeros((count, network.n_nodes + 1), bool)
    alive[:, -1] = True
    alive[:, network.one] = True
    chances = np.array(prior.inputs_used)
    if network.n_inputs <= 2:
        chances = np.full(network.n_inputs, 1.0)
    chances = chances[: network.n_inputs] / chances[: network.n_inputs].sum()
    used = rng.choice(len(chances), count, p=chances) + 1
    if network.n_inputs <= prior.few_inputs:
        used = np.where(rng.random(count) < prior.all_inputs, network.n_inputs, used)
    rank = rng.random((count, network.n_inputs)).argsort(axis=1).argsort(axis=1)
    alive[:, : network.n_inputs] = rank < used[:, None]
    for group in prior.needed:
        alive[:, list(group)] = True
    n_layers = len(network.layers)
    depth = rng.choice(n_layers, count, p=prior.depth_chances(network))
    for layer in range(n_layers):
        units = np.flatnonzero(network.layer_of_unit == layer)
        wanted = np.zeros(count, int)
        for d in range(layer, n_layers):
            table = prior.unit_chances(layer, d)
            here = depth == d
            wanted[here] = rng.choice(len(table), here.sum(), p=table)
        # An exponential race: the units that finish first are in, heavier ones run faster.
        weights = prior.operator_weights([network.units[u].name for u in units], layer)
        rank = (rng.exponential(size=(count, len(units))) / weights).argsort(axis=1).argsort(axis=1)
        alive[:, [network.node(u) for u in units]] = rank < wanted[:, None]
    return alive


def _connect_upwards(network, wires, alive, edges, possible, rng) -> np.ndarray:
    """Gives every chosen unit that feeds nothing one outgoing edge, so that it is not cleaned away."""
    for unit in range(len(network.units) - 1, -1, -1):
        outgoing = np.flatnonzero(wires.source == network.node(unit))
        if not len(outgoing):
            continue
        orphan = alive[:, network.node(unit)] & ~edges[:, outgoing].any(axis=1)
        rows = np.flatnonzero(orphan)
        if not len(rows):
            continue
        ticket = rng.random((len(rows), len(outgoing))) + 10.0 * ~possible[np.ix_(rows, outgoing)]
        edges[rows, outgoing[ticket.argmin(axis=1)]] = True
    return edges


def mutate(network: Wiring, parents: np.ndarray, rng: np.random.Generator, prior: Prior = Prior()) -> np.ndarray:
    """One child per parent: edges added, dropped or moved, units swapped for others of their layer."""
    chances = np.cumsum(prior.mutations)
    below = (chances / chances[-1]).tolist()

    def change(*of_child: Any) -> None:
        for _ in range(1 + rng.poisson(prior.more_mutations)):
            _MUTATIONS[bisect_right(below, rng.random())](*of_child)

    return _changed(network, parents, rng, prior, change)


def graft(network: Wiring, parents: np.ndarray, rng: np.random.Generator, prior: Prior = Prior()) -> np.ndarray:
    """One child per parent with an operator put into one of its edges: x within sin(x) becomes x**2, or x*z."""
    return _changed(network, parents, rng, prior, _insert_unit)


def _changed(
    network: Wiring, parents: np.ndarray, rng: np.random.Generator, prior: Prior, change: Callable[..., None]
) -> np.ndarray:
    """One child per parent, cleaned up; where it may not be drawn, the parent itself."""
    children = parents.copy()
    wires = _wires(network)
    for child in children:
        change(network, wires, child, rng, prior)
    children = clean_up(network, children)
    lost = ~prior.allows(network, children)
    children[lost] = parents[lost]
    return children


def _insert_unit(network: Wiring, wires: _Wires, edges: np.ndarray, rng: np.random.Generator, prior: Prior) -> None:
    live = _live_nodes(network, wires, edges)
    edge = _one_of(np.flatnonzero(edges), rng)
    source, into = wires.source[edge], network.sums[network.edge_sum[edge]]
    onward = {int(wires.source[e]): e for e in range(into.first, into.last)}
    idle = [u for u in _idle_units(wires, live) if network.node(u) in onward and wires.sums_of[u]]
    firsts = [wires.sums_of[u][0] for u in idle]
    idle = [u for u, s in zip(idle, firsts, strict=True) if source in wires.source[s.first : s.last]]
    if not idle:
        return
    unit = _one_of(np.array(idle), rng)
    sums = wires.sums_of[unit]
    taker = int(rng.integers(len(sums)))
    for position, s in enumerate(sums):
        options = np.arange(s.first, s.last)
        own = options[wires.source[options] == source]
        others = options[live[wires.source[options]]]
        edges[own if position == taker and len(own) else _one_of(others, rng)] = True
    edges[edge] = False
    edges[onward[network.node(unit)]] = True


def _live_nodes(network: Wiring, wires: _Wires, edges: np.ndarray) -> np.ndarray:
    live = np.zeros(network.n_nodes + 1, bool)
    live[wires.source[edges]] = True
    live[wires.target[edges]] = True
    live[: network.n_inputs] = True
    live[network.one] = True
    live[-1] = True
    return live


def _idle_units(wires: _Wires, live: np.ndarray) -> np.ndarray:
    return np.flatnonzero(~live[wires.first_unit : -1])


def _add_edge(network: Wiring, wires: _Wires, edges: np.ndarray, rng: np.random.Generator, prior: Prior) -> None:
    live = _live_nodes(network, wires, edges)
    options = np.flatnonzero(~edges & live[wires.source] & live[wires.target] & ~wires.is_constant_sum)
    if len(options):
        edges[_one_of(options, rng)] = True


def _drop_edge(network: Wiring, wires: _Wires, edges: np.ndarray, rng: np.random.Generator, prior: Prior) -> None:
    options = np.flatnonzero(edges)
    if len(options) > 1:
        edges[_one_of(options, rng)] = False


def _add_unit(network: Wiring, wires: _Wires, edges: np.ndarray, rng: np.random.Generator, prior: Prior) -> None:
    live = _live_nodes(network, wires, edges)
    idle = _idle_units(wires, live)
    if not len(idle):
        return
    unit = _one_of(idle, rng)
    outgoing = np.flatnonzero((wires.source == network.node(unit)) & live[wires.target])
    if not len(outgoing):
        return
    for s in wires.sums_of[unit]:
        options = np.arange(s.first, s.last)[live[wires.source[s.first : s.last]]]
        number = min(len(options), 1 + rng.poisson(prior.more_sources))
        edges[rng.choice(options, number, replace=False)] = True
    edges[_one_of(outgoing, rng)] = True


def _swap_unit(network: Wiring, wires: _Wires, edges: np.ndarray, rng: np.random.Generator, prior: Prior) -> None:
    """Another operator of the same layer takes over the edges of a live one."""
    live = _live_nodes(network, wires, edges)[wires.first_unit : -1]
    active = np.flatnonzero(wires.is_swappable & live)
    if not len(active):
        return
    old = _one_of(active, rng)
    same_layer = network.layer_of_unit == network.layer_of_unit[old]
    rivals = np.flatnonzero(wires.is_swappable & same_layer & ~live)
    if not len(rivals):
        return
    new = _one_of(rivals, rng)
    old_sums = wires.sums_of[old]
    for position, s in enumerate(wires.sums_of[new]):
        donor = old_sums[min(position, len(old_sums) - 1)]
        if s.last - s.first == donor.last - donor.first:
            edges[s.first : s.last] = edges[donor.first : donor.last]
        else:
            edges[s.first : s.last] = True
    for s in old_sums:
        edges[s.first : s.last] = False
    for edge in np.flatnonzero((wires.source == network.node(old)) & edges):
        s = network.sums[network.edge_sum[edge]]
        twin = s.first + np.flatnonzero(wires.source[s.first : s.last] == network.node(new))
        edges[twin] = True
        edges[edge] = False


_MUTATIONS = (_add_edge, _drop_edge, _add_unit, _swap_unit)
