"""Whole systems fitted to the trajectories themselves, by multiple shooting.

Each trajectory is cut into segments. The state at the begin of each, and the constants of all equations, are fitted
together: simulated states must meet the samples, and the end of a segment the begin of the next. Gaps count for more
and more, until the trajectory is one. A chaotic or badly started system that a simulation from the first sample would
lose is held by its segments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ceql.dynamics.policy import SHOOTING, ShootingPolicy
from ceql.dynamics.series import Series
from ceql.dynamics.simulation import (
    FAST,
    FINE,
    Extra,
    Nudged,
    RightHandSides,
    Scheme,
    Segments,
    segments_of,
    simulate_segments,
)
from ceql.dynamics.system import System
from ceql.engine.deadline import NEVER, Deadline
from ceql.engine.one_thread import one_thread
from ceql.expression.constants.refit import covariance_of, minimise
from ceql.expression.evaluate.residual_problem import Problem


@dataclass(frozen=True)
class Layout:
    """Where the constants of each trajectory stand: some may be its own, and all others are shared.

    First come all constants as the first trajectory has them, then the own ones of the others, one after the other.
    """

    constants: int
    trajectories: int = 1
    own: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return self.constants + (self.trajectories - 1) * len(self.own)

    @cached_property
    def index(self) -> np.ndarray:
        """(trajectories, constants)"""
        found = np.tile(np.arange(self.constants), (self.trajectories, 1))
        for trajectory in range(1, self.trajectories):
            first = self.constants + (trajectory - 1) * len(self.own)
            found[trajectory, list(self.own)] = first + np.arange(len(self.own))
        return found

    def spread(self, values: np.ndarray) -> np.ndarray:
        """All constants from those of one trajectory."""
        return np.concatenate([values, np.tile(values[list(self.own)], self.trajectories - 1)])


@dataclass(frozen=True, eq=False)
class Shot:
    """A system with fitted constants and states."""

    system: System  # with the constants of the first trajectory
    sides: RightHandSides
    layout: Layout
    constants: np.ndarray  # of all equations, as they are laid out
    begins: np.ndarray  # (segments, states)
    segments: Segments
    squares: np.ndarray  # (measured states,): mean square of what is left of the samples, open gaps counted in
    samples: np.ndarray  # (measured states,): how many there are
    shooting: _Shooting
    values: np.ndarray
    misfit: float

    @property
    def problem(self) -> Problem:
        return self.shooting.problem

    def errors(self) -> np.ndarray:
        """Covariance of constants and of all states at the begin of segments, in this order."""
        return covariance_of(self.problem, self.values, self.misfit)

    def answers(self, extras: Sequence[Extra]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The change of samples and gaps per unit of each of these functions and of the states at the starts of
        segments, and the residuals, all in units of their errors."""
        left, jacobian = self.problem.linearise(self.values)
        return self.shooting.answers(self.values, extras), jacobian[:, self.layout.size :], -left


