"""The starts of a round: small random sub-networks, and mutants of the best fits so far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ceql.network import Structure
from ceql.search.archive import Archive
from ceql.search.policy import SearchPolicy


def propose(
    network: Structure, policy: SearchPolicy, archive: Archive, seed: int, rhythms: Sequence[np.ndarray] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """The starts of the next round: live edges and initial parameters. `rhythms` are frequencies seen per input."""
    rng = np.random.default_rng([seed, archive.rounds])
    count = policy.round_size
    n_mutants = int(policy.mutant_share * count) if len(archive.chunk.misfit) else 0
    edges = network.drawn(count - n_mutants, rng, policy.prior)
    params = rng.normal(0.0, policy.start_scale, (count, network.n_params))
    spread = rng.random((count, 1)) < policy.oscillating
    decades = rng.uniform(0.0, np.log(policy.fastest), (count, network.n_params))
    frequencies = np.ix_(np.flatnonzero(spread), np.flatnonzero(network.is_frequency))
    params[frequencies] *= np.exp(decades[frequencies])
    _follow_rhythms(network, params, np.flatnonzero(rng.random(count) < policy.in_rhythm), rhythms, rng)
    params = network.started(params, rng)
    if n_mutants:
        parents = choose_parents(archive, n_mutants, rng)
        of_parents, inherited_params, founded = _with_founders(archive, parents, policy.founders_share, rng)
        children = network.mutated(of_parents, rng, policy.prior)
        if founded.any():
            grafted = np.flatnonzero(founded)[::2]
            children[grafted] = network.grafted(of_parents[grafted], rng, policy.prior)
        edges = np.concatenate([edges, children])
        inherits = (rng.random(n_mutants) < policy.inherit_share) | founded
        rows = count - n_mutants + np.flatnonzero(inherits)
        inherited = inherited_params[inherits]
        known = inherited != 0.0
        params[rows] = np.where(known, inherited, params[rows] * np.where(network.is_imaginary, 0.5, 0.3))
    return edges, params


def _with_founders(
    archive: Archive, parents: np.ndarray, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges and parameters of the parents, some replaced by founders where there are any, and which these are."""
    edges, params = archive.chunk.edges[parents], archive.chunk.params[parents]
    founded = np.zeros(len(parents), bool)
    if archive.founders:
        founded = rng.random(len(parents)) < share
        rows = np.flatnonzero(founded)
        which = rng.integers(len(archive.founders), size=len(rows))
        edges[rows] = np.array([archive.founders[k][0] for k in which]).reshape(len(rows), -1)
        params[rows] = np.array([archive.founders[k][1] for k in which]).reshape(len(rows), -1)
    return edges, params, founded


def _follow_rhythms(
    network: Structure, params: np.ndarray, rows: np.ndarray, rhythms: Sequence[np.ndarray], rng: np.random.Generator
) -> None:
    """Sines of these rows begin at a frequency seen in the data, about as exactly as a periodogram gives it."""
    for source, frequencies in enumerate(rhythms):
        of_input = np.flatnonzero(network.is_frequency[: network.n_edges] & (network.edge_source == source))
        if len(frequencies) and len(of_input):
            shape = len(rows), len(of_input)
            params[np.ix_(rows, of_input)] = rng.choice(frequencies, shape) * rng.normal(1.0, 0.02, shape)


def choose_parents(archive: Archive, count: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of the archive: every size has the same chance, the better ones of a size the larger."""
    sizes = archive.chunk.edges.sum(axis=1)
    groups = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    chosen = rng.integers(len(groups), size=count)
    rank = rng.random(count) ** 2
    return np.array([groups[g][int(r * len(groups[g]))] for g, r in zip(chosen, rank, strict=True)])
