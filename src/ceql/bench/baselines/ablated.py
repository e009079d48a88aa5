"""The search with a part taken out: what the imaginary penalty and the small sub-networks are good for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ceql.bench.errors import MethodError
from ceql.bench.methods import Adapter, Found

_NEAR = 1e-9  # misfit below which a formula may be hidden under edges it does not need


@dataclass(frozen=True)
class Unpenalised(Adapter):
    """The search without its imaginary penalty: weights stay complex until the imaginary parts are dropped at once."""

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        from ceql.discovery import Settings
        from ceql.pipeline import discover

        base = Settings(seed=seed, time_limit=time_limit)
        schedule = base.search.schedule
        free = replace(schedule, imaginary=(0.0,) * len(schedule.imaginary), adam_imaginary=0.0)
        start = time.perf_counter()
        settings = replace(base, search=replace(base.search, schedule=free))
        found = discover(_dataset(X, y, names), settings)
        return Found(found.best.expression, time.perf_counter() - start)


@dataclass(frozen=True)
class DenseStarts(Adapter):
    """The search's own fit and elimination, begun from all edges of the paper's network instead of small parts of it.

    Dense starts are fitted `chunk` at a time until one is exact or the time is up. As in the search, the best of them
    is eliminated when it is near to exact; if nothing becomes so, the best dense fit is the answer.
    """

    chunk: int = 16
    start_scale: float = 0.7

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        from ceql.formula import make_symbols, polish

        start = time.perf_counter()
        data = _dataset(X, y, names)
        symbols = make_symbols(data.names)
        fits = list(self._fits(data, symbols, seed, time_limit))
        starts = fits[-1][0]
        _, _, raw = min(fits, key=lambda one: one[1])
        formula = polish(raw, data, symbols)
        if formula is None:
            raise MethodError(f"The best of {starts} dense starts is undefined at a training point.")
        return Found(formula.expression, time.perf_counter() - start, extra={"starts": starts})

    def _fits(self, data: Any, symbols: Any, seed: int, time_limit: float) -> Iterator[tuple[int, float, Any]]:
        """The number of starts so far, the misfit and the formula of the best of each chunk; ends at an exact one."""
        from ceql.choice.exactness import EXACT
        from ceql.engine import fit
        from ceql.engine.deadline import Deadline
        from ceql.engine.stages import Schedule, Work, fit_chunks, on_processor
        from ceql.network import clean_up
        from ceql.network.extract import extract, upright
        from ceql.search.reduction import Reduced, WhileExact, eliminate
        from ceql.training import recipes

        deadline = Deadline.after(time_limit)
        x_size = np.abs(data.x).max(axis=0)
        # Near a pole the standard deviation says little about the size of y.
        y_size = float(min(data.y.std(), 1.5 * np.median(np.abs(data.y))) or 1.0)
        x, y = data.x / x_size, data.y / y_size
        weighted, plain = fit.Samples.of(x, y, 1.0 / (1.0 + y**2)), fit.Samples.of(x, y)
        network = recipes.paper().network(x.shape[1])
        dense = clean_up(network, np.ones((self.chunk, network.n_edges), bool))
        tolerance = EXACT.hit * float(np.mean(y**2))
        scaled = [s / float(k) for s, k in zip(symbols, x_size, strict=True)]
        rng = np.random.default_rng(seed)
        starts = 0
        while True:
            params = rng.normal(0.0, self.start_scale, (self.chunk, network.n_params))
            work = Work(network, weighted, Schedule(survivors=1.0), dense, params)
            (fits,) = fit_chunks([work], on_processor(), deadline)
            starts += self.chunk
            k = int(np.argmin(np.where(fits.in_domain, fits.misfit, np.inf)))
            state = Reduced(fits.edges[k], fits.params[k], float(fits.misfit[k]))
            exact = False
            if state.misfit < _NEAR and fits.in_domain[k]:
                (path,) = eliminate(network, plain, [state], WhileExact(tolerance, margin=10.0))
                survivors = [step for step in path if step.misfit <= tolerance]
                exact = bool(survivors)
                state = survivors[-1] if survivors else state
            weights = upright(network, state.edges, state.params, x)
            yield starts, state.misfit, y_size * extract(network, state.edges, weights, scaled)
            if exact or deadline.over:
                return


def _dataset(X: np.ndarray, y: np.ndarray, names: tuple[str, ...]) -> Any:
    import pandas as pd

    from ceql.data.dataset import Dataset

    return Dataset.of(pd.DataFrame(X, columns=list(names)), y)
