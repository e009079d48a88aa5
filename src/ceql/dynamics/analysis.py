"""What a system does near the data: where it rests and how stably, where its right-hand sides blow up, where each of
them vanishes. Inputs are held at their means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ceql.dynamics.courses import Course
from ceql.dynamics.finding import DynamicsFinding
from ceql.dynamics.series import Series
from ceql.dynamics.system import System
from ceql.expression.evaluate.poles import Pole, find_borders
from ceql.output.curves import widened

Point = tuple[float, float]

LINE = "on a line of fixed points"
DEGENERATE = "degenerate"


@dataclass(frozen=True)
class AnalysisPolicy:
    margin: float = 0.5  # how far beyond the data is examined, as a share of their range
    # How far beyond zero, for a state with one sign in all the data, as a share of its largest value.
    beyond_zero: float = 0.1
    starts: int = 400  # points from which Newton's method looks for fixed points
    steps: int = 60  # steps of Newton's method
    halvings: int = 5  # times that a step is halved if it does not reduce the slopes
    difference: float = 1e-5  # step of difference quotients, as a share of a state's range
    rests: float = 1e-9  # slopes below this share of the typical ones count as zero
    same: float = 1e-5  # fixed points closer than this share of a state's range count as one
    neutral: float = 1e-6  # real parts of eigenvalues below this share of the largest eigenvalue count as zero
    most_on_a_line: int = 3  # fixed points of a line that are reported
    most: int = 24  # fixed points that are reported
    grid: int = 161  # points along each side of the plane in which nullclines are computed


ANALYSIS = AnalysisPolicy()


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The box in which a system is looked at, and what is held: the means of the inputs, and of the time."""

    lower: np.ndarray  # of the states, with a margin
    upper: np.ndarray
    data_lower: np.ndarray
    data_upper: np.ndarray
    held: np.ndarray  # values of the columns after the states
    visited: np.ndarray  # states that were measured or simulated, a row for each

    @property
    def span(self) -> np.ndarray:
        return self.upper - self.lower

    def rows(self, states: np.ndarray) -> np.ndarray:
        """Rows of all columns of the system at these states."""
        return np.column_stack([states, np.broadcast_to(self.held, (len(states), len(self.held)))])

    def is_inside(self, state: np.ndarray) -> bool:
        """Whether a state lies within the range of the data."""
        return bool((state >= self.data_lower).all() and (state <= self.data_upper).all())


def surroundings(
    system: System, series: Series, paths: Sequence[np.ndarray], policy: AnalysisPolicy = ANALYSIS
) -> Surroundings:
    """The box of the paths (all states of the system, sample by sample) with a margin around it."""
    visited = np.vstack(paths)
    visited = visited[np.isfinite(visited).all(axis=1)]
    low, high = visited.min(axis=0), visited.max(axis=0)
    lower, upper = widened(low, high, policy.margin)
    past_zero = policy.beyond_zero * np.maximum(np.abs(low), np.abs(high))
    lower = np.where(low >= 0.0, np.maximum(lower, -past_zero), lower)
    upper = np.where(high <= 0.0, np.minimum(upper, past_zero), upper)
    inputs = np.vstack([trajectory.inputs for trajectory in series.trajectories]).mean(axis=0)
    moments = np.concatenate([trajectory.time for trajectory in series.trajectories])
    held = np.append(inputs, moments.mean()) if system.depends_on_time else inputs
    return Surroundings(lower, upper, low, high, held, visited)


# ---- fixed points -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """A state at which all slopes vanish, with the eigenvalues of the linear system around it."""

    state: np.ndarray
    eigenvalues: np.ndarray
    kind: str
    inside: bool  # the range of the data

    @property
    def is_stable(self) -> bool:
        return self.kind.startswith("stable")


def fixed_points(system: System, around: Surroundings, policy: AnalysisPolicy = ANALYSIS) -> tuple[FixedPoint, ...]:
    """Those in the box, found from many starts; none where the law depends on the time."""
    if _moves_by_itself(system):
        return ()
    found = _roots(system, around, policy)
    points = [_examined(system, around, state, policy) for state in found]
    degenerate = [point for point in points if point.kind == DEGENERATE]
    if len(degenerate) > policy.most_on_a_line:
        places = np.linspace(0, len(degenerate) - 1, policy.most_on_a_line).round().astype(int)
        some = [degenerate[k] for k in places]
        on_a_line = [FixedPoint(point.state, point.eigenvalues, LINE, point.inside) for point in some]
        points = [point for point in points if point.kind != DEGENERATE] + on_a_line
    return tuple(sorted(points, key=lambda point: (not point.inside, *point.state))[: policy.most])


