"""The search: rounds of small random sub-networks, each fitted to the end, the best ones bred further."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ceql.choice.criterion import per_row
from ceql.choice.exactness import EXACT
from ceql.engine import fit
from ceql.engine.deadline import NEVER, Deadline
from ceql.engine.dispatch import Work, Workers
from ceql.engine.stages import Chunk, Schedule
from ceql.network import Structure
from ceql.network.sampling import Prior
from ceql.search.periodogram import peaks
from ceql.search.reduction import ReductionPolicy


@dataclass(frozen=True)
class SearchSettings:
    round_size: int = 1024
    chunk_size: int = 256
    start_scale: float = 0.7
    mutant_share: float = 0.5  # of a round, from the second on
    inherit_share: float = 0.5  # of the mutants, keep their parent's weights
    kept_per_size: int = 24  # fits the archive holds of every number of edges
    oscillating: float = 0.5  # share of starts whose sines begin at frequencies spread over decades
    fastest: float = 30.0  # the highest of these, in radians per unit of scaled input
    in_rhythm: float = 0.3  # share of starts whose sines begin at peaks of the periodogram
    founders_share: float = 0.4  # of the mutants, children of the user's guesses
    prior: Prior = field(default_factory=Prior)
    schedule: Schedule = field(default_factory=Schedule)
    reduction: ReductionPolicy = field(default_factory=ReductionPolicy)


@dataclass(frozen=True, eq=False)
class Archive:
    """The best fits so far, in the order of their score, one per structure."""

    chunk: Chunk
    starts: int = 0
    rounds: int = 0
    founders: tuple[tuple[np.ndarray, np.ndarray], ...] = ()  # edges and parameters that stay parents for good

    @property
    def hits(self) -> np.ndarray:
        return np.flatnonzero((self.chunk.misfit < EXACT.hit) & self.chunk.in_domain)


def score(chunk: Chunk, n_samples: int) -> np.ndarray:
    """The criterion of every fit, per row of the data."""
    misfit = np.maximum(chunk.misfit, 1e-30) * np.where(chunk.in_domain, 1.0, 1e3)
    return per_row(misfit, chunk.edges.sum(axis=1), n_samples)


def merge(archive: Archive, new: Chunk, starts: int, n_samples: int, kept_per_size: int) -> Archive:
    """The best of every size from old and new. Large approximations would crowd out small truths otherwise."""
    both = Chunk.concatenate([archive.chunk, new])
    order = np.argsort(score(both, n_samples), kind="stable")
    sizes = both.edges.sum(axis=1)
    room = dict.fromkeys(np.unique(sizes), kept_per_size)
    seen: set[bytes] = set()
    kept = []
    for index in order:
        key = both.edges[index].tobytes()
        if room[sizes[index]] and key not in seen:
            seen.add(key)
            room[sizes[index]] -= 1
            kept.append(index)
    order = np.array(kept, int)
    return Archive(
        Chunk(both.edges[order], both.params[order], both.misfit[order], both.in_domain[order]),
        archive.starts + starts,
        archive.rounds + 1,
        archive.founders,
    )


def propose(
    network: Structure, settings: SearchSettings, archive: Archive, seed: int, rhythms: Sequence[np.ndarray] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """The starts of the next round: live edges and initial parameters. `rhythms` are frequencies seen per input."""
    rng = np.random.default_rng([seed, archive.rounds])
    count = settings.round_size
    n_mutants = int(settings.mutant_share * count) if len(archive.chunk.misfit) else 0
    edges = network.drawn(count - n_mutants, rng, settings.prior)
    params = rng.normal(0.0, settings.start_scale, (count, network.n_params))
    spread = rng.random((count, 1)) < settings.oscillating
    decades = rng.uniform(0.0, np.log(settings.fastest), (count, network.n_params))
    frequencies = np.ix_(np.flatnonzero(spread), np.flatnonzero(network.is_frequency))
    params[frequencies] *= np.exp(decades[frequencies])
    _follow_rhythms(network, params, np.flatnonzero(rng.random(count) < settings.in_rhythm), rhythms, rng)
    params = network.started(params, rng)
    if n_mutants:
        parents = choose_parents(archive, n_mutants, rng)
        of_parents, inherited_params, founded = _with_founders(archive, parents, settings.founders_share, rng)
        children = network.mutated(of_parents, rng, settings.prior)
        if founded.any():
            grafted = np.flatnonzero(founded)[::2]
            children[grafted] = network.grafted(of_parents[grafted], rng, settings.prior)
        edges = np.concatenate([edges, children])
        inherits = (rng.random(n_mutants) < settings.inherit_share) | founded
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


def run_round(
    network: Structure,
    samples: fit.Samples,
    settings: SearchSettings,
    archive: Archive,
    seed: int,
    fit_chunks: Callable[[list[tuple[np.ndarray, np.ndarray]]], list[Chunk]],
    rhythms: Sequence[np.ndarray] = (),
) -> Archive:
    edges, params = propose(network, settings, archive, seed, rhythms)
    step = settings.chunk_size
    chunks = fit_chunks([(edges[k : k + step], params[k : k + step]) for k in range(0, len(edges), step)])
    return merge(archive, Chunk.concatenate(chunks), len(edges), len(samples.y), settings.kept_per_size)


def empty_archive(network: Structure) -> Archive:
    none = Chunk(np.zeros((0, network.n_edges), bool), np.zeros((0, network.n_params)), np.zeros(0), np.zeros(0, bool))
    return Archive(none)


def with_fits(archive: Archive, edges: Sequence[np.ndarray], params: Sequence[np.ndarray]) -> Archive:
    """The archive with these fits in front, not yet judged."""
    count = len(edges)
    new = Chunk(np.array(edges), np.array(params), np.full(count, np.inf), np.ones(count, bool))
    return replace(archive, chunk=Chunk.concatenate([new, archive.chunk]))


def judged_anew(archive: Archive, network: Structure, samples: fit.Samples) -> Archive:
    """The archive with the misfits that its fits have on other samples, best first."""
    chunk = archive.chunk
    if not len(chunk.misfit):
        return archive
    masks = network.parameter_mask(chunk.edges, imaginary=False)
    misfit = fit.objective(network.tape(), samples, chunk.params, masks).misfit
    chunk = replace(chunk, misfit=np.where(np.isfinite(misfit), misfit, np.inf))
    order = np.argsort(score(chunk, len(samples.y)), kind="stable")
    parts = (chunk.edges, chunk.params, chunk.misfit, chunk.in_domain)
    return replace(archive, chunk=Chunk(*(part[order] for part in parts)))


def search(
    network: Structure,
    samples: fit.Samples,
    settings: SearchSettings,
    seed: int,
    workers: Workers,
    deadline: Deadline = NEVER,
    archive: Archive | None = None,
) -> Iterator[Archive]:
    """Yields the archive after every round, for as long as it is asked; `archive` is what an earlier search left."""
    archive = archive or empty_archive(network)
    rhythms = peaks(samples.x, samples.y) if network.is_frequency.any() else ()

    def fit_chunks(starts: list[tuple[np.ndarray, np.ndarray]]) -> list[Chunk]:
        return workers.fit([Work(network, samples, settings.schedule, e, p) for e, p in starts], deadline)

    while True:
        archive = run_round(network, samples, settings, archive, seed, fit_chunks, rhythms)
        yield archive
