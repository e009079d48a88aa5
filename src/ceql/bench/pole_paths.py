"""Fits one small network from many random starts, with complex and with real weights, and follows its poles.

The network is c log(w1 x + c1) + (w2 x + c2) / (w3 x + c3) and a straight line, fitted with the schedule of the search:
a few steps of Adam, then least squares with a growing penalty on imaginary parts, until the poles lie on the real axis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ceql.engine import fit
from ceql.engine.stages import Schedule
from ceql.network import Network

_EXACT = 1e-16  # relative misfit of a start that has reached the solution


@dataclass(frozen=True, eq=False)
class Paths:
    """The final misfit and pole of each start, and the paths of the poles of successful starts, (looks, paths)."""

    misfit: np.ndarray
    ends: np.ndarray
    ways: np.ndarray

    @property
    def arrived(self) -> np.ndarray:
        return self.misfit < _EXACT


@dataclass(frozen=True, eq=False)
class _Stage:
    options: fit.Adam | fit.Levenberg
    penalties: fit.Penalties
    mask: np.ndarray  # over parameters

    def shortened(self, steps: int) -> _Stage:
        field = "steps" if isinstance(self.options, fit.Adam) else "iterations"
        return replace(self, options=replace(self.options, **{field: steps}))

    @property
    def steps(self) -> int:
        return self.options.steps if isinstance(self.options, fit.Adam) else self.options.iterations


class _Fitter:
    """The network and the data that every start is fitted to."""

    def __init__(self, x: np.ndarray, y: np.ndarray, complex_weights: bool) -> None:
        self.network = Network(1, (("log", "div"),), bias=True)
        size = float(min(y.std(), 1.5 * np.median(np.abs(y))) or 1.0)  # near a pole the standard deviation says little
        self.samples = fit.Samples.of(x, y / size, 1.0 / (1.0 + (y / size) ** 2))
        self.is_imaginary = self.network.is_imaginary
        self.stages = _stages(self.network, Schedule(complex_weights=complex_weights))

    def run(self, stage: _Stage, params: np.ndarray) -> fit.Fits:
        params = np.where(stage.mask, params, 0.0)
        masks = np.tile(stage.mask, (len(params), 1))
        method: Any = fit.adam if isinstance(stage.options, fit.Adam) else fit.levenberg
        return method(self.network.tape(), self.samples, params, masks, stage.options, stage.penalties)

    def poles(self, params: np.ndarray) -> np.ndarray:
        """The poles: where the denominator of the quotient is zero."""
        quotient = next(u for u, operator in enumerate(self.network.units) if operator.name == "div")
        below = [s for s in self.network.sums if s.unit == quotient][-1]
        slope, constant = self.network.complex_weights(params)[:, below.first : below.last].T
        return -constant / np.where(slope == 0, np.nan, slope)


def follow(x: np.ndarray, y: np.ndarray, seed: int, starts: int, complex_weights: bool) -> Paths:
    """Fits this number of starts; real starts are the complex ones without their imaginary parts."""
    fitter = _Fitter(x, y, complex_weights)
    begin = np.random.default_rng(seed).normal(0.0, 0.7, (starts, fitter.network.n_params))
    params, misfit = begin, np.full(starts, np.inf)
    for stage in fitter.stages:
        fits = fitter.run(stage, params)
        params, misfit = fits.params, np.where(np.isfinite(fits.misfit), fits.misfit, np.inf)
    return Paths(misfit, fitter.poles(params), _ways(fitter, begin[misfit < _EXACT]))


def _ways(fitter: _Fitter, begin: np.ndarray) -> np.ndarray:
    """The poles after every step: each stage is repeated from its beginning, one step longer each time."""
    first = np.where(fitter.stages[0].mask, begin, 0.0)
    looks, params = [fitter.poles(first)], begin
    for stage in fitter.stages:
        if len(begin):
            looks += [fitter.poles(fitter.run(stage.shortened(k), params).params) for k in range(1, stage.steps)]
            params = fitter.run(stage, params).params
            looks.append(fitter.poles(params))
    return np.array(looks)


def _stages(network: Network, schedule: Schedule) -> list[_Stage]:
    """The stages of the search's schedule, but without giving up any start early."""
    free = network.parameter_mask(np.ones(network.n_edges, bool), imaginary=schedule.complex_weights)
    real = free & ~network.is_imaginary

    def penalties(imaginary: float, argument: float) -> fit.Penalties:
        return fit.Penalties(ridge=np.where(network.is_imaginary, imaginary, 0.0), aux=argument)

    adam = fit.Adam(schedule.adam_steps, schedule.adam_rate)
    levels = [(schedule.adam_imaginary, schedule.first_look), *((v, schedule.descent) for v in schedule.imaginary)]
    return [
        _Stage(adam, penalties(schedule.adam_imaginary, schedule.adam_argument), free),
        *(_Stage(fit.Levenberg(n), penalties(level, schedule.argument), free) for level, n in levels),
        _Stage(fit.Levenberg(schedule.finish, target=schedule.target), penalties(0.0, schedule.argument), real),
    ]
