"""The trajectories of a benchmark's differential equations: the true ones, and the samples that a method gets.

Each sample of the true trajectory is multiplied by 1 + noise times a normal random number, then a share of the samples
is dropped, as in ODEBench. Both use a random generator fixed by the system, the seed and the level, so that they do not
depend on the order of runs.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import lru_cache

import numpy as np
import sympy

from ceql.bench.definitions import Motion, Problem
from ceql.bench.errors import SuiteError
from ceql.bench.points import columns
from ceql.dynamics.series import Series, Trajectory
from ceql.dynamics.system import System
from ceql.expression import parse_formula
from ceql.formula import Formula

TIME = "t"
_RELATIVE = 1e-10  # tolerance of the true trajectories
_LEAST = 4  # fewest samples that must remain of a trajectory


def motion_of(problem: Problem) -> Motion:
    """The motion of a problem; a SuiteError if it has none."""
    if problem.motion is None:
        raise SuiteError(f"Problem {problem.name!r} has no trajectories.")
    return problem.motion


@lru_cache(maxsize=128)
def true_system(states: tuple[str, ...], motion: Motion) -> System:
    """The true system, with the values of its constants."""
    names = (*states, *(name for name, _ in motion.constants))
    symbols, constants = tuple(columns(states)), columns(names)[len(states) :]
    values = {c: sympy.Float(value) for c, (_, value) in zip(constants, motion.constants, strict=True)}
    formulas = [Formula(parse_formula(rate, names).xreplace(values), symbols, 0.0) for rate in motion.rates]
    return System(states, tuple(formulas), time=TIME)


def sampling_times(motion: Motion) -> np.ndarray:
    return np.linspace(0.0, motion.span, motion.samples)


def true_trajectories(problem: Problem) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """The states at all samples, for the training trajectories and for the test trajectories."""
    motion = motion_of(problem)
    every = _followed(problem.variables, replace(motion, subsample=0.0))
    for start, states in zip((*motion.starts, *motion.tests), every, strict=True):
        if not np.isfinite(states).all():
            raise SuiteError(
                f"Problem {problem.name!r}: the trajectory from {start} cannot be followed to time {motion.span:g}. "
                "Give another start or a shorter span."
            )
    return every[: len(motion.starts)], every[len(motion.starts) :]


# Shared by all levels of noise and of subsampling.
@lru_cache(maxsize=128)
def _followed(states: tuple[str, ...], motion: Motion) -> tuple[np.ndarray, ...]:
    system, times = true_system(states, motion), sampling_times(motion)
    return tuple(system.simulate(start, times, relative=_RELATIVE) for start in (*motion.starts, *motion.tests))


def measured(problem: Problem, seed: int) -> Series:
    """The series that a method gets: the training trajectories, with noise and with samples left out."""
    motion = motion_of(problem)
    clean, _ = true_trajectories(problem)
    trajectories = [_measured(problem, motion, seed, k, states) for k, states in enumerate(clean)]
    return Series(tuple(trajectories), TIME, problem.variables)


def _measured(problem: Problem, motion: Motion, seed: int, number: int, states: np.ndarray) -> Trajectory:
    time = sampling_times(motion)
    if problem.noise:
        draws = counter(problem, seed, f"noise {problem.noise!r} {number}").standard_normal(states.shape)
        states = states * (1.0 + problem.noise * draws)
    dropped = int(motion.subsample * len(time))
    if len(time) - dropped < _LEAST:
        raise SuiteError(f"Problem {problem.name!r}: {motion.subsample:g} of the samples left out leaves too few.")
    order = counter(problem, seed, f"subsample {motion.subsample!r} {number}").permutation(len(time))
    kept = np.sort(order[dropped:])
    return Trajectory(str(number + 1), time[kept], states[kept], np.zeros((len(kept), 0)))


def counter(problem: Problem, seed: int, part: str) -> np.random.Generator:
    """A counter-based random generator, whose key is the system, the seed and the purpose."""
    digest = hashlib.sha256("\0".join((problem.sampling_key, str(seed), part)).encode()).digest()
    return np.random.Generator(np.random.Philox(key=np.frombuffer(digest[:16], dtype="<u8")))