def _moves_by_itself(system: System) -> bool:
    """Whether the time itself stands in an equation."""
    if not system.depends_on_time:
        return False
    return any(formula.symbols[-1] in formula.expression.free_symbols for formula in system.formulas)


def _roots(system: System, around: Surroundings, policy: AnalysisPolicy) -> np.ndarray:
    """States at which the slopes vanish, one of each, in order."""
    states = _starts(around, policy)
    size = _typical_slopes(system, around)
    values = _slopes(system, around, states) / size
    for _ in range(policy.steps):
        jacobian = jacobians(system, around, states, policy) / size[:, None]
        steps = _newton_steps(jacobian, values)
        states, values = _damped(system, around, states, values, steps, size, policy)
    rests = np.abs(values).max(axis=1) <= policy.rests
    inside = ((states >= around.lower) & (states <= around.upper)).all(axis=1)
    return _distinct(states[rests & inside], around.span * policy.same)


def _starts(around: Surroundings, policy: AnalysisPolicy) -> np.ndarray:
    """Half of them along the data, half anywhere in the box, and its corner at zero."""
    rng = np.random.default_rng(0)
    half = policy.starts // 2
    along = around.visited[np.linspace(0, len(around.visited) - 1, half).round().astype(int)]
    anywhere = rng.uniform(around.lower, around.upper, (policy.starts - half, len(around.lower)))
    return np.vstack([along, anywhere, np.clip(0.0, around.lower, around.upper)[None, :]])


def _typical_slopes(system: System, around: Surroundings) -> np.ndarray:
    slopes = np.abs(_slopes(system, around, around.visited))
    slopes[~np.isfinite(slopes)] = 0.0
    size = np.median(slopes, axis=0)
    largest = slopes.max(axis=0)
    return np.where(size > 1e-6 * largest, size, np.where(largest > 0.0, largest, 1.0))


def _slopes(system: System, around: Surroundings, states: np.ndarray) -> np.ndarray:
    return system.slopes(around.rows(states))


def jacobians(
    system: System, around: Surroundings, states: np.ndarray, policy: AnalysisPolicy = ANALYSIS
) -> np.ndarray:
    """(states, slopes, states): derivatives of the slopes, by central differences of fourth order."""
    columns = []
    for k, span in enumerate(around.span):
        step = np.zeros(len(around.span))
        step[k] = policy.difference * span
        near = _slopes(system, around, states + step) - _slopes(system, around, states - step)
        far = _slopes(system, around, states + 2 * step) - _slopes(system, around, states - 2 * step)
        columns.append((8.0 * near - far) / (12.0 * step[k]))
    return np.stack(columns, axis=2)


@np.errstate(all="ignore")
def _newton_steps(jacobian: np.ndarray, values: np.ndarray) -> np.ndarray:
    """By least squares, since the matrix is singular on a line of fixed points; NaN where something is undefined."""
    whole = np.isfinite(jacobian).all(axis=(1, 2)) & np.isfinite(values).all(axis=1)
    steps = np.full_like(values, np.nan)
    steps[whole] = -np.einsum("kij,kj->ki", np.linalg.pinv(jacobian[whole], rcond=1e-10), values[whole])
    return steps


@np.errstate(all="ignore")
def _damped(
    system: System,
    around: Surroundings,
    states: np.ndarray,
    values: np.ndarray,
    steps: np.ndarray,
    size: np.ndarray,
    policy: AnalysisPolicy,
) -> tuple[np.ndarray, np.ndarray]:
    """Each state after the longest of some shares of its step that brings its slopes down."""
    states, values = states.copy(), values.copy()
    waiting = np.isfinite(steps).all(axis=1)
    for halving in range(policy.halvings):
        tried = states + steps * 0.5**halving
        new = np.full_like(values, np.nan)
        new[waiting] = _slopes(system, around, tried[waiting]) / size
        better = waiting & (np.abs(new).max(axis=1) < np.abs(values).max(axis=1))
        states[better], values[better] = tried[better], new[better]
        waiting &= ~better
    return states, values


