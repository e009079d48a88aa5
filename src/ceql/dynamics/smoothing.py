"""Smooth paths through noisy samples: states between them, slopes, and the errors of both.

A spline of high degree has a coefficient for every sample; what it may bend is penalised, and cross-validation decides
how much. Without noise it passes through the samples and its slopes are as good as the sampling; with noise it averages
over as many of them as the motion allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.interpolate import BSpline

from ceql.dynamics.policy import SMOOTHING, SmoothingPolicy
from ceql.dynamics.series import Series, Trajectory
from ceql.engine.one_thread import one_thread

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class SmoothState:
    """One state along one trajectory, piece after piece."""

    pieces: tuple[BSpline, ...]
    borders: np.ndarray  # times at which the next piece takes over
    noise: float  # standard deviation of what the samples have beside the path
    slope_errors: np.ndarray  # of the slopes at the samples
    samples: np.ndarray  # times of the samples that it was made of

    def __call__(self, time: np.ndarray, derivative: int = 0) -> np.ndarray:
        which = np.searchsorted(self.borders, time, side="right")
        found = np.empty(len(time))
        for k, piece in enumerate(self.pieces):
            found[which == k] = piece(time[which == k], nu=derivative)
        return found


@dataclass(frozen=True, eq=False)
class SmoothTrajectory:
    """All states of a trajectory."""

    measured: Trajectory
    states: tuple[SmoothState, ...]

    def __call__(self, time: np.ndarray, derivative: int = 0) -> np.ndarray:
        return np.column_stack([state(time, derivative) for state in self.states])

    @property
    def noise(self) -> np.ndarray:
        return np.array([state.noise for state in self.states])

    @property
    def slope_errors(self) -> np.ndarray:
        """Errors of the slopes at the samples; interpolated where a state was not measured."""
        time = self.measured.time
        return np.column_stack([np.interp(time, s.samples, s.slope_errors) for s in self.states])


def smoothed(trajectory: Trajectory, policy: SmoothingPolicy = SMOOTHING) -> SmoothTrajectory:
    """The path of every state of the trajectory."""
    states = []
    for column in trajectory.states.T:
        known = np.isfinite(column)
        sizes = None if trajectory.sizes is None else trajectory.sizes[known, len(states)]
        states.append(smooth_state(trajectory.time[known], column[known], policy, sizes))
    return SmoothTrajectory(trajectory, tuple(states))


@one_thread
def smooth_state(
    time: np.ndarray, values: np.ndarray, policy: SmoothingPolicy = SMOOTHING, sizes: np.ndarray | None = None
) -> SmoothState:
    """A path through these samples; there must be at least as many as coefficients of the spline's degree. `sizes` are
    the sizes of the samples' errors, in units of the noise."""
    sizes = np.ones(len(time)) if sizes is None else sizes
    pieces, borders, errors, noises = [], [], np.empty(len(time)), []
    for first, last, begin, end in _pieces(len(time), policy):
        spline, noise, slope_errors = _spline(time[first:last], values[first:last], sizes[first:last], policy)
        pieces.append(spline)
        noises.append(noise)
        errors[begin:end] = slope_errors[begin - first : end - first]
        borders.append(time[end - 1] if end < len(time) else time[-1])
    noise = float(np.sqrt(np.mean(np.square(noises))))
    return SmoothState(tuple(pieces), np.array(borders[:-1]), noise, errors, time)


def _pieces(samples: int, policy: SmoothingPolicy) -> Sequence[tuple[int, int, int, int]]:
    """Ranges of samples that are smoothed together, and the ranges within them that count."""
    if samples <= policy.most_samples:
        return [(0, samples, 0, samples)]
    step = policy.most_samples - policy.overlap
    count = int(np.ceil((samples - policy.overlap) / step))
    edges = np.linspace(0, samples, count + 1).round().astype(int)
    half = policy.overlap // 2
    return [(max(a - half, 0), min(b + half, samples), a, b) for a, b in pairwise(edges)]


