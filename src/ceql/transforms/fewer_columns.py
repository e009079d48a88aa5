"""Fewer variables: a factor of y, or two columns that enter only as their product, ratio, sum or difference.

If y / a does not depend on a, or y depends on b and c only through b / c, then a smooth function of one variable less
explains the data as well as before. That can be tested without knowing the formula, and each step that passes brings
the formula within easier reach. A wrong step costs a few rounds, never a result: formulas are judged on y itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ceql.engine.one_thread import one_thread
from ceql.operators import get
from ceql.transforms.policy import FewerColumnsPolicy, TransformPolicy
from ceql.transforms.smoothness import distances, on_circle, unexplained
from ceql.transforms.target import PAIRINGS, TransformedTarget, divided, is_sound, joined


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


def reduced(target: TransformedTarget, policy: TransformPolicy = TransformPolicy()) -> TransformedTarget | None:
    """The target in as few variables as the data allow; None where no step holds."""
    error = smooth_error(target, policy)
    start = target
    while target.x.shape[1] > 1:
        found = [(smooth_error(step, policy), k, step) for k, step in enumerate(steps(target))]
        found.sort(key=lambda s: s[:2])
        if not found or not _holds(error, [s[0] for s in found], policy.fewer_columns):
            break
        error, _, target = found[0]
    return None if target is start else target


def _holds(error: float, after: list[float], policy: FewerColumnsPolicy) -> bool:
    best, typical = after[0], float(np.median(after))
    stands_out = best < policy.as_good * error and best < policy.stands_out * typical
    return best < policy.clearly_better * error or stands_out


@one_thread
def smooth_error(target: TransformedTarget, policy: TransformPolicy = TransformPolicy()) -> float:
    """How much of the variance a smooth function of the columns leaves unexplained, which is no less than the noise."""
    rows = np.sort(np.random.default_rng(0).permutation(len(target.y))[: policy.fewer_columns.rows])
    squared = np.sum([distances(column, policy.smoothness) for column in target.x[rows].T], axis=0)
    if not np.isfinite(squared).all():
        return np.inf
    return unexplained(squared, on_circle(target.y[rows]), policy.smoothness)


def steps(target: TransformedTarget) -> list[TransformedTarget]:
    """All that is one variable shorter: y divided by a factor, or two columns joined."""
    with np.errstate(all="ignore"):
        pairs = combinations(range(target.x.shape[1]), 2)
        paired = [joined(target, i, j, pairing) for i, j in pairs for pairing in PAIRINGS]
        return [step for step in (*_divided(target), *paired) if is_sound(step)]


def _divided(target: TransformedTarget) -> Iterator[TransformedTarget]:
    for k, (column, symbol) in enumerate(zip(target.x.T, target.symbols, strict=True)):
        for factor in _FACTORS:
            if not factor.needs_positive or (column > 0).all():
                yield divided(target, k, factor.values(column), factor.symbolic(symbol))