def _distinct(states: np.ndarray, near: np.ndarray) -> np.ndarray:
    kept: list[np.ndarray] = []
    for state in states[np.lexsort(states.T[::-1])]:
        if not any((np.abs(state - other) <= near).all() for other in kept):
            kept.append(state)
    return np.array(kept).reshape(-1, states.shape[1])


def _examined(system: System, around: Surroundings, state: np.ndarray, policy: AnalysisPolicy) -> FixedPoint:
    zero = np.abs(state) <= policy.rests * np.maximum(around.span, np.abs(around.data_upper))
    state = np.where(zero, 0.0, state)
    jacobian = jacobians(system, around, state[None, :], policy)[0]
    eigenvalues = np.linalg.eigvals(jacobian) if np.isfinite(jacobian).all() else np.full(len(state), np.nan + 0j)
    eigenvalues = np.array(sorted(map(complex, eigenvalues), key=lambda value: (-value.real, -value.imag)))
    return FixedPoint(state, eigenvalues, kind_of(eigenvalues, policy), around.is_inside(state))


def kind_of(eigenvalues: np.ndarray, policy: AnalysisPolicy = ANALYSIS) -> str:
    """What a fixed point is by its linear part."""
    if not np.isfinite(eigenvalues).all():
        return "on the edge of the domain"
    size = float(np.abs(eigenvalues).max())
    if size == 0.0:
        return DEGENERATE
    real, turning = np.real(eigenvalues), np.abs(np.imag(eigenvalues)) > policy.neutral * size
    neutral = np.abs(real) <= policy.neutral * size
    if (neutral & ~turning).any():
        return DEGENERATE
    if neutral.any():
        return "centre" if neutral.all() else "centre in a plane"
    if (real > 0).any() and (real < 0).any():
        return "saddle focus" if turning.any() else "saddle"
    shape = "spiral" if turning.any() else "node"
    return f"{'stable' if real[0] < 0 else 'unstable'} {shape}"


# ---- poles --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Singularity:
    """Where the right-hand side of one state is singular or ends."""

    state: str
    border: Pole
    inside: bool  # whether it cuts through the range of the data

    def __str__(self) -> str:
        near = "within the range of the data" if self.inside else "outside the data, but near"
        return f"{self.border.kind} in the equation of {self.state}: {self.border}, {near}"


def singularities(
    system: System, series: Series, around: Surroundings, policy: AnalysisPolicy = ANALYSIS
) -> tuple[Singularity, ...]:
    """Poles, log singularities and edges of the domain in the box of the states; inputs and time have their range."""
    inputs = np.vstack([trajectory.inputs for trajectory in series.trajectories])
    moments = np.concatenate([trajectory.time for trajectory in series.trajectories])
    others = np.column_stack([inputs, moments]) if system.depends_on_time else inputs
    ends = others.min(axis=0), others.max(axis=0)
    within = around.data_lower, around.data_upper
    boxes = (within, widened(*within, policy.margin))
    found: dict[tuple[str, str], Singularity] = {}
    for inside, box in zip((True, False), boxes, strict=True):
        lower, upper = (np.append(side, end) for side, end in zip(box, ends, strict=True))
        for k in system.searched:
            formula = system.formulas[k]
            for border in find_borders(formula.expression, formula.symbols, lower, upper):
                found.setdefault((system.states[k], str(border)), Singularity(system.states[k], border, inside))
    return tuple(found.values())


# ---- nullclines ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Plane:
    """The slopes of two states over a grid of them, the others held."""

    across: int  # the number of the state along each side
    up: int
    x: np.ndarray
    y: np.ndarray
    slopes: np.ndarray  # (2, up, across)


@dataclass(frozen=True, eq=False)
class Curve:
    """One or several lines, one after the other, with NaN between them."""

    x: np.ndarray
    y: np.ndarray


def plane(
    system: System,
    around: Surroundings,
    across: int = 0,
    up: int = 1,
    points: int | None = None,
    policy: AnalysisPolicy = ANALYSIS,
) -> Plane:
    """The other states are held at the middle of those visited."""
    count = points or policy.grid
    x, y = (np.linspace(around.lower[k], around.upper[k], count) for k in (across, up))
    states = np.tile(np.median(around.visited, axis=0), (count * count, 1))
    states[:, across], states[:, up] = (side.ravel() for side in np.meshgrid(x, y))
    slopes = _slopes(system, around, states)[:, [across, up]]
    return Plane(across, up, x, y, slopes.T.reshape(2, count, count))


