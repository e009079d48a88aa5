"""Methods that find differential equations: our own, and SINDy with settings chosen by the training data."""

# pyright: reportMissingImports=false
from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import sympy

from ceql.bench.baselines.trajectories import COMPARISON, Comparison
from ceql.bench.errors import MethodError
from ceql.bench.methods import Found
from ceql.bench.ode_contest import SystemAdapter
from ceql.dynamics.series import Series
from ceql.dynamics.system import System
from ceql.formula import Formula, make_symbols

Array = np.ndarray


@dataclass(frozen=True)
class OwnSystems(SystemAdapter):
    """`ceql ode` with its defaults."""

    imports: ClassVar = ("ceql.dynamics.pipeline",)
    threads: int | None = None

    def discover(self, series: Series, seed: int, time_limit: float) -> Found:
        from ceql.dynamics.pipeline import discover_system
        from ceql.dynamics.settings import DynamicsSettings

        settings = DynamicsSettings(time_limit=time_limit, seed=seed, threads=self.threads)
        finding = discover_system(series, settings)
        others = tuple(fitted.system for fitted in finding.systems[1:])
        return Found(finding.system, extra={"how": finding.how, "notes": list(finding.notes)}, front=others)


@dataclass(frozen=True)
class Library:
    """Terms that a right-hand side may contain: monomials up to a degree, and sines and cosines of the states."""

    degree: int
    fourier: bool = False

    def terms(self, symbols: Sequence[Any]) -> list[sympy.Expr]:
        """The terms in pysindy's order."""
        monomials = [
            sympy.Mul(*chosen)
            for degree in range(self.degree + 1)
            for chosen in itertools.combinations_with_replacement(symbols, degree)
        ]
        waves = [function(symbol) for symbol in symbols for function in (sympy.sin, sympy.cos)]
        return [*monomials, *(waves if self.fourier else ())]

    def of_pysindy(self) -> Any:
        from pysindy import ConcatLibrary, FourierLibrary, PolynomialLibrary

        monomials = PolynomialLibrary(degree=self.degree)
        return ConcatLibrary([monomials, FourierLibrary(n_frequencies=1)]) if self.fourier else monomials


@dataclass(frozen=True)
class Pysindy(SystemAdapter):
    """SINDy: thresholded least squares on finite differences, over a grid of settings.

    The grid spans the libraries (`degrees`, and `fourier_degree` with sines and cosines), how slopes are computed
    (plain differences, and after smoothing with each of the `windows`), the ridge, the thresholds, and whether columns
    are normalised. The systems are compared by their trajectories on the training data.
    """

    requires: ClassVar = (("pysindy", "pysindy"),)
    degrees: tuple[int, ...] = (2, 3, 5)
    fourier_degree: int = 3
    windows: tuple[int, ...] = (0, 7, 15, 31)
    thresholds: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
    alphas: tuple[float, ...] = (0.05, 1e-5)  # of the ridge
    normalise: tuple[bool, ...] = (False, True)
    most_terms: int = 60  # of a library: the samples cannot distinguish more
    fitting: float = 0.6  # share of the time limit for fitting systems; the rest is for comparing them
    comparison: Comparison = COMPARISON

    def discover(self, series: Series, seed: int, time_limit: float) -> Found:
        end = time.perf_counter() + self.fitting * time_limit
        systems: dict[Any, System] = {}
        for system in self._systems(series):
            systems.setdefault(tuple(formula.expression for formula in system.formulas), system)
            if time.perf_counter() > end:
                break
        if not systems:
            raise MethodError("pysindy found no system with any of its settings.")
        return Found(self.comparison.best(list(systems.values()), series), extra={"systems": len(systems)})

    def _libraries(self, states: int) -> list[Library]:
        fourier = Library(self.fourier_degree, fourier=True)
        every = [*map(Library, self.degrees), fourier]
        symbols = sympy.symbols(f"x:{states}")
        return [one for one in every if len(one.terms(symbols)) <= self.most_terms]

    def _systems(self, series: Series) -> Iterator[System]:
        from pysindy import STLSQ, SINDy

        symbols = make_symbols(series.states)
        times = [one.time for one in series.trajectories]
        states = [one.states for one in series.trajectories]
        shortest = min(map(len, times))
        windows = [window for window in self.windows if window < shortest]
        libraries = self._libraries(len(symbols))
        grid = itertools.product(windows, libraries, self.alphas, self.normalise, self.thresholds)
        for window, library, alpha, normalise, threshold in grid:
            optimizer = STLSQ(threshold=threshold, alpha=alpha, normalize_columns=normalise)
            model = SINDy(optimizer, library.of_pysindy(), differentiation(window))
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                # It warns about thresholds that leave no term and about nearly singular matrices.
                warnings.simplefilter("ignore")
                model.fit(states, t=times)
            if np.isfinite(model.coefficients()).all():
                yield linear_system(model.coefficients(), library.terms(symbols), series)


def differentiation(window: int) -> Any:
    """The differentiation method: finite differences of the samples, smoothed first if `window` is not 0."""
    from pysindy import FiniteDifference, SmoothedFiniteDifference

    if not window:
        return FiniteDifference(order=4)
    return SmoothedFiniteDifference(smoother_kws={"window_length": window, "polyorder": 3}, order=4)


def linear_system(coefficients: Array, terms: Sequence[sympy.Expr], series: Series) -> System:
    """The system whose right-hand sides are sums of these terms."""
    return system_of(
        [sympy.Add(*[float(c) * t for c, t in zip(row, terms, strict=True) if c]) for row in coefficients], series
    )


def system_of(expressions: Sequence[sympy.Expr], series: Series) -> System:
    symbols = make_symbols(series.states)
    formulas = tuple(Formula(one, symbols, math.nan) for one in expressions)
    return System(series.states, formulas, time=series.time)
