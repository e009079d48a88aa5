"""The starts of a round: small random sub-networks, and mutants of the best fits so far.

Parents are chosen here, for a whole round at once. The starts themselves are made in the core, some at a time; each
depends only on the seed, the round and its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ceql.engine.starts import StartRule, start_rule, start_values
from ceql.network import Structure
from ceql.network.sampling import Stream
from ceql.search.archive import Archive
from ceql.search.policy import SearchPolicy

_NOBODY = -1  # stands for the parent of a start that inherits nothing


@dataclass(frozen=True, eq=False)
class Proposals:
    """The `count` starts of the next round of an archive; the last of them are mutants."""

    structure: Structure
    policy: SearchPolicy
    archive: Archive
    seed: int
    count: int
    rhythms: Sequence[np.ndarray] = ()  # frequencies seen per input

    @cached_property
    def _keys(self) -> list[int]:
        """For draws, breeding, mutants, grafts and values."""
        return np.random.SeedSequence([self.seed, self.archive.rounds]).generate_state(5, np.uint64).tolist()

    @cached_property
    def n_drawn(self) -> int:
        share = self.policy.mutant_share if len(self.archive.chunk.misfit) else 0.0
        return self.count - int(share * self.count)

    @cached_property
    def _rule(self) -> StartRule:
        policy = self.policy
        return start_rule(
            self.structure,
            self.rhythms,
            scale=policy.start_scale,
            oscillating=policy.oscillating,
            fastest=policy.fastest,
            in_rhythm=policy.in_rhythm,
            rhythm_error=policy.rhythm_error,
            shrunk_real=policy.beside_inherited,
            shrunk_imaginary=policy.beside_inherited_imaginary,
        )

    @cached_property
    def _known(self) -> tuple[np.ndarray, np.ndarray]:
        """Edges and parameters of all that may be parents: the archive, then the founders."""
        chunk, founders = self.archive.chunk, self.archive.founders
        edges, params = [chunk.edges], [chunk.params]
        for of_edges, of_params in founders:
            edges.append(of_edges[None])
            params.append(of_params[None])
        return np.concatenate(edges), np.concatenate(params)

    @cached_property
    def _bred(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Per mutant its parent, whether an operator is inserted, and from which fit it inherits its values."""
        rng, count = np.random.default_rng(self._keys[1]), self.count - self.n_drawn
        parents = choose_parents(self.archive, count, rng)
        founders, founded = len(self.archive.founders), np.zeros(count, bool)
        if founders:
            founded = rng.random(count) < self.policy.founders_share
            which = len(self.archive.chunk.misfit) + rng.integers(founders, size=count)
            parents = np.where(founded, which, parents)
        inherits = (rng.random(count) < self.policy.inherit_share) | founded
        grafted = founded & (np.cumsum(founded) % 2 == 1)
        return parents, grafted, np.where(inherits, parents, _NOBODY)

    def starts(self, first: int, last: int, threads: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Live edges, initial parameters and live parameters of the starts numbered `first` to `last - 1`."""
        draws, _, mutants, grafts, values = (Stream(key, first, threads) for key in self._keys)
        prior, n_drawn = self.policy.prior, min(max(self.n_drawn - first, 0), last - first)
        edges = self.structure.drawn(n_drawn, draws, prior)
        after = np.full(last - first, _NOBODY)
        if first + n_drawn < last:
            own = slice(first + n_drawn - self.n_drawn, last - self.n_drawn)
            parents, grafted, after[n_drawn:] = (part[own] for part in self._bred)
            of_parents = self._known[0][parents]
            children = self.structure.mutated(of_parents, mutants.after(n_drawn), prior)
            if grafted.any():
                bred = self.structure.grafted(of_parents, grafts.after(n_drawn), prior)
                children = np.where(grafted[:, None], bred, children)
            edges = np.concatenate([edges, children])
        return edges, *start_values(self._rule, self.structure, edges, values, after, self._known[1])


def choose_parents(archive: Archive, count: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of the archive: every size has the same chance; within a size, better fits have a larger one."""
    sizes = archive.chunk.edges.sum(axis=1)
    by_size = np.argsort(sizes, kind="stable")
    _, firsts, members = np.unique(sizes[by_size], return_index=True, return_counts=True)
    group = rng.integers(len(firsts), size=count)
    rank = (rng.random(count) ** 2 * members[group]).astype(int)
    return by_size[firsts[group] + rank]
