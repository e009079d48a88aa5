"""The hunt for one target: rounds of the search, hits carried to exact formulas, the rest to an approximate front."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ceql import search as searching
from ceql.data import Dataset, Scaling
from ceql.engine import fit
from ceql.expression.extract import extract, upright
from ceql.formula import Formula, make_symbols, mean_square, polish, sketch
from ceql.network import Network
from ceql.pruning import Reduced, eliminate
from ceql.search import SearchSettings
from ceql.selection import criterion
from ceql.targets import Target

_HITS_TRIED = 6  # exact fits that are eliminated
_NEAR, _MISSES_TRIED = 1e-9, 2  # fits below this misfit may hide an exact one; so many a round are eliminated
_POLISHED = 2  # of these, the smallest become formulas
_BRED = 6  # inexact fits that are eliminated into a front
_ROWS = 16  # of a front
_SEARCHED_ROWS = 2000


class Hunt:
    """One target's search. `next_round` may be called as often as there is time."""

    def __init__(
        self,
        data: Dataset,
        target: Target,
        network: Network,
        settings: SearchSettings,
        seed: int,
        threads: int,
        deadline: float,
    ) -> None:
        self.data, self.target, self.network, self.threads = data, target, network, threads
        # The structure shows in a few rows; the finished formula is fitted to and judged on all of them.
        few = data.thinned(_SEARCHED_ROWS)
        aim = replace(few, y=target.forward(few.y))
        self.scaling = Scaling.of(aim)
        x, y = self.scaling.apply(aim)
        self.samples = fit.Samples.of(x, y, few.weight / (1.0 + y**2))
        self.plain = fit.Samples.of(x, y, few.weight)
        self.tolerance = searching.EXACT * mean_square(y, few.weight)
        self.symbols = make_symbols(data.names)
        self.archive = searching.empty_archive(network)
        self._rounds = searching.search(network, self.samples, settings, seed, threads=threads, deadline=deadline)
        self._tried: set[bytes] = set()

    def next_round(self) -> list[Formula]:
        """Fits another round of starts; gives the exact formulas it led to."""
        self.archive = next(self._rounds)
        return self._exact_formulas()

    @property
    def best_loss(self) -> float:
        """The lowest misfit so far, in the units of the target."""
        return float(self.archive.chunk.misfit.min(initial=np.inf)) * self.scaling.y**2

    @property
    def score(self) -> float:
        scores = searching.score(self.archive.chunk, len(self.samples.y))
        return float(scores.min(initial=np.inf))

    def sees_noise(self) -> bool:
        """Whether larger fits have stopped being better: without noise they would go on improving."""
        chunk = self.archive.chunk
        sizes = chunk.edges.sum(axis=1)
        best = np.array([chunk.misfit[sizes == size].min() for size in np.unique(sizes)])
        reached = np.flatnonzero(best < 2.0 * best.min())
        return len(best) - 1 - reached[0] >= 6

    def front(self) -> list[Formula]:
        """Approximate formulas of all sizes; those that may be chosen get the full effort."""
        drawn = [(formula, state) for state in self._states() if (formula := self._formula(state, sketch))]
        drawn.sort(key=lambda pair: criterion(pair[0], len(self.data.y)))
        polished = [self._formula(state, polish) for _, state in drawn[:2]]
        return [formula for formula, _ in drawn] + [formula for formula in polished if formula]

    def outline(self) -> list[Formula]:
        """A few approximate formulas, quickly, to stand beside an exact one."""
        return [formula for state in self._best_per_size()[:5] if (formula := self._formula(state, sketch))]

    def _reduced(self, index: int) -> Reduced:
        chunk = self.archive.chunk
        return Reduced(chunk.edges[index], chunk.params[index], float(chunk.misfit[index]))

    def _untried(self, rows: np.ndarray, most: int) -> list[int]:
        chunk = self.archive.chunk
        rows = rows[np.argsort(chunk.edges[rows].sum(axis=1), kind="stable")]
        fresh = [int(k) for k in rows if chunk.edges[k].tobytes() not in self._tried][:most]
        self._tried.update(chunk.edges[k].tobytes() for k in fresh)
        return fresh

    def _near_misses(self) -> np.ndarray:
        """Fits so good that the formula may be inside them, slowed down by edges it does not need."""
        chunk = self.archive.chunk
        return np.flatnonzero((chunk.misfit < _NEAR) & (chunk.misfit >= searching.EXACT) & chunk.in_domain)

    def _exact_formulas(self) -> list[Formula]:
        """Exact fits that survive elimination, as formulas; a fit is tried only once."""
        chosen = self._untried(self.archive.hits, _HITS_TRIED) or self._untried(self._near_misses(), _MISSES_TRIED)
        survivors: dict[bytes, Reduced] = {}
        for index in chosen:
            start = self._reduced(index)
            allowed = max(self.tolerance, 10.0 * start.misfit)
            path = eliminate(self.network, self.plain, start, allowed, self.threads, self.tolerance)
            exact = [step for step in path if step.misfit <= self.tolerance]
            if exact:
                survivors[exact[-1].edges.tobytes()] = exact[-1]
        smallest_first = sorted(survivors.values(), key=lambda step: int(step.edges.sum()))
        formulas = [self._formula(step, polish) for step in smallest_first[:_POLISHED]]
        limit = searching.EXACT * mean_square(self.data.y, self.data.weight)
        return [f for f in formulas if f is not None and f.loss <= limit]

    def _states(self) -> list[Reduced]:
        """What a front is drawn from: the best fit of each size, and what elimination makes of the best of all."""
        chunk = self.archive.chunk
        reduced: dict[int, Reduced] = {}
        for index in np.flatnonzero(chunk.in_domain)[:_BRED]:
            for step in eliminate(self.network, self.plain, self._reduced(index), 0.0, self.threads):
                size = int(step.edges.sum())
                if size not in reduced or step.misfit < reduced[size].misfit:
                    reduced[size] = step
        return [*_falling(reduced)[:_ROWS], *self._best_per_size()[: _ROWS // 2]]

    def _best_per_size(self) -> list[Reduced]:
        chunk = self.archive.chunk
        sizes = chunk.edges.sum(axis=1)
        best: dict[int, Reduced] = {}
        for size in np.unique(sizes):
            rows = np.flatnonzero((sizes == size) & chunk.in_domain)
            if len(rows):
                best[int(size)] = self._reduced(rows[np.argmin(chunk.misfit[rows])])
        return _falling(best)

    def _formula(self, state: Reduced, finish: Callable[..., Formula | None]) -> Formula | None:
        """In the user's units: powers of two are put back into the symbols, so no digit is lost."""
        params = upright(self.network, state.edges, state.params, self.samples.x)
        symbols = [s / float(k) for s, k in zip(self.symbols, self.scaling.x, strict=True)]
        raw = self.scaling.y * extract(self.network, state.edges, params, symbols)
        return finish(self.target.back(raw, self.data.y), self.data, self.symbols)


def _falling(best: dict[int, Reduced]) -> list[Reduced]:
    """From small to large, only those that fit better than everything smaller."""
    kept: list[Reduced] = []
    for size in sorted(best):
        if not kept or best[size].misfit < 0.999 * kept[-1].misfit:
            kept.append(best[size])
    return kept
