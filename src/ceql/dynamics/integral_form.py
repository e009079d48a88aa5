"""Right-hand sides without differences: integrated along the smoothed path, they must give the states.

    x(t) = x(t0) + integral of f(path) from t0 to t

The states are compared as they were measured, so that their noise is that of the samples, not that of slopes. The state
at the begin of each window of samples is free, and so errors of the path do not pile up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ceql.choice.criterion import criterion
from ceql.dynamics.policy import INTEGRAL, IntegralPolicy
from ceql.dynamics.smoothing import SmoothTrajectory
from ceql.expression.constants.refit import minimise
from ceql.expression.evaluate.residual_problem import Problem, Program
from ceql.formula import Formula


@dataclass(frozen=True, eq=False)
class Path:
    """Points between the samples of all trajectories, and what is needed to integrate values there up to each sample.

    With `order` 2 the values are accelerations, which are integrated twice, and each window also has a free speed.
    """

    rows: np.ndarray  # (points, columns): states, inputs and the time last where the law depends on it
    times: np.ndarray  # (points,)
    trajectory: np.ndarray  # (points,): which one a point belongs to
    lengths: np.ndarray  # (intervals, nodes): weights of the points within the interval between two samples
    samples: np.ndarray  # (samples,): number of intervals that lie before each sample, over all trajectories
    sample_times: np.ndarray
    windows: np.ndarray  # (samples,): the window that each sample belongs to
    roots: np.ndarray  # (samples,): square roots of the weights of the samples
    order: int = 1

    def integrals(self, values: np.ndarray) -> np.ndarray:
        """Of values at the points, or of several columns of them, up to every sample, without what is free."""
        found = self._sums(values)[self.samples]
        if self.order == 2:
            moments = self._sums(values * (self.times if values.ndim == 1 else self.times[:, None]))[self.samples]
            found = self.sample_times[:, None] * found - moments
        found = self.within_windows(found)
        return found[:, 0] if values.ndim == 1 else found

    def _sums(self, values: np.ndarray) -> np.ndarray:
        shaped = values.reshape(*self.lengths.shape, -1)
        steps = np.einsum("in,inc->ic", self.lengths, shaped)
        return np.vstack([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])

    def within_windows(self, values: np.ndarray) -> np.ndarray:
        """Values at the samples without the mean of their window, and without its slope where the order is 2, each
        times the root of its weight."""
        columns = self._centred(values.reshape(len(values), -1))
        if self.order == 2:
            time = self._centred(self.sample_times[:, None])
            square = self._in_windows(time**2)
            columns = (
                columns - time * (self._in_windows(time * columns) / np.where(square > 0.0, square, 1.0))[self.windows]
            )
        return (self.roots[:, None] * columns).reshape(values.shape)

    def _centred(self, columns: np.ndarray) -> np.ndarray:
        means = self._in_windows(columns) / self._in_windows(np.ones((len(columns), 1)))
        return columns - means[self.windows]

    def _in_windows(self, columns: np.ndarray) -> np.ndarray:
        """Weighted sums over the samples of each window."""
        return np.add.reduceat(self._weights * columns, self._first_of_window, axis=0)

    @cached_property
    def _weights(self) -> np.ndarray:
        return self.roots[:, None] ** 2

    @cached_property
    def _first_of_window(self) -> np.ndarray:
        return np.flatnonzero(np.diff(self.windows, prepend=-1))

    def of_samples(self, known: np.ndarray, sizes: np.ndarray) -> Path:
        """With these samples alone, whose errors have these sizes."""
        windows = np.unique(self.windows[known], return_inverse=True)[1]
        times = self.sample_times[known]
        return replace(self, samples=self.samples[known], sample_times=times, windows=windows, roots=1.0 / sizes[known])


def path_of(
    smooth: Sequence[SmoothTrajectory],
    order: int,
    depends_on_time: bool,
    policy: IntegralPolicy = INTEGRAL,
) -> Path:
    """The path through all trajectories."""
    nodes, weights = np.polynomial.legendre.leggauss(policy.nodes)
    rows, times, owners, lengths, samples, windows = [], [], [], [], [], []
    for number, one in enumerate(smooth):
        time = one.measured.time
        widths = np.diff(time)
        places = (time[:-1, None] + widths[:, None] * (nodes + 1.0) / 2.0).ravel()
        columns = [states_at(one, places, order), one.measured.inputs_at(places)]
        rows.append(np.column_stack([*columns, places] if depends_on_time else columns))
        times.append(places)
        owners.append(np.full(len(places), number))
        samples.append(sum(map(len, lengths)) + np.arange(len(time)))
        lengths.append(widths[:, None] / 2.0 * weights)
        parts = max(1, round(len(time) / policy.window))
        windows.append((windows[-1][-1] + 1 if windows else 0) + np.arange(len(time)) * parts // len(time))
    return Path(
        np.vstack(rows),
        np.concatenate(times),
        np.concatenate(owners),
        np.vstack(lengths),
        np.concatenate(samples),
        np.concatenate([one.measured.time for one in smooth]),
        np.concatenate(windows),
        np.ones(sum(len(one.measured.time) for one in smooth)),
        order,
    )


def states_at(smooth: SmoothTrajectory, times: np.ndarray, order: int) -> np.ndarray:
    """The states of the system on the smooth path: with order 2 each position is followed by its speed."""
    if order == 1:
        return smooth(times)
    return np.stack([smooth(times), smooth(times, 1)], axis=2).reshape(len(times), -1)


@dataclass(frozen=True, eq=False)
class Integrated:
    """A program whose values are integrals of another's along the path."""

    program: Program
    path: Path

    def value(self, x: np.ndarray, constants: np.ndarray) -> np.ndarray:
        return self.path.integrals(_columns(self.program.value(self.path.rows, constants), len(self.path.rows)))

    def __call__(self, x: np.ndarray, constants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = self.program(self.path.rows, constants)
        return self.path.integrals(_columns(values, len(self.path.rows))), self.path.integrals(slopes)


def _columns(values: np.ndarray, length: int) -> np.ndarray:
    return np.broadcast_to(values, (length,)).astype(float)


@dataclass(frozen=True, eq=False)
class IntegralTarget:
    """One state as measured, and the path of its samples."""

    path: Path
    values: np.ndarray  # of the state at its samples, without the mean of their window

    @property
    def rows(self) -> int:
        """Samples less those that the free states of the windows take."""
        return len(self.values) - self.path.order * int(self.path.windows.max())

    def problem(self, formula: Formula) -> Problem:
        program = Integrated(formula.program, self.path)
        return Problem(program, np.zeros((len(self.values), 1)), self.values, np.ones(len(self.values)))

    def fitted(self, formula: Formula, policy: IntegralPolicy = INTEGRAL) -> Formula | None:
        """With its constants fitted and its loss in the integral form; None where it has no value on the path."""
        found = self.constants_of(formula, policy)
        return None if found is None else with_constants(formula, *found)

    def constants_of(self, formula: Formula, policy: IntegralPolicy = INTEGRAL) -> tuple[np.ndarray, float] | None:
        """The constants that fit best and the loss, for many formulas of which few are written down."""
        values, misfit = minimise(
            self.problem(formula), np.array(formula.form.values, float), policy.steps, policy.tiny
        )
        return (values, misfit / self.rows) if np.isfinite(misfit) else None

    def criterion(self, formula: Formula, floor: float) -> float:
        """The criterion; residuals below the floor are errors of the path and do not count in favour of a formula."""
        return criterion(replace(formula, loss=formula.loss + floor**2), self.rows)


def with_constants(formula: Formula, values: np.ndarray, loss: float) -> Formula:
    found = formula.at(values) if len(values) else formula
    return replace(found, loss=loss, constants=tuple((float(v), np.nan) for v in values))


def target_of(path: Path, states: np.ndarray, sizes: np.ndarray | None = None) -> IntegralTarget:
    """Of one state at all samples; NaN where it was not measured. `sizes` are those of the samples' errors."""
    known = np.isfinite(states)
    some = path.of_samples(known, np.ones(len(states)) if sizes is None else sizes)
    return IntegralTarget(some, some.within_windows(states[known]))
