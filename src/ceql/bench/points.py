"""Draws training and test points for a problem; the same seed gives the same points everywhere.

Columns are drawn uniformly, uniformly in the logarithm or as whole numbers, or are all points of a grid; or the points
lie on solutions of differential equations.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ceql.bench.definitions import PAPER_EXTRAP, PAPER_TRAIN, Intervals, Problem, Range, Samples, Spread, System
from ceql.bench.errors import SuiteError
from ceql.expression import compile_numpy, parse_formula

Function = Callable[[np.ndarray], np.ndarray]

# Points are drawn in blocks of fixed size, so that a longer sample begins with the shorter one.
_BLOCK = 1024
_MAX_DRAWS_PER_POINT = 100
_TOLERANCE = 1e-10  # of the solutions of differential equations
_MOST_STEPS = 20_000


def sample(problem: Problem, seed: int) -> Samples:
    """Draws the training, interpolation and extrapolation points of `problem` for `seed`."""
    if problem.start:
        return _measured(problem)
    if problem.system is not None:
        return _on_solutions(problem, problem.system, seed)
    parts = [
        _part(problem, seed, "train", problem.train, PAPER_TRAIN, problem.n_train),
        _part(problem, seed, "interp", problem.test or problem.train, PAPER_TRAIN, problem.n_interp),
        _part(problem, seed, "extrap", problem.extrap, PAPER_EXTRAP, problem.n_extrap),
    ]
    (X, y), (X_interp, y_interp), (X_extrap, y_extrap) = parts
    y = y if problem.data else _noisy(problem, seed, y)
    return Samples(X, y, X_interp, y_interp, X_extrap, y_extrap, problem.names)


def _measured(problem: Problem) -> Samples:
    """The samples of a measured table: all its rows, for every seed; there are no other points to test on."""
    table = np.array(problem.data)
    X, y = table[:, :-1], table[:, -1]
    return Samples(X, y, X, y, X[:0], y[:0], problem.names)


def _on_solutions(problem: Problem, system: System, seed: int) -> Samples:
    """Samples on the solutions of a system: training and test points from the same solutions, and no extrapolation."""
    X = _solutions(system)
    if problem.n_train + problem.n_interp > len(X):
        raise SuiteError(
            f"Problem {problem.name!r}: its solutions have {len(X)} points, fewer than n_train + n_interp = "
            f"{problem.n_train + problem.n_interp}: lower them, or take more points."
        )
    X = stream(problem, seed, "split").permutation(X)[: problem.n_train + problem.n_interp]
    y = target(problem)(X)
    train, test, none = np.split(np.arange(len(X)), [problem.n_train, len(X)])
    noisy = _noisy(problem, seed, y[train])
    return Samples(X[train], noisy, X[test], y[test], X[none], y[none], problem.names)


def target(problem: Problem) -> Function:
    """The problem's formula as a function of its variables, NaN where undefined."""
    return formula(problem.expression, problem.variables)


@lru_cache(maxsize=512)
def formula(text: str, variables: tuple[str, ...]) -> Function:
    """Compiles a formula written in a suite file."""
    return compile_numpy(parse_formula(text, variables), columns(variables))


def columns(names: Sequence[str]) -> list[Any]:
    """The symbols that the expression package uses for these names."""
    return [parse_formula(name, names) for name in names]


def stream(problem: Problem, seed: int, part: str) -> np.random.Generator:
    """A random generator that depends only on the problem's name, the seed and the purpose."""
    digest = hashlib.sha256("\0".join((problem.sampling_key, str(seed), part)).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype="<u4"))


def usable(problem: Problem, y: np.ndarray) -> np.ndarray:
    """Which targets are defined and within the problem's limits."""
    return np.isfinite(y) & (np.abs(y) <= problem.limit) & (np.abs(y) >= problem.least)


def _part(
    problem: Problem, seed: int, part: str, ranges: Sequence[Range], nuisance: Intervals, size: int
) -> tuple[np.ndarray, np.ndarray]:
    if problem.data and part == "train":
        table = np.array(problem.data)
        X, y = table[:, :-1], table[:, -1]
    elif is_grid(ranges):
        X, y = _usable(problem, lattice(ranges))
    else:
        X, y = _fill(problem, stream(problem, seed, part), ranges, size, part)
    if problem.nuisance:
        extra = draw(stream(problem, seed, part + " nuisance"), [nuisance] * problem.nuisance, len(X))
        X = np.hstack([X, extra])
    return X, y


