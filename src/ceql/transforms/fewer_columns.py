"""Fewer variables: finds factors of y and pairs of columns that enter only as product, ratio, sum or difference.

If y / a does not depend on a, or y depends on b and c only through b / c, then a smooth function of one variable less
explains the data as well as before. That can be tested without knowing the formula, and each successful step makes the
formula easier to find. A wrong step costs a few rounds but cannot spoil the result: formulas are judged on y itself.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np

from ceql.engine.one_thread import one_thread
from ceql.transforms.policy import FewerColumnsPolicy, TransformPolicy
from ceql.transforms.smoothness import distances, on_circle, unexplained
from ceql.transforms.target import PAIRINGS, TransformedTarget, by_power, is_sound, joined

_EXPONENTS = (1, -1, 2, -2, Fraction(1, 2), Fraction(-1, 2))  # exponents of a column that are tried as a factor of y


def reduced(target: TransformedTarget, policy: TransformPolicy = TransformPolicy()) -> TransformedTarget | None:
    """Return the target in as few variables as the data allow; None if no variable can be removed."""
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
    """Return the share of the variance that a smooth function of the columns leaves unexplained; at least the noise."""
    rows = np.sort(np.random.default_rng(0).permutation(len(target.y))[: policy.fewer_columns.rows])
    squared = np.sum([distances(column, policy.smoothness) for column in target.x[rows].T], axis=0)
    if not np.isfinite(squared).all():
        return np.inf
    return unexplained(squared, on_circle(target.y[rows]), policy.smoothness)


def steps(target: TransformedTarget) -> list[TransformedTarget]:
    """Return all targets with one variable less: y divided by a power of a column, or two columns joined."""
    n = target.x.shape[1]
    positive = np.min(target.x, axis=0) > 0
    factors = [(k, p) for k in range(n) for p in _EXPONENTS if positive[k] or p.denominator == 1]
    with np.errstate(all="ignore"):
        divided = [by_power(target, k, exponent) for k, exponent in factors]
        paired = [joined(target, i, j, pairing) for i, j in combinations(range(n), 2) for pairing in PAIRINGS]
    return [step for step in (*divided, *paired) if is_sound(step)]
