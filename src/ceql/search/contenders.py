"""What noisy data leave of the search's fits: each made as small as an information criterion wants.

With noise nothing is ever exact, and large fits follow the noise a little better than the truth does. So a few of the
best fits are reduced after every round: edges go as long as that lowers the criterion. The same small formula comes out
of many large fits; when a few rounds bring no better one, more rounds will hardly do.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ceql.engine import fit
from ceql.engine.pruning import Needed, Reduced, removals_of_each
from ceql.engine.stages import Chunk
from ceql.network import Structure

_REDUCED = 16  # fits a round
_KEPT = 48  # contenders remembered
_STRUCTURE = 4.0  # price of an edge beside its constant: about two nodes of the formula
_PROGRESS = 1.0  # of the criterion that counts
_HOPELESS = 40.0  # criterion above the best of a path at which it is given up
_FIRST = fit.Levenberg(60, least_reduction=1e-6)
_AGAIN = fit.Levenberg(25, least_reduction=1e-4)  # with noise the bottom is flat: the last digits mean nothing


def price(n_samples: int) -> float:
    """Of an edge: its constant as in the Bayesian information criterion, and the structure it brings."""
    return float(np.log(n_samples)) + _STRUCTURE


def criterion_of(misfit: np.ndarray, edges: np.ndarray, n_samples: int) -> np.ndarray:
    """For fits of a network, before they are formulas: small is good."""
    return n_samples * np.log(np.maximum(misfit, 1e-300)) + price(n_samples) * edges.sum(axis=-1)


@dataclass(frozen=True, eq=False)
class ContendersState:
    """What has to be kept for the contenders to go on later."""

    known: tuple[Reduced, ...] = ()
    tried: frozenset[bytes] = frozenset()
    quiet: int = 0


class Contenders:
    """The best reduced fits so far."""

    def __init__(self, network: Structure, samples: fit.Samples, threads: int, needed: Needed = ()) -> None:
        self._network, self._samples, self._threads, self._needed = network, samples, threads, needed
        self._known: dict[bytes, Reduced] = {}
        self._tried: set[bytes] = set()
        self.quiet = 0  # challenges since the best contender was last beaten

    @property
    def state(self) -> ContendersState:
        return ContendersState(tuple(self._known.values()), frozenset(self._tried), self.quiet)

    def restore(self, state: ContendersState) -> None:
        self._known = {reduced.edges.tobytes(): reduced for reduced in state.known}
        self._tried = set(state.tried)
        self.quiet = state.quiet

    def ranked(self) -> list[Reduced]:
        """Best first."""
        return sorted(self._known.values(), key=lambda state: _criterion(state, self._samples))

    def _best(self) -> float:
        return min((_criterion(state, self._samples) for state in self._known.values()), default=np.inf)

    def challenge(self, chunk: Chunk) -> None:
        """Reduces the most promising fits that were not tried yet."""
        before = self._best()
        fresh = self._most_promising(chunk)
        if len(fresh):
            self._tried.update(edges.tobytes() for edges in chunk.edges[fresh])
            starts = chunk.edges[fresh], chunk.params[fresh]
            paths = reduce_all(self._network, self._samples, *starts, self._threads, self._needed)
            for state in itertools.chain.from_iterable(paths):
                self._tried.add(state.edges.tobytes())
                self._remember(state)
            self._known = {state.edges.tobytes(): state for state in self.ranked()[:_KEPT]}
        self.quiet = 0 if self._best() < before - _PROGRESS else self.quiet + 1

    def _most_promising(self, chunk: Chunk) -> np.ndarray:
        scores = criterion_of(chunk.misfit, chunk.edges, len(self._samples.y))
        order = np.argsort(scores, kind="stable")
        fresh = [k for k in order if chunk.in_domain[k] and chunk.edges[k].tobytes() not in self._tried]
        return np.array(fresh[:_REDUCED], int)

    def _remember(self, state: Reduced) -> None:
        key = state.edges.tobytes()
        if key not in self._known or state.misfit < self._known[key].misfit:
            self._known[key] = state


def reduce_all(
    network: Structure,
    samples: fit.Samples,
    edges: np.ndarray,
    params: np.ndarray,
    threads: int,
    needed: Needed = (),
) -> list[list[Reduced]]:
    """One path of ever smaller fits for each start, all of them in step so that every thread has work."""
    paths = [[start] for start in _fitted(network, samples, edges, params, _FIRST, threads)]
    growing = [path for path in paths if np.isfinite(path[0].misfit)]
    while growing:
        smaller = removals_of_each(network, [path[-1].edges for path in growing], needed)
        inherited = [
            np.repeat(path[-1].params[None], len(masks), 0) for path, masks in zip(growing, smaller, strict=True)
        ]
        fits = iter(_fitted(network, samples, np.concatenate(smaller), np.concatenate(inherited), _AGAIN, threads))
        for path, masks in zip(growing, smaller, strict=True):
            candidates = [next(fits) for _ in masks]
            path.extend(sorted(candidates, key=lambda state: _criterion(state, samples))[:1])
        growing = [
            path for path, masks in zip(growing, smaller, strict=True) if len(masks) and _has_hope(path, samples)
        ]
    return paths


def _fitted(
    network: Structure,
    samples: fit.Samples,
    edges: np.ndarray,
    params: np.ndarray,
    options: fit.Levenberg,
    threads: int,
) -> list[Reduced]:
    masks = network.parameter_mask(edges, imaginary=False)
    penalties = fit.Penalties(aux=1e-2)
    fits = fit.levenberg(network.tape(), samples, params, masks, options, penalties, threads=threads)
    misfit = np.where(np.isfinite(fits.objective), fits.objective, np.inf)
    params = np.where(masks, fits.params, 0.0)
    return [Reduced(*row) for row in zip(edges, params, misfit.tolist(), strict=True)]


def _criterion(state: Reduced, samples: fit.Samples) -> float:
    return float(criterion_of(np.array(state.misfit), state.edges, len(samples.y)))


def _has_hope(path: Sequence[Reduced], samples: fit.Samples) -> bool:
    scores = [_criterion(state, samples) for state in path]
    return bool(np.isfinite(scores[-1]) and scores[-1] <= min(scores) + _HOPELESS)