def _spline(
    time: np.ndarray, values: np.ndarray, sizes: np.ndarray, policy: SmoothingPolicy
) -> tuple[BSpline, float, np.ndarray]:
    """The penalised spline, the noise beside it and the errors of its slopes at the samples."""
    origin, distance = time[0], (time[-1] - time[0]) / (len(time) - 1)
    u = (time - origin) / distance
    centre, size = float(np.mean(values)), float(np.std(values)) or 1.0
    y = (values - centre) / size / sizes
    degree = min(policy.degree, (len(u) - 1) // 2 * 2 - 1)
    knots = _knots(u, degree)
    design = BSpline.design_matrix(u, knots, degree).toarray() / sizes[:, None]
    fits = [_fit(design, _roughness(knots, degree, order), y, policy) for order in policy.roughness if order < degree]
    _, coefficients, spread, variance = min(fits, key=lambda fit: fit[0])
    slopes = BSpline(knots, np.eye(len(u)), degree)(u, nu=1) @ spread
    errors = np.sqrt(variance * np.sum(slopes**2, axis=1))
    spline = BSpline(knots * distance + origin, coefficients * size + centre, degree)
    return spline, float(np.sqrt(variance) * size), errors * size / distance


def _knots(u: np.ndarray, degree: int) -> np.ndarray:
    """Knots for one coefficient per sample: the inner samples, without some at the ends."""
    half = (degree + 1) // 2
    return np.concatenate([np.full(degree + 1, u[0]), u[half:-half], np.full(degree + 1, u[-1])])


def _roughness(knots: np.ndarray, degree: int, order: int) -> np.ndarray:
    """A matrix whose product with the coefficients has the integral of the squared derivative as its square."""
    nodes, weights = np.polynomial.legendre.leggauss(degree - order + 1)
    spans = np.unique(knots)
    widths = np.diff(spans)
    places = (spans[:-1, None] + widths[:, None] * (nodes + 1.0) / 2.0).ravel()
    roots = np.sqrt((widths[:, None] / 2.0 * weights).ravel())
    basis = BSpline(knots, np.eye(len(knots) - degree - 1), degree)
    return roots[:, None] * basis(places, nu=order)


def _fit(
    design: np.ndarray, roughness: np.ndarray, y: np.ndarray, policy: SmoothingPolicy
) -> tuple[float, np.ndarray, np.ndarray, float]:
    """The score, the coefficients, a root of their covariance in units of the noise, and the variance of the noise."""
    inverse = np.linalg.inv(design)
    _, sizes, vt = np.linalg.svd(np.linalg.qr(roughness @ inverse, mode="r"))
    penalties = sizes**2
    parts = vt @ y
    trials = 10.0 ** np.linspace(*policy.decades, policy.steps)
    kept = 1.0 / (1.0 + trials[:, None] * penalties)  # of each part, by each penalty
    left = np.sum(((1.0 - kept) * parts) ** 2, axis=1)
    freedom = np.sum(kept, axis=1)
    room = 1.0 - policy.caution * freedom / len(y)
    scores = np.where(room > 0.02, (left + _TINY) / np.maximum(room, 0.02) ** 2, np.inf)
    best = int(np.argmin(scores))
    variance = (left[best] + _TINY) / max(len(y) - freedom[best], 1.0)
    coefficients = inverse @ (vt.T @ (kept[best] * parts))
    spread = inverse @ (vt.T * np.sqrt(kept[best]))
    return float(scores[best]), coefficients, spread, float(variance)


def with_error_sizes(series: Series, policy: SmoothingPolicy = SMOOTHING) -> Series:
    """The series with the sizes of its errors: equal for all samples of a state, or proportional to its values if that
    explains the residuals of smooth paths much better."""
    smooth = [smoothed(one, policy) for one in series.trajectories]
    columns = [_error_sizes(smooth, k, policy) for k in range(len(series.states))]
    if all(np.all(column == 1.0) for column in columns):
        return series
    ends = np.cumsum([len(one.time) for one in series.trajectories])[:-1]
    sizes = np.split(np.column_stack(columns), ends)
    pairs = zip(series.trajectories, sizes, strict=True)
    return replace(series, trajectories=tuple(replace(one, sizes=size) for one, size in pairs))


def _error_sizes(smooth: Sequence[SmoothTrajectory], state: int, policy: SmoothingPolicy) -> np.ndarray:
    """Of one state at all samples, with a mean square of one."""
    values = np.concatenate([one.measured.states[:, state] for one in smooth])
    path = np.concatenate([one.states[state](one.measured.time) for one in smooth])
    sizes = np.maximum(np.abs(path), policy.least_size * np.max(np.abs(path)))
    sizes = sizes / np.sqrt(np.mean(sizes**2)) if np.all(sizes > 0.0) else np.ones(len(path))
    known = np.isfinite(values)
    left = (values - path)[known]
    if np.std(left) < policy.clean * np.std(values[known]):
        return np.ones(len(path))
    alike = len(left) * np.log(np.mean(left**2) + _TINY)
    scaled = len(left) * np.log(np.mean((left / sizes[known]) ** 2) + _TINY) + 2.0 * np.sum(np.log(sizes[known]))
    return sizes if alike - scaled > policy.proportional else np.ones(len(path))
