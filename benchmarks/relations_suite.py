"""Searches for the implicit relations of `relations_problems.py` in rows with and without noise, and judges the
results.

    python benchmarks/relations_suite.py [--set frozen] [--seed 0] [--noise 0 --noise 0.01] [--limit 30] [--only gas]

A seed determines the rows and their noise, and is also the seed of the search. A problem counts as solved if as many
relations are found as there are, each between columns of the true one, and each is right. Without noise, this means
that other exact rows are no farther from it than a millionth of the spread of the columns. With noise, the same must
hold once its decimal numbers are fitted to these exact rows, and before that the rows must be within a few per cent of
the spread. Gradients are computed by differences, independently of the code under test.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import pandas as pd
from relations_problems import SETS, Problem
from scipy.optimize import least_squares

from ceql.expression import parametrise
from ceql.formula import make_symbols
from ceql.relations.discovering import find_relations
from ceql.relations.finding import Relation, RelationsFinding
from ceql.relations.policy import RelationsSettings

FRESH_ROWS = 400
CLOSE, NEAR = 1e-6, 0.05  # standard deviations of the columns
STEP = 1e-6  # step of a difference, in the same unit
LEAST_SLOPE = 1e-3  # share of the gradient that a column must have


class OnTrial:
    """A relation on exact rows, with free numbers."""

    def __init__(self, relation: Relation, table: pd.DataFrame, codes: np.ndarray) -> None:
        self.x, self.scale = table.to_numpy(), table.to_numpy().std(axis=0)
        self.form = parametrise(relation.left)
        self.program = self.form.program(make_symbols(tuple(table)))
        levels = np.array([level.value for level in relation.levels])
        self.is_free = np.array([level.error > 0 for level in relation.levels])
        self.codes = codes if len(levels) > 1 else np.zeros(len(table), int)
        self.levels = levels
        self.start = np.concatenate([self.form.values, levels[self.is_free]])

    def values(self, numbers: np.ndarray, x: np.ndarray | None = None) -> np.ndarray:
        count = len(self.form.values)
        levels = self.levels.copy()
        levels[self.is_free] = numbers[count:]
        return self.program.value(self.x if x is None else x, numbers[:count]) - levels[self.codes]

    def slopes(self, numbers: np.ndarray) -> np.ndarray:
        each = []
        for k, scale in enumerate(self.scale):
            step = np.zeros(len(self.scale))
            step[k] = STEP * scale
            each.append((self.values(numbers, self.x + step) - self.values(numbers, self.x - step)) / (2.0 * STEP))
        return np.column_stack(each)

    def distance(self, numbers: np.ndarray) -> float:
        steep = np.linalg.norm(self.slopes(numbers), axis=1)
        return float(np.sqrt(np.mean((self.values(numbers) / np.maximum(steep, 1e-3 * np.median(steep))) ** 2)))

    def refitted(self) -> np.ndarray:
        numbers = self.start
        for _ in range(5 if len(numbers) else 0):
            steep = np.linalg.norm(self.slopes(numbers), axis=1)
            weight = 1.0 / np.maximum(steep, 1e-3 * np.median(steep))
            sizes = np.maximum(np.abs(numbers), 1e-12)
            numbers = least_squares(
                lambda trial, weight=weight: self.values(trial) * weight,
                numbers, x_scale=sizes, xtol=1e-15, ftol=1e-15, gtol=1e-15,
            ).x  # fmt: skip
        return numbers


def fault_of(relation: Relation, problem: Problem, noise: float, known: set[str]) -> str:
    fresh = problem.table(10_000, 0.0, FRESH_ROWS)
    codes = fresh[problem.groups].to_numpy(int) if problem.groups else np.zeros(len(fresh), int)
    table = fresh.loc[:, list(relation.names)]
    if not set(relation.columns) <= known:
        return f"between {', '.join(relation.columns)}"
    trial = OnTrial(relation, table, codes)
    off = trial.distance(trial.start)
    if not off < (NEAR if noise else CLOSE):
        return f"{off:.1e} away from exact rows"
    numbers = trial.refitted() if noise else trial.start
    if not (off := trial.distance(numbers)) < CLOSE:
        return f"another structure: exact rows are {off:.1e} away once it is fitted to them"
    slopes = np.sqrt(np.mean(trial.slopes(numbers) ** 2, axis=0))
    idle = [n for n, s in zip(table, slopes, strict=True) if n in relation.columns and s < LEAST_SLOPE * slopes.max()]
    return f"{', '.join(idle)} without effect" if idle else ""


def judged(found: RelationsFinding, problem: Problem, noise: float) -> str:
    """What is wrong with the relations; empty if all are right."""
    wanted = 1 + len(problem.more)
    if len(found.relations) != wanted:
        return f"{len(found.relations)} relations, not {wanted}"
    taking_part = {name for relation in found.relations for name in relation.columns}
    if taking_part != set(problem.columns):
        return f"between {', '.join(sorted(taking_part))}"
    faults = (fault_of(relation, problem, noise, set(problem.columns)) for relation in found.relations)
    return next((fault for fault in faults if fault), "")


def run(problem: Problem, seed: int, noise: float, limit: float, solve: bool) -> bool:
    begin, work = time.monotonic(), time.process_time()
    settings = RelationsSettings(time_limit=limit, seed=seed, threads=1, solve=solve)
    found = find_relations(problem.table(seed, noise), settings, groups=problem.groups or None)
    seconds = f"{time.monotonic() - begin:5.1f} s, {time.process_time() - work:5.1f} s of a processor"
    wrong = judged(found, problem, noise)
    print(f"{'right' if not wrong else 'WRONG'}  {problem.name:18} {noise:4.0%}  {seconds}  {'; '.join(found.texts)}"
          f"{f'   ({wrong})' if wrong else ''}", flush=True)  # fmt: skip
    return not wrong


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=SETS, default="frozen")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--noise", type=float, action="append")
    parser.add_argument("--limit", type=float, default=30.0)
    parser.add_argument("--only", action="append")
    parser.add_argument("--no-solve", action="store_true", help="sums of terms alone, no search for single columns")
    given = parser.parse_args(arguments)
    problems = [p for p in SETS[given.set] if not given.only or p.name in given.only]
    for noise in given.noise or (0.0, 0.01):
        for seed in given.seed or (0,):
            right = sum(run(problem, seed, noise, given.limit, not given.no_solve) for problem in problems)
            print(f"{given.set}, seed {seed}, noise {noise:.0%}: {right} of {len(problems)} right", flush=True)


if __name__ == "__main__":
    main()
