"""Judging a found formula against the problem's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ceql.bench.definitions import Problem, Samples
from ceql.bench.judge import Judge
from ceql.bench.points import columns
from ceql.expression import compile_numpy, node_count, parse_formula

EQUIVALENT_MSE = 1e-20


@dataclass(frozen=True)
class Score:
    """How good a formula is. `exact` and `equivalent` as defined for all ceql's results.

    exact: the same structure with constants within 1e-6, shown by SymPy; equivalent: both test errors below
    1e-20, or below 1e-20 of the mean square of the target where the problem is `relative`. `extrap_mse` is None where
    the problem has no extrapolation points; `r2` is of the interpolation points. `symbolic_solution` is SRBench's
    verdict, defined in `judge`. `front_solution` is the same verdict on any of the formulas that the method offers; it
    is only asked for laws with free constants, since that is how their benchmark counts, and None elsewhere.
    """

    train_mse: float
    interp_mse: float
    extrap_mse: float | None
    r2: float
    node_count: int
    exact: bool
    equivalent: bool
    symbolic_solution: bool
    front_solution: bool | None = None


def score(found: Any, problem: Problem, samples: Samples, front: Sequence[Any] = ()) -> Score:
    """Judge `found`, an expression or its text, on the samples of `problem`; and the `front` it comes from, if any."""
    expression = as_expression(found, samples.names)
    symbols = columns(samples.names)
    function = compile_numpy(expression, symbols)
    interp = mse(function(samples.X_interp), samples.y_interp)
    extrap = mse(function(samples.X_extrap), samples.y_extrap) if len(samples.y_extrap) else None
    fit = r2(interp, samples.y_interp)
    judge = Judge(problem, samples)
    exact = judge.exact(expression)
    solution = judge.solution(expression, fit, exact)
    return Score(
        train_mse=mse(function(samples.X_train), samples.y_train),
        interp_mse=interp,
        extrap_mse=extrap,
        r2=fit,
        node_count=node_count(expression),
        exact=exact,
        equivalent=_tiny(interp, samples.y_interp, problem)
        and (extrap is None or _tiny(extrap, samples.y_extrap, problem)),
        symbolic_solution=solution,
        front_solution=None if problem.constants is None else solution or _is_on_front(front, judge, samples),
    )


def _is_on_front(front: Sequence[Any], judge: Judge, samples: Samples) -> bool:
    def is_solution(expression: Any) -> bool:
        values = compile_numpy(expression, columns(samples.names))(samples.X_interp)
        return judge.solution(expression, r2(mse(values, samples.y_interp), samples.y_interp), exact=False)

    return any(is_solution(as_expression(found, samples.names)) for found in front)


def as_expression(found: Any, names: tuple[str, ...]) -> Any:
    """A formula as an expression, parsed when it is text."""
    return parse_formula(found, names) if isinstance(found, str) else found


def mse(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Mean squared error; infinite when the formula is undefined at a point where the truth is not."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.mean((np.asarray(predicted, dtype=float) - truth) ** 2))
    return error if np.isfinite(error) else float("inf")


def r2(error: float, truth: np.ndarray) -> float:
    """The coefficient of determination that goes with a mean squared error."""
    spread = float(np.var(truth))
    return 1.0 - error / spread if spread > 0 else float("nan")


def _tiny(error: float, truth: np.ndarray, problem: Problem) -> bool:
    unit = float(np.mean(truth**2)) if problem.relative else 1.0
    return error < EQUIVALENT_MSE * unit