def nullcline(grid: Plane, which: int) -> Curve:
    """Where the slope of the first or the second state of a plane vanishes."""
    values = grid.slopes[which]
    level = _crossings(values, grid.x)  # along x, between neighbours of a row
    upright = _crossings(values.T, grid.y).T
    pieces: list[tuple[Point, Point]] = []
    for i, j in np.argwhere(_touched(level, upright)):
        ends = [(float(level[r, j]), float(grid.y[r])) for r in (i, i + 1) if np.isfinite(level[r, j])]
        ends += [(float(grid.x[c]), float(upright[i, c])) for c in (j, j + 1) if np.isfinite(upright[i, c])]
        pieces += list(pairwise(ends))[:: 2 if len(ends) == 4 else 1]
    lines = [[*line, (np.nan, np.nan)] for line in _joined(pieces)]
    drawn = np.array([point for line in lines for point in line], float).reshape(-1, 2)
    return Curve(drawn[:, 0], drawn[:, 1])


def _joined(pieces: Sequence[tuple[Point, Point]]) -> list[list[Point]]:
    """Pieces that have an end in common become one line."""
    at: dict[Point, list[int]] = {}
    for k, ends in enumerate(pieces):
        for end in ends:
            at.setdefault(end, []).append(k)
    left, lines = set(range(len(pieces))), []
    # Lines that end somewhere are followed from there; what is left is closed.
    first = [k for ends in at.values() if len(ends) == 1 for k in ends]
    for k in (*first, *range(len(pieces))):
        if k not in left:
            continue
        one, other = pieces[k]
        line = [other, one] if len(at[other]) == 1 else [one, other]
        left.discard(k)
        while following := next((n for n in at[line[-1]] if n in left), -1) + 1:
            left.discard(following - 1)
            ends = pieces[following - 1]
            line.append(ends[1] if ends[0] == line[-1] else ends[0])
        lines.append(line)
    return lines


@np.errstate(all="ignore")
def _crossings(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """(rows, gaps): where a row of values is zero between two places, NaN where it is not.

    A change of sign towards which the values grow on both sides is a pole, and no zero.
    """
    one, other = values[:, :-1], values[:, 1:]
    size = np.abs(values)
    grows = np.zeros(one.shape, bool)
    grows[:, 1:-1] = (size[:, 1:-2] > size[:, :-3]) & (size[:, 2:-1] > size[:, 3:])
    changes = (((one < 0) & (other >= 0)) | ((one >= 0) & (other < 0))) & ~grows
    at = places[:-1] + np.diff(places) * one / (one - other)
    return np.where(changes, at, np.nan)


def _touched(level: np.ndarray, upright: np.ndarray) -> np.ndarray:
    """The cells of the grid through which the curve passes."""
    crossed, climbed = np.isfinite(level), np.isfinite(upright)
    count = crossed[:-1].astype(int) + crossed[1:] + climbed[:, :-1] + climbed[:, 1:]
    return (count == 2) | (count == 4)


@dataclass(frozen=True, eq=False)
class Behaviour:
    """A system near its data: what summaries, pictures and pages tell of it."""

    system: System
    around: Surroundings
    fixed_points: tuple[FixedPoint, ...]
    singularities: tuple[Singularity, ...]


def behaviour(finding: DynamicsFinding, along: Sequence[Course], policy: AnalysisPolicy = ANALYSIS) -> Behaviour:
    """Of the chosen system, with the constants of the first trajectory where each has its own."""
    system = along[0].system
    paths = [piece for one in along for piece in (one.states, one.initial[None, :])]
    if finding.series.order == 1:
        paths += [one.measured.states for one in along]
    around = surroundings(system, finding.series, paths, policy)
    found = singularities(system, finding.series, around, policy)
    return Behaviour(system, around, fixed_points(system, around, policy), found)


def rests_along(system: System, around: Surroundings, points: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Of a single state: its values over the box, and its slope at each."""
    values = np.linspace(around.lower[0], around.upper[0], points or ANALYSIS.grid)
    return values, _slopes(system, around, values[:, None])[:, 0]


def held_in_words(system: System, around: Surroundings) -> str:
    """Which columns are held at which values, where some are."""
    names = system.columns[len(system.states) :]
    return ", ".join(f"{name} = {value:.4g}" for name, value in zip(names, around.held, strict=True))
