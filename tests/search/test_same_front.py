"""The same seed gives the same front to the last digit: on busy cores, for any number of threads and of processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
import sympy

from ceql import Dataset, Settings, discover
from ceql.search.policy import SearchPolicy

FEW_STARTS = SearchPolicy(round_size=64, chunk_size=32)
SPIN = "while True: pass"


@dataclass(frozen=True)
class Problem:
    """A law of one or two columns."""

    name: str
    law: Callable[..., np.ndarray]
    operators: tuple[str, ...]
    columns: int = 1
    noise: float = 0.0
    rows: int = 40

    @property
    def data(self) -> Dataset:
        rng = np.random.default_rng(5)
        x = rng.uniform(0.6, 2.6, (self.rows, self.columns))
        y = self.law(*x.T)
        return Dataset.of(x, y + self.noise * np.std(y) * rng.standard_normal(self.rows))


PROBLEMS = (
    Problem("pole", lambda a: 1.3 / (a - 0.52) + 0.7 * a, ("mul", "div")),
    Problem("waves", lambda a: np.sin(3.3 * a) + 0.3 * np.sin(7.1 * a), ("mul", "sin")),
    Problem("wave in a wave", lambda a: np.sin(a + 2.0 * np.sin(2.0 * a)), ("mul", "sin")),
    Problem("root", lambda a: np.sqrt(a + 1.7 * a**2) * np.log(a), ("mul", "sqrt", "log")),
    Problem("chirp", lambda a, b: np.sin(3 * a * b) / b, ("mul", "div", "sin"), 2),
    Problem("noisy pole", lambda a: 1.3 / (a - 0.52), ("mul", "div"), noise=0.02),
    Problem("noisy power", lambda a, b: 1.7 * a * np.sqrt(b), ("mul", "div", "sqrt"), 2, noise=0.05),
    Problem("noisy wave", lambda a: np.sin(3.3 * a), ("mul", "sin"), noise=0.05),
    Problem("noisy decay", lambda a: 2.0 * np.exp(-1.3 * a) + 0.4, ("mul", "exp"), noise=0.02),
    Problem("noisy and few", lambda a: 3.0 * a**1.5, ("mul", "sqrt"), noise=0.01, rows=14),
)


@pytest.fixture
def busy_cores() -> Iterator[None]:
    spinning = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(os.cpu_count() or 1)]
    yield
    for process in spinning:
        process.kill()
        process.wait()


def front(problem: Problem, max_starts: int = 128, **how: int) -> list[tuple]:
    """Everything that a formula consists of, with all digits."""
    limits = Settings(max_starts=max_starts, max_complexity=16, time_limit=3600.0)
    settings = replace(limits, operators=problem.operators, search=FEW_STARTS)
    found = discover(problem.data, replace(settings, **how))
    formulas = [(sympy.srepr(formula.expression), formula.loss, formula.constants) for formula in found.front]
    return [(found.outcome, found.starts, found.chosen), *formulas]


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, list[tuple]]:
    return {problem.name: front(problem, threads=1) for problem in PROBLEMS}


def test_the_problems_have_something_to_choose_from(undisturbed):
    assert sum(len(rows) > 3 for rows in undisturbed.values()) >= 8


@pytest.mark.usefixtures("busy_cores")
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_on_busy_cores_and_with_five_threads(problem, undisturbed):
    assert front(problem, threads=5) == undisturbed[problem.name]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_with_two_processes(problem, undisturbed):
    assert front(problem, n_jobs=2, threads=1) == undisturbed[problem.name]


def test_with_rounds_that_are_fitted_ahead():
    problem = next(problem for problem in PROBLEMS if problem.name == "wave in a wave")
    assert front(problem, 320, threads=2) == front(problem, 320, threads=1)
