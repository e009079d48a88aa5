"""Elimination: edges are removed one by one, each followed by a refit, as long as a rule allows it.

The same loop serves two purposes. Exact fits lose every edge that is not needed for the last digit. Fits to noisy data
lose edges as long as that lowers the criterion: with noise no fit is exact, and large fits follow the noise slightly
better than the truth does. Many large fits reduce to the same small formula; if a few rounds bring no better one, more
rounds are unlikely to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Protocol

import numpy as np

from ceql.choice.criterion import of_fits
from ceql.engine import fit
from ceql.engine.pruning import Needed, removals_of_each
from ceql.engine.stages import Chunk, Schedule
from ceql.network import Structure
from ceql.search.policy import HitPolicy, ReductionPolicy

_DOMAIN = fit.Penalties(aux=Schedule().argument)


@dataclass(frozen=True, eq=False)
class Reduced:
    """A sub-network on the real axis with its fit."""

    edges: np.ndarray
    params: np.ndarray
    misfit: float

    @property
    def size(self) -> int:
        return int(self.edges.sum())


class Rule(Protocol):
    """Which removal is taken, and when a path of ever smaller fits ends."""

    @property
    def refit(self) -> fit.Levenberg: ...

    def best(self, path: Sequence[Reduced], candidates: Sequence[Reduced]) -> Reduced: ...

    def goes_on(self, path: Sequence[Reduced]) -> bool: ...


@dataclass(frozen=True)
class WhileExact:
    """Removes the edge that takes most others with it while the misfit stays within `tolerance`, or within `margin`
    times that of the start; after that, the edge whose removal costs least. Once a fit is exact, it must stay so."""

    tolerance: float = 0.0
    margin: float = 0.0
    iterations: int = HitPolicy().refit
    separable: bool = HitPolicy().separable

    @property
    def refit(self) -> fit.Levenberg:
        return fit.Levenberg(self.iterations, target=1e-2 * self.tolerance, separable=self.separable)

    def best(self, path: Sequence[Reduced], candidates: Sequence[Reduced]) -> Reduced:
        was_exact = any(step.misfit <= self.tolerance for step in path)
        allowed = self.tolerance if was_exact else max(self.tolerance, self.margin * path[0].misfit)
        return min(candidates, key=lambda c: (c.misfit > allowed, c.size if c.misfit <= allowed else 0, c.misfit))

    def goes_on(self, path: Sequence[Reduced]) -> bool:
        return bool(np.isfinite(path[-1].misfit))


@dataclass(frozen=True)
class ByCriterion:
    """Takes the removal with the lowest criterion, until it is `hopeless` above the lowest on the path."""

    rows: int
    hopeless: float
    refit: fit.Levenberg = ReductionPolicy().refit

    def criterion(self, step: Reduced) -> float:
        return float(of_fits(step.misfit, step.size, self.rows))

    def best(self, path: Sequence[Reduced], candidates: Sequence[Reduced]) -> Reduced:
        return min(candidates, key=self.criterion)

    def goes_on(self, path: Sequence[Reduced]) -> bool:
        scores = [self.criterion(step) for step in path]
        return bool(np.isfinite(scores[-1]) and scores[-1] <= min(scores) + self.hopeless)


def eliminate(
    structure: Structure,
    samples: fit.Samples,
    starts: Sequence[Reduced],
    rule: Rule,
    threads: int = 1,
    needed: Needed = (),
) -> list[list[Reduced]]:
    """One path of ever smaller fits per start, beginning with it; all advance together to keep every thread busy."""
    paths = [[start] for start in starts]
    growing = [path for path in paths if np.isfinite(path[0].misfit)]
    while growing:
        smaller = removals_of_each(structure, [path[-1].edges for path in growing], needed)
        inherited = [np.repeat(path[-1].params[None], len(m), 0) for path, m in zip(growing, smaller, strict=True)]
        edges, params = np.concatenate(smaller), np.concatenate(inherited)
        fits = iter(fitted(structure, samples, edges, params, rule.refit, threads))
        going_on = []
        for path, masks in zip(growing, smaller, strict=True):
            candidates = [state for _ in masks if np.isfinite((state := next(fits)).misfit)]
            if candidates:
                path.append(rule.best(path, candidates))
                going_on += [path] if rule.goes_on(path) else []
        growing = going_on
    return paths


def fitted(
    structure: Structure,
    samples: fit.Samples,
    edges: np.ndarray,
    params: np.ndarray,
    options: fit.Levenberg,
    threads: int,
) -> list[Reduced]:
    """These sub-networks fitted on the real axis; infinite misfit where one has no value."""
    if not len(edges):
        return []
    masks = structure.parameter_mask(edges, imaginary=False)
    fits = fit.levenberg(structure.tape(), samples, params, masks, options, _DOMAIN, threads=threads)
    misfit = np.where(np.isfinite(fits.objective), fits.objective, np.inf)
    params = np.where(masks, fits.params, 0.0)
    return [Reduced(*row) for row in zip(edges, params, misfit.tolist(), strict=True)]


# ---- the best reduced fits so far ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Contenders:
    """The reduced fits, best first, and how many rounds have brought no better one."""

    known: tuple[Reduced, ...] = ()
    tried: frozenset[bytes] = frozenset()
    quiet: int = 0  # challenges since the best contender was last beaten


def challenged(
    contenders: Contenders,
    chunk: Chunk,
    structure: Structure,
    samples: fit.Samples,
    policy: ReductionPolicy,
    threads: int,
    needed: Needed = (),
) -> Contenders:
    """The contenders after the most promising fits that were not tried yet are reduced."""
    rule = ByCriterion(len(samples.y), policy.hopeless, policy.refit)
    before = min(map(rule.criterion, contenders.known), default=np.inf)
    fresh = _most_promising(contenders, chunk, len(samples.y), policy.fits)
    known = {state.edges.tobytes(): state for state in contenders.known}
    tried = contenders.tried
    if len(fresh):
        starts = fitted(structure, samples, chunk.edges[fresh], chunk.params[fresh], policy.first_fit, threads)
        steps = list(chain.from_iterable(eliminate(structure, samples, starts, rule, threads, needed)))
        tried = tried.union(edges.tobytes() for edges in chunk.edges[fresh])
        tried = tried.union(state.edges.tobytes() for state in steps)
        for state in steps:
            key = state.edges.tobytes()
            if key not in known or state.misfit < known[key].misfit:
                known[key] = state
    ranked = sorted(known.values(), key=rule.criterion)[: policy.kept]
    is_better = bool(ranked) and rule.criterion(ranked[0]) < before - policy.progress
    return replace(contenders, known=tuple(ranked), tried=tried, quiet=0 if is_better else contenders.quiet + 1)


def _most_promising(contenders: Contenders, chunk: Chunk, rows: int, count: int) -> np.ndarray:
    order = np.argsort(of_fits(chunk.misfit, chunk.edges.sum(axis=1), rows), kind="stable")
    fresh = [k for k in order if chunk.in_domain[k] and chunk.edges[k].tobytes() not in contenders.tried]
    return np.array(fresh[:count], int)