def _usable(problem: Problem, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    y = target(problem)(X)
    keep = usable(problem, y)
    return X[keep], y[keep]


def _fill(
    problem: Problem, rng: np.random.Generator, ranges: Sequence[Range], size: int, part: str
) -> tuple[np.ndarray, np.ndarray]:
    points: list[np.ndarray] = [np.empty((0, len(ranges)))]
    values: list[np.ndarray] = [np.empty(0)]
    found = drawn = 0
    while found < size:
        if drawn >= _MAX_DRAWS_PER_POINT * size + _BLOCK:
            raise SuiteError(
                f"Problem {problem.name!r}: only {found} of {size} {part} points found in {drawn} draws. "
                f"{problem.expression} is undefined or larger than {problem.limit:g} nearly everywhere in the {part} "
                "range: change the range or the limit."
            )
        X, y = _usable(problem, draw(rng, ranges, _BLOCK))
        points.append(X)
        values.append(y)
        found += len(y)
        drawn += _BLOCK
    return np.concatenate(points)[:size], np.concatenate(values)[:size]


def _noisy(problem: Problem, seed: int, y: np.ndarray) -> np.ndarray:
    if not problem.noise:
        return y
    return y + noise_deviation(problem, y) * stream(problem, seed, "noise").standard_normal(y.size)


def noise_deviation(problem: Problem, y: np.ndarray) -> float:
    """The standard deviation of the noise on targets `y`."""
    size = {"std": np.std, "rms": lambda v: np.sqrt(np.mean(v**2)), "absolute": lambda v: 1.0}[problem.noise_unit]
    return problem.noise * float(size(y))


def draw(rng: np.random.Generator, ranges: Sequence[Range], size: int) -> np.ndarray:
    """Draws points from a product of ranges."""
    return np.column_stack([_column(rng, where, size) for where in ranges])


def is_grid(ranges: Sequence[Range]) -> bool:
    """Whether the points are all points of a grid rather than drawn."""
    return bool(ranges) and all(isinstance(where, Spread) and where.kind == "grid" for where in ranges)


def lattice(ranges: Sequence[Range]) -> np.ndarray:
    """All points of a grid; the last variable changes fastest."""
    axes = [_ticks(where) for where in ranges if isinstance(where, Spread)]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def _column(rng: np.random.Generator, where: Range, size: int) -> np.ndarray:
    if not isinstance(where, Spread):
        ends = np.array(where)
        which, along, begin = _places(rng, ends[:, 1] - ends[:, 0], size)
        return ends[which, 0] + (along - begin)
    if where.kind == "integer":
        return rng.choice(np.concatenate([np.arange(low, high + 1) for low, high in where.intervals]), size)
    if where.kind == "grid":
        return rng.choice(_ticks(where), size)
    ends = np.array(where.intervals)
    sizes = np.sort(np.abs(ends), axis=1)
    logs = np.log(sizes)
    which, along, begin = _places(rng, logs[:, 1] - logs[:, 0], size)
    return np.sign(ends[which, 0]) * np.clip(np.exp(logs[which, 0] + along - begin), *sizes[which].T)


def _places(rng: np.random.Generator, lengths: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random places on intervals joined end to end: the interval, the place, and where on the line the interval begins.

    The probability of an interval is proportional to its length.
    """
    edges = np.concatenate([[0.0], np.cumsum(lengths)])
    along = rng.uniform(0.0, edges[-1], size)
    which = np.clip(np.searchsorted(edges, along, side="right") - 1, 0, len(lengths) - 1)
    return which, along, edges[which]


def _ticks(where: Spread) -> np.ndarray:
    # With linspace, the last point is exactly the end.
    parts = [np.linspace(low, high, round((high - low) / where.step) + 1) for low, high in where.intervals]
    return np.unique(np.concatenate(parts))


# Shared by several problems and all seeds.
@lru_cache(maxsize=32)
def _solutions(system: System) -> np.ndarray:
    """The points of all solutions, stacked as rows."""
    rates = [formula(rate, system.variables) for rate in system.rates]
    return np.vstack([_solution(system, rates, start) for start in system.starts])


def _solution(system: System, rates: Sequence[Function], start: tuple[float, ...]) -> np.ndarray:
    from scipy.integrate import solve_ivp

    times = system.step * np.arange(system.points)
    steps = itertools.count()

    def slope(_: float, state: np.ndarray) -> list[float]:
        # Steps shrink forever if a solution diverges.
        if next(steps) > _MOST_STEPS:
            raise SuiteError(_lost(start, times[-1], "it takes too many steps"))
        return [float(rate(state[None, :])[0]) for rate in rates]

    found = solve_ivp(slope, (0.0, times[-1]), start, "LSODA", times, rtol=_TOLERANCE, atol=_TOLERANCE)
    if not found.success or not np.isfinite(found.y).all():
        raise SuiteError(_lost(start, times[-1], found.message))
    return found.y.T


def _lost(start: tuple[float, ...], end: float, why: str) -> str:
    return f"The solution that starts at {start} cannot be followed to time {end:g}: {why}. Take fewer points."
