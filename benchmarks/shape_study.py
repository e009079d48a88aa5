"""Twenty tables whose unconstrained formula violates a shape constraint, each fitted with and without the constraint.

The problems were written down before the constraints: a law, the range of its columns, the noise, and what a user may
know or require. Problem k has noise with the seed k; every search has the seed 0. A constraint counts as kept if the
formula keeps to it on a separate grid, which is finer than that of the search.

    python benchmarks/shape_study.py --time-limit 10
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ceql import CEQLRegressor, CeqlWarning, Constraints
from ceql.expression import compile_numpy, parse_formula
from ceql.formula import make_symbols
from ceql.shapes.policy import POLICY
from ceql.shapes.verdicts import on_grid

ROWS = 60


@dataclass(frozen=True)
class Problem:
    """A law over uniformly distributed columns with normal noise, and the constraints on the formula."""

    law: str
    ranges: dict[str, tuple[float, float]]
    noise: float
    asked: dict[str, Any] = field(default_factory=dict)


def _shape(*texts: str) -> dict[str, Any]:
    return {"shapes": list(texts)}


PROBLEMS = (
    Problem("2 - 0.35*x", {"x": (0, 4)}, 0.05, _shape("positive for x in [0, 20]")),
    Problem("1.5*x - 0.11*x**2", {"x": (0, 5)}, 0.05, _shape("increasing in x for x in [0, 20]")),
    Problem("4/x + 0.12*x", {"x": (0.5, 4)}, 0.05, _shape("decreasing in x for x in [0.5, 12]")),
    Problem("3/(1 + exp(1.5*(x - 2)))", {"x": (1.0, 5)}, 0.03, _shape("convex in x for x in [0.5, 6]")),
    Problem("x**2/(1 + x**2)", {"x": (0.2, 5)}, 0.02, _shape("concave in x for x in [0.1, 6]")),
    Problem("2.2*exp(-0.9*x) + 0.25", {"x": (0, 4)}, 0.03, _shape("f -> 0 as x -> inf")),
    Problem("1.2 + 0.9*log(x)", {"x": (1, 10)}, 0.04, _shape("f -> finite as x -> inf")),
    Problem("5 - 3*exp(-0.5*x)", {"x": (0, 5)}, 0.05, _shape("f -> 6 as x -> inf")),
    # With its original offset of 0.4, the unconstrained answer was a power law, which has the required limit.
    Problem("1.4 + 1.1*sqrt(x)", {"x": (0.2, 6)}, 0.04, _shape("f -> 0 as x -> 0")),
    Problem("2/x + 1", {"x": (0.8, 4)}, 0.03, _shape("f -> finite as x -> 0")),
    Problem("0.8 + 0.3*x + 1.2*x**2", {"x": (-2, 2)}, 0.1, _shape("even in x")),
    Problem("2*tanh(1.2*x) + 0.3", {"x": (-2, 2)}, 0.05, _shape("odd in x")),
    Problem("x1*x2 + 0.3*x1", {"x1": (0.5, 3), "x2": (0.5, 3)}, 0.05, _shape("symmetric in x1 and x2")),
    Problem("0.3 + 1.7*x", {"x": (0.2, 4)}, 0.1, _shape("f(x=0) = 0")),
    Problem("2.1*x1 + 0.7*x2 + 0.4", {"x1": (0, 3), "x2": (0, 3)}, 0.1, _shape("f(x1=0, x2=0) = 0")),
    Problem("1/(x - 2.1) + 0.5", {"x": (2.5, 6)}, 0.02, _shape("pole at x = 2")),
    Problem("1/(x - 0.4)", {"x": (1, 5)}, 0.02, _shape("no poles for x in [0, 6]")),
    Problem("2.3*x**1.37", {"x": (0.3, 5)}, 0.05, {"exponents": [0.5, 1, 2]}),
    Problem("1.4*x**(-2.6)", {"x": (0.7, 3)}, 0.01, {"exponents_within": [-2, 2]}),
    Problem(
        "x1*(2 - 0.45*x2) + x2",
        {"x1": (0, 3), "x2": (0, 3)},
        0.05,
        _shape("increasing in x1 for x1 in [0, 5] and x2 in [0, 8]", "f(x1=0, x2=0) = 0"),
    ),
)


def made(problem: Problem, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """The table of a problem."""
    rng = np.random.default_rng(seed)
    x = pd.DataFrame({name: rng.uniform(*span, ROWS) for name, span in problem.ranges.items()})
    law = compile_numpy(parse_formula(problem.law, list(x)), make_symbols(tuple(x)))
    return x, law(x.to_numpy()) + problem.noise * rng.normal(size=ROWS)


@dataclass(frozen=True)
class Answer:
    """A formula, how well it fits and how long it took."""

    formula: str
    r2: float
    broken: tuple[str, ...]  # the constraints that are violated
    how: str
    seconds: float


def answer(problem: Problem, x: pd.DataFrame, y: np.ndarray, held: bool, limit: float) -> Answer:
    """The chosen formula, with or without the constraints."""
    asked = Constraints(**problem.asked)
    begin = time.process_time()
    model = CEQLRegressor(
        constraints=asked if held else None, time_limit=limit, random_state=0, threads=1, verbose=False
    ).fit(x, y)
    seconds = time.process_time() - begin
    broken, how = judged(asked, model.discovery_.best.expression, x, y)
    return Answer(str(model.discovery_.best), model.score(x, y), broken, how, seconds)


def judged(asked: Constraints, expression: Any, x: pd.DataFrame, y: np.ndarray) -> tuple[tuple[str, ...], str]:
    """What is violated on a finer grid than that of the search, and how the other constraints are known to hold."""
    over = asked.over(list(x), x.to_numpy(), y)
    assert over.frame is not None
    symbols = make_symbols(tuple(x))
    finer = replace(POLICY, line=20_011, along=307, held=97, spread=30_011)
    broken = [str(shape) for shape in over.asked if not on_grid(shape, expression, symbols, over.frame, finer).kept]
    if not over.powers.allow(expression):
        broken.append("exponents")
    ways = [verdict.how for verdict in over.verdicts(expression)] or ["read off the formula"]
    return tuple(broken), "; ".join(ways)


def told(found: Answer) -> str:
    return f"{'broken' if found.broken else 'kept  '} R2 {found.r2:.4f} {found.seconds:4.1f} s  {found.formula}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds for each search")
    parser.add_argument("--only", type=int, nargs="*", default=[], help="numbers of problems")
    given = parser.parse_args()
    kept = free_broken = tried = 0
    warnings.simplefilter("ignore", CeqlWarning)
    for number, problem in enumerate(PROBLEMS, start=1):
        if given.only and number not in given.only:
            continue
        x, y = made(problem, number)
        free = answer(problem, x, y, False, given.time_limit)
        held = answer(problem, x, y, True, given.time_limit)
        tried, kept, free_broken = tried + 1, kept + (not held.broken), free_broken + bool(free.broken)
        asked = problem.asked.get("shapes") or [f"{name} {value}" for name, value in problem.asked.items()]
        print(f"{number:2}. {problem.law}: {'; '.join(asked)}")
        print(f"    without: {told(free)}")
        print(f"    with:    {told(held)}")
        print(f"             {held.how}", flush=True)
    print(f"kept with the constraint in {kept} of {tried}; broken without it in {free_broken} of {tried}")
    return 0 if kept == tried else 1


if __name__ == "__main__":
    sys.exit(main())