@dataclass(frozen=True, eq=False)
class _Shooting:
    """Samples and gaps as a function of the constants and the states at the begin of segments."""

    sides: RightHandSides
    segments: Segments
    layout: Layout
    measured: tuple[int, ...]  # which states of the system are
    sizes: np.ndarray  # of errors of the states of the system
    gap: float
    scheme: Scheme
    substeps: int
    farthest: np.ndarray
    difference: float
    until: Deadline = NEVER

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.segments.times), len(self.sizes)

    def value(self, x: np.ndarray, constants: np.ndarray) -> np.ndarray:
        return self._outputs(self._simulated(constants[None, :]), constants[None, :])[0]

    def _parts(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count = self.layout.size
        constants = values[:, :count][:, self.layout.index[self.segments.trajectory]]
        return constants, values[:, count:].reshape(len(values), *self.shape)

    def _simulated(self, values: np.ndarray) -> np.ndarray:
        self.until.require_time()
        constants, begins = self._parts(values)
        given = self.scheme, self.substeps, self.farthest
        return simulate_segments(self.sides, self.segments, begins, constants, *given)

    def _outputs(self, states: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Simulated samples in units of their errors, then gaps."""
        seen = np.isfinite(self.segments.measured)
        samples = states[..., list(self.measured)][:, seen] / self._sizes_of_samples(seen)
        goes_on = np.flatnonzero(self.segments.follows >= 0)
        _, begins = self._parts(values)
        ends = states[:, goes_on, self.segments.follows[goes_on]]
        gaps = (ends - begins[:, goes_on + 1]) / self.sizes * self.gap
        return np.hstack([samples, gaps.reshape(len(states), -1)])

    def _sizes_of_samples(self, seen: np.ndarray) -> np.ndarray:
        return (self.sizes[list(self.measured)] * self.segments.sizes)[seen]

    @property
    def target(self) -> np.ndarray:
        seen = np.isfinite(self.segments.measured)
        samples = self.segments.measured[seen] / self._sizes_of_samples(seen)
        return np.append(samples, np.zeros(int(np.sum(self.segments.follows >= 0)) * len(self.sizes)))

    @property
    def problem(self) -> Problem:
        target = self.target
        return Problem(self, np.zeros((len(target), 1)), target, np.ones(len(target)))

    def __call__(self, x: np.ndarray, constants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and derivatives: each constant, and one state of all segments at once, a little larger."""
        count, (segments, states) = self.layout.size, self.shape
        size = np.abs(constants[:count])
        steps = self.difference * np.maximum(size, 1e-3 * np.max(size, initial=0.0))
        steps = np.where(steps > 0.0, steps, self.difference)
        nudges = self.difference * np.maximum(self.farthest / 1e3, 1e-300)
        copies = np.tile(constants, (1 + count + states, 1))
        copies[1 + np.arange(count), np.arange(count)] += steps
        for k in range(states):
            copies[1 + count + k, count + k :: states] += nudges[k]
        simulated = self._simulated(copies)
        values = self._outputs(simulated[:1], copies[:1])[0]
        jacobian = np.zeros((len(values), len(constants)))
        outputs = self._outputs(simulated[: 1 + count], copies[: 1 + count])
        jacobian[:, :count] = ((outputs[1:] - values) / steps[:, None]).T
        moved = (simulated[1 + count :] - simulated[0]) / nudges[:, None, None, None]
        self._fill(jacobian[:, count:].reshape(len(values), segments, states), moved)
        return values, jacobian

    def answers(self, values: np.ndarray, extras: Sequence[Extra]) -> np.ndarray:
        """Derivatives by the weights of functions that are added to the equations."""
        lasting = np.max(self.segments.times[:, -1] - self.segments.times[:, 0])
        sizes = np.array([extra.size for extra in extras])
        amounts = self.difference * self.farthest[[extra.place for extra in extras]] / 1e3 / (sizes * lasting)
        copies = np.tile(values, (1 + len(extras), 1))
        constants, begins = self._parts(copies)
        sides, given = Nudged(self.sides, extras, amounts), (self.scheme, self.substeps, self.farthest)
        outputs = self._outputs(simulate_segments(sides, self.segments, begins, constants, *given), copies)
        return ((outputs[1:] - outputs[0]) / amounts[:, None]).T

    def _fill(self, jacobian: np.ndarray, moved: np.ndarray) -> None:
        """Derivatives by the states at the begins: a sample feels that of its own segment, a gap those of two."""
        seen = np.isfinite(self.segments.measured)
        segment, sample, state = np.nonzero(seen)
        sizes = self._sizes_of_samples(seen)
        which = np.array(self.measured)[state]
        rows = np.arange(len(segment))
        for k in range(len(self.sizes)):
            jacobian[rows, segment, k] = moved[k, segment, sample, which] / sizes
        goes_on = np.flatnonzero(self.segments.follows >= 0)
        row = len(segment)
        for s in goes_on:
            end = moved[:, s, self.segments.follows[s]]  # (states moved, states)
            for state_ in range(len(self.sizes)):
                jacobian[row, s, :] = end[:, state_] / self.sizes[state_] * self.gap
                jacobian[row, s + 1, state_] -= self.gap / self.sizes[state_]
                row += 1


@one_thread
def shoot(
    system: System,
    series: Series,
    begins: np.ndarray,
    noise: np.ndarray,
    movement: np.ndarray,
    policy: ShootingPolicy = SHOOTING,
    own: tuple[int, ...] = (),
    until: Deadline = NEVER,
    promises: Callable[[Shot], bool] = lambda shot: True,
) -> Shot | None:
    """The system fitted to the series; None if it cannot be simulated.

    Each trajectory has its `own` values of the constants with these numbers. If a fit does not finish in time,
    `OutOfTime` is raised, so that no incomplete fit is judged. Also None if the first fit, in which gaps have little
    weight, is not promising and leaves more than the error of a coarse simulation: closing the gaps cannot improve it.

    `begins` are states of the system at every sample of every trajectory, one after the other, to start from; `noise`
    and `movement` are the sizes of the errors and of the motion of each state of the system.
    """
    sides = RightHandSides(system)
    segments = segments_of(series, max(policy.segment, round(series.samples / policy.segments)))
    measured = tuple(range(0, len(system.states), series.order))
    first = _first_samples(series, segments)
    layout = Layout(len(sides.values), len(series.trajectories), own)
    values = np.append(layout.spread(sides.values), begins[first].ravel())
    farthest = policy.farthest * movement + np.nanmax(np.abs(begins), axis=0)
    base = _Shooting(sides, segments, layout, measured, noise, 1.0, FAST, 1, farthest, policy.difference, until)
    coarse = np.maximum(policy.coarse * movement, policy.of_noise * noise)
    fine = np.maximum(policy.tolerance * movement, policy.of_noise * noise)
    shot = None
    for tolerance, scheme in ((coarse, FAST), (fine, FINE)):
        fitted = _fitted(replace(base, scheme=scheme), values, tolerance, policy, promises)
        if fitted is None:
            return None
        shooting, values, misfit = fitted
        shot = _shot(
            replace(shooting, until=NEVER), values, misfit, policy.open
        )  # its errors are asked for when the search is over
        if _is_visible(shot, base, tolerance, policy) or np.all(fine >= coarse):
            break
    return shot


def _is_visible(shot: Shot, base: _Shooting, tolerance: np.ndarray, policy: ShootingPolicy) -> bool:
    """Whether the residuals of the samples are larger than errors of the simulation."""
    return bool(np.any(np.sqrt(shot.squares) > policy.visible * tolerance[list(base.measured)]))


def _fitted(
    base: _Shooting,
    values: np.ndarray,
    tolerance: np.ndarray,
    policy: ShootingPolicy,
    promises: Callable[[Shot], bool],
) -> tuple[_Shooting, np.ndarray, float] | None:
    """The fit with growing weights of the gaps; None if the system cannot be simulated."""
    substeps = _substeps(base, values, tolerance, policy)
    if substeps is None:
        return None
    shooting, misfit = base, np.inf
    for gap in policy.joined:
        shooting = replace(base, gap=gap, substeps=substeps)
        values, misfit = minimise(shooting.problem, values, policy.steps, tiny=policy.tiny)
        if not np.isfinite(misfit):
            return None
        if gap == policy.joined[0]:
            loose = _shot(shooting, values, misfit, policy.open)
            if _is_visible(loose, base, tolerance, policy) and not promises(loose):
                return None
    return shooting, values, misfit


def _first_samples(series: Series, segments: Segments) -> np.ndarray:
    """Places of the first samples of the segments among all samples."""
    offsets = np.cumsum([0, *(len(one.time) for one in series.trajectories)])
    times = [series.trajectories[k].time for k in segments.trajectory]
    within = [int(np.searchsorted(time, begin)) for time, begin in zip(times, segments.times[:, 0], strict=True)]
    return offsets[segments.trajectory] + np.array(within)


def _substeps(shooting: _Shooting, values: np.ndarray, tolerance: np.ndarray, policy: ShootingPolicy) -> int | None:
    """The fewest steps between two samples for which doubling them changes nothing."""
    before = None
    for count in policy.substeps:
        states = replace(shooting, substeps=count)._simulated(values[None, :])[0]
        if before is not None and np.all(np.abs(states - before) < tolerance):
            return count // 2
        before = states
    return policy.substeps[-1] if before is not None and np.isfinite(before).all() else None


def _of_gaps(base: _Shooting, residuals: np.ndarray, most: float) -> np.ndarray:
    """Squares of the gaps in units of the measured states; a gap in a speed counts for its position."""
    order = len(base.sizes) // len(base.measured)
    sums = np.sum(residuals.reshape(-1, len(base.measured), order) ** 2, axis=(0, 2))
    return sums * (min(most, base.gap) / base.gap * base.sizes[list(base.measured)]) ** 2


def _shot(base: _Shooting, values: np.ndarray, misfit: float, open_gaps: float) -> Shot:
    segments, measured, sides = base.segments, base.measured, base.sides
    residuals = base.problem.residuals(values)
    state = np.nonzero(np.isfinite(segments.measured))[2]
    left = residuals[: len(state)] * base.sizes[list(measured)][state]
    samples = np.bincount(state, minlength=len(measured))
    squares = np.bincount(state, left**2, minlength=len(measured)) + _of_gaps(base, residuals[len(state) :], open_gaps)
    squares /= np.maximum(samples, 1)
    constants, begins = np.split(values, [base.layout.size])
    system = sides.with_constants(constants[base.layout.index[0]])
    begins = begins.reshape(len(segments.times), -1)
    return Shot(system, sides, base.layout, constants, begins, segments, squares, samples, base, values, misfit)
