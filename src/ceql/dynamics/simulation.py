"""Many short simulations at once: all segments of all trajectories, each with several sets of constants.

Steps have fixed lengths, as many between two samples as the tolerance asks for, by the formulas of SciPy's Runge-Kutta
solvers of order 5 and 8. A right-hand side is evaluated for all of them in one pass, each with its own constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.integrate import DOP853, RK45

from ceql.dynamics.series import Series
from ceql.dynamics.system import System
from ceql.expression.constants.parametrise import parametrise
from ceql.operators.program import run, value_and_jacobian


@dataclass(frozen=True, eq=False)
class Scheme:
    """A Runge-Kutta formula: weights of earlier slopes for each stage, of all for the step, and the stages' moments."""

    stages: np.ndarray
    step: np.ndarray
    moments: np.ndarray

    @classmethod
    def of(cls, solver: type[RK45 | DOP853]) -> Scheme:
        count = solver.n_stages
        return cls(solver.A[:count, :count], solver.B[:count], solver.C[:count])


FAST, FINE = Scheme.of(RK45), Scheme.of(DOP853)


class RightHandSides:
    """The equations of a system over its columns and all of its constants."""

    def __init__(self, system: System) -> None:
        self.system = system
        forms = [parametrise(formula.expression) for formula in system.formulas]
        self.counts = tuple(len(form.symbols) for form in forms)
        self.values = np.concatenate([form.values for form in forms]) if forms else np.zeros(0)
        self._programs = [
            value_and_jacobian(form.expr, formula.symbols, form.symbols)
            for form, formula in zip(forms, system.formulas, strict=True)
        ]
        self.forms = forms
        ends = np.cumsum(self.counts)
        self.places = [slice(end - count, end) for end, count in zip(ends, self.counts, strict=True)]

    def __call__(self, columns: np.ndarray, constants: np.ndarray) -> np.ndarray:
        """Slopes at rows of columns; of each constant there is a row, with a value for each of these."""
        found = np.empty((len(columns), len(self._programs)))
        for k, (program, place) in enumerate(zip(self._programs, self.places, strict=True)):
            found[:, k] = run(program.instructions, columns, constants[place])
        return found

    def with_constants(self, values: np.ndarray) -> System:
        """The system with these numbers."""
        formulas = tuple(
            formula.with_expression(form.substitute(values[place])) if len(form.symbols) else formula
            for formula, form, place in zip(self.system.formulas, self.forms, self.places, strict=True)
        )
        return replace(self.system, formulas=formulas)


Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Extra:
    """A function of the columns that may be added to an equation, and how large it is."""

    place: int
    function: Function
    size: float


@dataclass(frozen=True, eq=False)
class Nudged:
    """Right-hand sides of several copies of a system. The first copy is unchanged; to each of the others, one function
    is added, times its amount."""

    sides: RightHandSides
    extras: Sequence[Extra]
    amounts: np.ndarray

    @property
    def system(self) -> System:
        return self.sides.system

    def __call__(self, columns: np.ndarray, constants: np.ndarray) -> np.ndarray:
        found = self.sides(columns, constants)
        rows = columns.reshape(len(self.extras) + 1, -1, columns.shape[1])
        slopes = found.reshape(len(self.extras) + 1, -1, found.shape[1])
        for k, (extra, amount) in enumerate(zip(self.extras, self.amounts, strict=True), start=1):
            slopes[k, :, extra.place] += amount * extra.function(rows[k])
        return found


@dataclass(frozen=True, eq=False)
class Segments:
    """Ranges of samples that are simulated from their first one; the last sample is the first of the next segment,
    where there is one in the same trajectory. All are as long as the longest: what is missing is padded."""

    times: np.ndarray  # (segments, samples), repeated at the end where a segment is shorter
    inputs: np.ndarray  # (segments, samples, inputs)
    measured: np.ndarray  # (segments, samples, states): NaN where nothing is compared
    sizes: np.ndarray  # (segments, samples, states): of the samples' errors, as shares
    first: np.ndarray  # (segments,): whether it begins its trajectory
    trajectory: np.ndarray  # (segments,)
    follows: np.ndarray  # (segments,): where in `times` the next segment of the trajectory begins; -1: none


