"""Fewer variables: a factor of y, or two columns that enter only as their product, ratio, sum or difference.

If y / a does not depend on a, or y depends on b and c only through b / c, then a smooth function of one variable less
explains the data as well as before. That can be tested without knowing the formula, and each step that passes brings
the formula within easier reach. A wrong step costs a few rounds, never a result: formulas are judged on y itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from ceql.engine.one_thread import one_thread
from ceql.operators import get
from ceql.transforms.smoothness import distances, on_circle, unexplained
from ceql.transforms.target import Aim

_ROWS = 160
_CLEARLY_BETTER = 0.8  # share of the error before, with a variable less to explain it with
_AS_GOOD, _STANDS_OUT = 2.0, 0.05  # or not much more than before, and a small fraction of what other steps lead to


@dataclass(frozen=True)
class _Factor:
    values: Callable[[np.ndarray], np.ndarray]
    symbolic: Callable[[Any], Any]
    needs_positive: bool = False


def _root(symbol: Any) -> Any:
    return get("sqrt").symbolic(symbol)


_FACTORS = (
    _Factor(lambda a: a, lambda a: a),
    _Factor(lambda a: 1.0 / a, lambda a: 1 / a),
    _Factor(np.square, lambda a: a**2),
    _Factor(lambda a: a**-2.0, lambda a: a**-2),
    _Factor(np.sqrt, _root, needs_positive=True),
    _Factor(lambda a: a**-0.5, lambda a: 1 / _root(a), needs_positive=True),
)
_PAIRINGS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a - b,
    lambda a, b: a + b,
)


def reduced(aim: Aim) -> Aim | None:
    """The aim in as few variables as the data allow; None where no step holds."""
    error = smooth_error(aim)
    start = aim
    while aim.x.shape[1] > 1:
        steps = sorted(((smooth_error(step), k, step) for k, step in enumerate(_steps(aim))), key=lambda s: s[:2])
        if not steps or not _holds(error, [s[0] for s in steps]):
            break
        error, _, aim = steps[0]
    return None if aim is start else aim


def _holds(error: float, after: list[float]) -> bool:
    best, typical = after[0], float(np.median(after))
    return best < _CLEARLY_BETTER * error or (best < _AS_GOOD * error and best < _STANDS_OUT * typical)


@one_thread
def smooth_error(aim: Aim) -> float:
    """How much of the variance a smooth function of the columns leaves unexplained, which is no less than the noise."""
    rows = np.sort(np.random.default_rng(0).permutation(len(aim.y))[:_ROWS])
    squared = np.sum([distances(column) for column in aim.x[rows].T], axis=0)
    return unexplained(squared, on_circle(aim.y[rows])) if np.isfinite(squared).all() else np.inf


def _steps(aim: Aim) -> Iterator[Aim]:
    columns = range(aim.x.shape[1])
    with np.errstate(all="ignore"):
        steps = [*_divided(aim, columns), *_paired(aim, columns)]
    return (step for step in steps if np.isfinite(step.x).all() and np.isfinite(step.y).all() and np.ptp(step.y) > 0)


def _divided(aim: Aim, columns: range) -> Iterator[Aim]:
    for k in columns:
        column, symbol = aim.x[:, k], aim.symbols[k]
        others = [j for j in columns if j != k]
        for factor in _FACTORS:
            if factor.needs_positive and not (column > 0).all():
                continue

            def back(expression: Any, factor: _Factor = factor, symbol: Any = symbol) -> Any:
                return aim.back(factor.symbolic(symbol) * expression)

            symbols, size = tuple(aim.symbols[j] for j in others), factor.values(column)
            slope = aim.slope / np.abs(size)
            yield replace(aim, x=aim.x[:, others], y=aim.y / size, symbols=symbols, back=back, slope=slope)


def _paired(aim: Aim, columns: range) -> Iterator[Aim]:
    for i, j in combinations(columns, 2):
        others = [k for k in columns if k not in (i, j)]
        for pairing in _PAIRINGS:
            joined = pairing(aim.x[:, i], aim.x[:, j])
            symbols = (*(aim.symbols[k] for k in others), pairing(aim.symbols[i], aim.symbols[j]))
            yield replace(aim, x=np.column_stack([aim.x[:, others], joined]), symbols=symbols)
