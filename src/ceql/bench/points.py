"""Drawing training and test points for a problem, the same ones for the same seed everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ceql.bench.definitions import PAPER_EXTRAP, PAPER_TRAIN, Intervals, Problem, Range, Samples, System
from ceql.bench.errors import SuiteError
from ceql.bench.spreads import draw, is_grid, lattice
from ceql.bench.trajectories import solutions
from ceql.expression import compile_numpy, parse_formula

Function = Callable[[np.ndarray], np.ndarray]

# Points are drawn in blocks of fixed size, so that a longer sample begins with the shorter one.
_BLOCK = 1024
_MAX_DRAWS_PER_POINT = 100


def sample(problem: Problem, seed: int) -> Samples:
    """Draw the training, interpolation and extrapolation points of `problem` for `seed`."""
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


def _on_solutions(problem: Problem, system: System, seed: int) -> Samples:
    """Training and test points from the same solutions; there is nothing beyond them."""
    X = solutions(system, [formula(rate, system.variables) for rate in system.rates])
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
    """Compile a formula written in a suite file."""
    return compile_numpy(parse_formula(text, variables), columns(variables))


def columns(names: Sequence[str]) -> list[Any]:
    """The symbols that the expression package uses for these names."""
    return [parse_formula(name, names) for name in names]


def stream(problem: Problem, seed: int, part: str) -> np.random.Generator:
    """A generator that depends on the problem's name, the seed and the purpose alone."""
    digest = hashlib.sha256("\0".join((problem.sampling_key, str(seed), part)).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype="<u4"))


def usable(problem: Problem, y: np.ndarray) -> np.ndarray:
    """Which targets are defined and within the problem's limits."""
    return np.isfinite(y) & (np.abs(y) <= problem.limit) & (np.abs(y) >= problem.least)


def _part(
    problem: Problem, seed: int, part: str, ranges: Sequence[Range], nuisance: Intervals, size: int
) -> tuple[np.ndarray, np.ndarray]:
    if problem.data and part == "train":
        X, y = np.hsplit(np.array(problem.data), [len(problem.variables)])
        y = y.ravel()
    elif is_grid(ranges):
        X, y = _whole_grid(problem, ranges)
    else:
        X, y = _fill(problem, stream(problem, seed, part), ranges, size, part)
    if problem.nuisance:
        extra = draw(stream(problem, seed, part + " nuisance"), [nuisance] * problem.nuisance, len(X))
        X = np.hstack([X, extra])
    return X, y


def _whole_grid(problem: Problem, ranges: Sequence[Range]) -> tuple[np.ndarray, np.ndarray]:
    X = lattice(ranges)
    y = target(problem)(X)
    keep = usable(problem, y)
    return X[keep], y[keep]


def _fill(
    problem: Problem, rng: np.random.Generator, ranges: Sequence[Range], size: int, part: str
) -> tuple[np.ndarray, np.ndarray]:
    function = target(problem)
    points: list[np.ndarray] = [np.empty((0, len(ranges)))]
    values: list[np.ndarray] = [np.empty(0)]
    found = drawn = 0
    while found < size:
        if drawn >= _MAX_DRAWS_PER_POINT * size + _BLOCK:
            raise SuiteError(_starved(problem, part, found, size, drawn))
        X = draw(rng, ranges, _BLOCK)
        y = function(X)
        keep = usable(problem, y)
        points.append(X[keep])
        values.append(y[keep])
        found += int(keep.sum())
        drawn += _BLOCK
    return np.concatenate(points)[:size], np.concatenate(values)[:size]


def _starved(problem: Problem, part: str, found: int, size: int, drawn: int) -> str:
    return (
        f"Problem {problem.name!r}: only {found} of {size} {part} points found in {drawn} draws. "
        f"{problem.expression} is undefined or larger than {problem.limit:g} nearly everywhere in the {part} "
        "range: change the range or the limit."
    )


def _noisy(problem: Problem, seed: int, y: np.ndarray) -> np.ndarray:
    if not problem.noise:
        return y
    return y + noise_deviation(problem, y) * stream(problem, seed, "noise").standard_normal(y.size)


def noise_deviation(problem: Problem, y: np.ndarray) -> float:
    """The standard deviation of the noise on targets `y`."""
    size = {"std": np.std, "rms": lambda v: np.sqrt(np.mean(v**2)), "absolute": lambda v: 1.0}[problem.noise_unit]
    return problem.noise * float(size(y))
