"""SINDy-PI: right-hand sides that are fractions, found as implicit equations by pysindy's optimiser."""

# pyright: reportMissingImports=false
from __future__ import annotations

import contextlib
import io
import itertools
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import sympy

from ceql.bench.baselines.systems import Library, differentiation, system_of
from ceql.bench.baselines.trajectories import COMPARISON, Comparison
from ceql.bench.errors import MethodError
from ceql.bench.methods import Found
from ceql.bench.ode_contest import SystemAdapter
from ceql.dynamics.series import Series
from ceql.expression import compile_numpy
from ceql.formula import make_symbols

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class _Fraction:
    """A right-hand side with the number of its terms and its mean squared error on slopes."""

    expression: sympy.Expr
    terms: int
    error: float


@dataclass(frozen=True)
class SindyPi(SystemAdapter):
    """SINDy-PI (pysindy with cvxpy): for every state, monomials of the states and the same times its slope.

    Each feature with the slope is set equal to a sparse sum of the others, with every weight of the penalty; terms
    whose share is below `negligible` are dropped and the others fitted again, until no term is dropped. Solved for the
    slope, this gives a fraction. The `kept` best fractions of each state by the information criterion on slopes are
    combined, and systems are compared by their trajectories as for SINDy.
    """

    requires: ClassVar = (("pysindy", "pysindy"), ("cvxpy", "cvxpy"))
    degree: int = 3
    weights: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 0.1)
    windows: tuple[int, ...] = (0, 15)
    negligible: float = 1e-2  # of the largest share
    floor: float = 1e-3  # share of the spread of the slopes below which errors count as equal
    kept: int = 3
    fitting: float = 0.7  # share of the time limit for fitting equations; the rest is for comparing systems
    tolerance: float = 1e-8  # of the optimiser
    steps: int = 20_000
    comparison: Comparison = COMPARISON

    def discover(self, series: Series, seed: int, time_limit: float) -> Found:
        start, count = time.perf_counter(), len(series.states)
        best = []
        for k in range(count):
            until = start + self.fitting * time_limit * (k + 1) / count
            fractions = sorted(self._fractions(series, k, until), key=lambda one: self._criterion(one, series.samples))
            distinct = list({one.expression: one for one in fractions}.values())[: self.kept]
            if not distinct:
                raise MethodError(f"SINDy-PI found no equation for {series.states[k]!r}.")
            best.append([one.expression for one in distinct])
        systems = [system_of(chosen, series) for chosen in itertools.product(*best)]
        return Found(self.comparison.best(systems, series), extra={"systems": len(systems)})

    def _criterion(self, one: _Fraction, samples: int) -> float:
        return samples * float(np.log(one.error + self.floor**2)) + one.terms * float(np.log(samples))

    def _fractions(self, series: Series, state: int, until: float) -> Iterator[_Fraction]:
        terms = Library(self.degree).terms(make_symbols(series.states))
        shortest = min(len(one.time) for one in series.trajectories)
        for window, weight in itertools.product(self.windows, self.weights):
            if window >= shortest:
                continue
            states, slopes = _slopes(series, window)
            features = _features(terms, states, slopes[:, state], series)
            places = range(len(terms), 2 * len(terms))
            for weights in self._weights(features, list(places), weight, until):
                fraction = _solved(weights, terms, states, slopes[:, state], series)
                if fraction is not None:
                    yield fraction
            if time.perf_counter() > until:
                return

    def _weights(self, features: Array, places: list[int], penalty: float, until: float) -> Iterator[Array]:
        """Yields the weights of the equation for every feature with the slope, including the feature itself."""
        from pysindy import SINDyPI

        size = np.linalg.norm(features, axis=0)
        size[size == 0.0] = 1.0
        scaled = features / size
        for place in places:
            if time.perf_counter() > until:
                return
            optimizer = SINDyPI(reg_weight_lam=penalty, tol=self.tolerance, max_iter=self.steps, model_subset=[place])
            # It prints its progress, and warns if it does not converge.
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    optimizer.fit(scaled, scaled[:, [place]])
                except (ValueError, TypeError):  # the solver gave no answer
                    continue
            found = np.asarray(optimizer.coef_)[place]
            if not np.isfinite(found).all():
                continue
            yield self._thresholded(scaled, found, place) / size

    def _thresholded(self, features: Array, weights: Array, place: int) -> Array:
        """The weights, fitted again without the penalty until no more negligible ones are dropped."""
        weights = weights.copy()
        weights[place] = 0.0
        kept = weights != 0.0
        while True:
            left = kept & (np.abs(weights) > self.negligible * np.max(np.abs(weights), initial=0.0))
            weights = np.zeros(len(weights))
            weights[left] = np.linalg.lstsq(features[:, left], features[:, place], rcond=None)[0]
            if left.sum() == kept.sum():
                weights[place] = -1.0
                return weights
            kept = left


def _slopes(series: Series, window: int) -> tuple[Array, Array]:
    """States and their slopes at all samples, smoothed if `window` is not 0."""
    states, slopes = [], []
    for one in series.trajectories:
        method = differentiation(window)
        slopes.append(np.asarray(method(one.states, one.time)))
        states.append(np.asarray(getattr(method, "smoothed_x_", one.states)))
    return np.vstack(states), np.vstack(slopes)


def _features(terms: Sequence[Any], states: Array, slope: Array, series: Series) -> Array:
    """The monomials of the states, then the same times the slope."""
    symbols = make_symbols(series.states)
    monomials = np.column_stack([compile_numpy(term, symbols)(states) for term in terms])
    return np.hstack([monomials, monomials * slope[:, None]])


def _solved(weights: Array, terms: Sequence[Any], states: Array, slope: Array, series: Series) -> _Fraction | None:
    """The equation solved for the slope; None if that is not possible on all samples."""
    top, bottom = (
        sympy.Add(*[float(w) * t for w, t in zip(part, terms, strict=True) if w]) for part in np.split(weights, 2)
    )
    if bottom == 0:
        return None
    factor = float(np.max(np.abs(weights[len(terms) :])))
    expression = -sympy.expand(top / factor) / sympy.expand(bottom / factor)
    with np.errstate(all="ignore"):
        error = float(np.mean((compile_numpy(expression, make_symbols(series.states))(states) - slope) ** 2))
    if not np.isfinite(error) or not np.var(slope) > 0.0:
        return None
    return _Fraction(expression, int(np.count_nonzero(weights)), error / float(np.var(slope)))
