"""The archive of a target: the best fits so far, one per structure, a fixed number of every size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ceql.choice.criterion import per_row
from ceql.engine import fit
from ceql.engine.stages import Chunk
from ceql.network import Start, Structure
from ceql.search.policy import SearchPolicy


@dataclass(frozen=True, eq=False)
class Archive:
    """Fits in the order of their score."""

    chunk: Chunk
    starts: int = 0
    rounds: int = 0
    founders: tuple[Start, ...] = ()  # they stay parents for good

    def hits(self, exact: float) -> np.ndarray:
        """Rows of the fits whose relative misfit is below `exact`."""
        return np.flatnonzero((self.chunk.misfit < exact) & self.chunk.in_domain)


def empty_archive(structure: Structure) -> Archive:
    shape = structure.n_edges, structure.n_params
    return Archive(Chunk(np.zeros((0, shape[0]), bool), np.zeros((0, shape[1])), np.zeros(0), np.zeros(0, bool)))


def score(chunk: Chunk, rows: int, policy: SearchPolicy) -> np.ndarray:
    """The criterion of every fit, per row of the data."""
    misfit = chunk.misfit * np.where(chunk.in_domain, 1.0, policy.out_of_domain)
    return per_row(misfit, chunk.edges.sum(axis=1), rows)


def merge(archive: Archive, new: Chunk, starts: int, rows: int, policy: SearchPolicy) -> Archive:
    """The best fits of every size from old and new ones; otherwise large approximations would displace small exact
    fits."""
    both = Chunk.concatenate([archive.chunk, new])
    sizes = both.edges.sum(axis=1)
    room = dict.fromkeys(np.unique(sizes), policy.kept_per_size)
    seen: set[bytes] = set()
    kept = []
    for index in np.argsort(score(both, rows, policy), kind="stable"):
        key = both.edges[index].tobytes()
        if room[sizes[index]] and key not in seen:
            seen.add(key)
            room[sizes[index]] -= 1
            kept.append(index)
    chunk = both.rows(np.array(kept, int))
    return replace(archive, chunk=chunk, starts=archive.starts + starts, rounds=archive.rounds + 1)


def with_fits(archive: Archive, fits: Sequence[Start]) -> Archive:
    """The archive with these fits in front, not yet judged."""
    edges, params = (np.array(part) for part in zip(*fits, strict=True))
    new = Chunk(edges, params, np.full(len(fits), np.inf), np.ones(len(fits), bool))
    return replace(archive, chunk=Chunk.concatenate([new, archive.chunk]))


def judged_anew(archive: Archive, structure: Structure, samples: fit.Samples, policy: SearchPolicy) -> Archive:
    """The archive with the misfits that its fits have on other samples, best first."""
    chunk = archive.chunk
    if not len(chunk.misfit):
        return archive
    masks = structure.parameter_mask(chunk.edges, imaginary=False)
    misfit = fit.objective(structure.tape(), samples, chunk.params, masks).misfit
    chunk = replace(chunk, misfit=np.where(np.isfinite(misfit), misfit, np.inf))
    order = np.argsort(score(chunk, len(samples.y), policy), kind="stable")
    return replace(archive, chunk=chunk.rows(order))