def segments_of(series: Series, length: int) -> Segments:
    """The trajectories cut into segments of about this many samples."""
    ranges = []
    for number, one in enumerate(series.trajectories):
        last = len(one.time) - 1
        count = max(1, round(last / length))
        edges = np.linspace(0, last, count + 1).round().astype(int)
        ranges += [(number, a, b, b < last) for a, b in pairwise(edges)]
    longest = max(b - a for _, a, b, _ in ranges) + 1
    times, inputs, measured, sizes, follows = [], [], [], [], []
    for number, a, b, goes_on in ranges:
        one = series.trajectories[number]
        index = np.minimum(np.arange(a, a + longest), b)
        times.append(one.time[index])
        inputs.append(one.inputs[index])
        seen = one.states[index].astype(float).copy()
        # the shared sample belongs to the next segment, and padding to none
        seen[b - a + (0 if goes_on else 1) :] = np.nan
        measured.append(seen)
        sizes.append(np.ones(seen.shape) if one.sizes is None else one.sizes[index])
        follows.append(b - a if goes_on else -1)
    return Segments(
        np.array(times),
        np.array(inputs),
        np.array(measured),
        np.array(sizes),
        np.array([a == 0 for _, a, _, _ in ranges]),
        np.array([number for number, _, _, _ in ranges]),
        np.array(follows),
    )


def simulate_segments(
    sides: RightHandSides | Nudged,
    segments: Segments,
    begins: np.ndarray,
    constants: np.ndarray,
    scheme: Scheme,
    substeps: int,
    farthest: np.ndarray,
) -> np.ndarray:
    """States of every copy (copies, segments, samples, states), from states at the begin (copies, segments, states)
    with constants (copies, segments, constants); NaN from where one goes farther than `farthest`."""
    copies, count, states = begins.shape
    length = segments.times.shape[1]
    found = np.full((copies, count, length, states), np.nan)
    found[:, :, 0] = begins
    state = begins.reshape(-1, states)
    numbers = np.ascontiguousarray(constants.reshape(copies * count, -1).T)
    with np.errstate(all="ignore"):
        for k in range(length - 1):
            for step in range(substeps):
                around = _Around(segments, k, step / substeps, 1.0 / substeps, copies, sides.system.depends_on_time)
                state = _stepped(sides, scheme, state, numbers, around)
            state = np.where((np.abs(state) <= farthest).all(axis=1)[:, None], state, np.nan)
            found[:, :, k + 1] = state.reshape(copies, count, states)
    return found


@dataclass(frozen=True, eq=False)
class _Around:
    """A step between two samples of all segments: how long it is, and what stands beside the states in its course."""

    segments: Segments
    sample: int
    begin: float  # as a share of the way from this sample to the next
    share: float
    copies: int
    depends_on_time: bool

    @property
    def width(self) -> np.ndarray:
        times = self.segments.times
        return np.tile((times[:, self.sample + 1] - times[:, self.sample]) * self.share, self.copies)[:, None]

    def columns(self, state: np.ndarray, moment: float) -> np.ndarray:
        """The state with inputs and the time at this moment of the step, where they are asked for."""
        place, k = self.begin + moment * self.share, self.sample
        parts = [state]
        if self.segments.inputs.shape[2]:
            inputs = self.segments.inputs
            parts.append(np.tile(inputs[:, k] * (1.0 - place) + inputs[:, k + 1] * place, (self.copies, 1)))
        if self.depends_on_time:
            times = self.segments.times
            parts.append(np.tile(times[:, k] * (1.0 - place) + times[:, k + 1] * place, self.copies)[:, None])
        return np.column_stack(parts) if len(parts) > 1 else state


def _stepped(
    sides: RightHandSides | Nudged, scheme: Scheme, state: np.ndarray, numbers: np.ndarray, around: _Around
) -> np.ndarray:
    width = around.width
    slopes = np.empty((len(scheme.moments), state.size))
    for stage, moment in enumerate(scheme.moments):
        at = state + width * (scheme.stages[stage, :stage] @ slopes[:stage]).reshape(state.shape) if stage else state
        slopes[stage] = sides(around.columns(at, moment), numbers).ravel()
    return state + width * (scheme.step @ slopes).reshape(state.shape)
