"""Fewer variables in long tables: statistical tests for factors and pairings, for any number of columns.

If y = a·g(b, c, ...) and a was varied independently of the rest, then y/a does not depend on a: no statistic of the two
shows a connection. Likewise, if y depends on b and c only through b/c, then y shows no connection with b among rows of
about the same b/c. Such tests need some hundred rows, whatever the number of other columns; a smooth function of all
columns would need many more. A wrong step costs a few rounds but cannot spoil the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ceql.transforms.policy import IndependencePolicy, TransformPolicy
from ceql.transforms.target import PAIRINGS, TransformedTarget, by_power, is_sound, joined, keep_their_sign, only


@dataclass(frozen=True, eq=False)
class _Step:
    """A target with fewer variables; the connection `left` after the step, and after the best alternative step."""

    target: TransformedTarget
    left: float
    otherwise: float

    def holds(self, policy: IndependencePolicy) -> bool:
        return self.left < policy.no_sign and self.otherwise > policy.clear and is_sound(self.target)


def independent_parts(
    target: TransformedTarget, policy: TransformPolicy = TransformPolicy()
) -> list[TransformedTarget]:
    """Return targets with fewer and fewer variables, as far as these tests allow."""
    own = policy.independence
    path: list[TransformedTarget] = []
    while target.x.shape[1] > 1 and len(target.y) >= own.rows:
        with np.errstate(all="ignore"):
            # A factor is stronger evidence than a pairing.
            steps = [s for s in _factors(target, own) if s.holds(own)]
            steps = steps or [s for s in _pairs(target, own) if s.holds(own)]
        if not steps:
            break
        target = max(steps, key=lambda step: step.otherwise / (1.0 + step.left)).target
        path.append(target)
    return path


@np.errstate(all="ignore")
def flattened(target: TransformedTarget, policy: TransformPolicy = TransformPolicy()) -> TransformedTarget | None:
    """Return y divided by the power law closest to it, over the columns that still matter; None if y is far from one.

    The ratio may be a small correction; only on its own does it show the variables it depends on.
    """
    own, n = policy.independence, target.x.shape[1]
    logs, slopes = _power_law(target)
    if logs is None or len(target.y) < own.rows or not keep_their_sign(target.y[:, None])[0]:
        return None
    suited = keep_their_sign(target.x)
    powers = [min(own.exponents, key=lambda p: abs(p - slopes[k])) if suited[k] else 0.0 for k in range(n)]
    flat = target
    for k in np.flatnonzero(powers):
        flat = by_power(flat, int(k), powers[k], keep=True)
    correction = np.log(np.abs(flat.y))
    if not any(powers) or not own.least_left < np.std(correction) < own.nearly * np.std(logs):
        return None
    kept = [k for k in range(n) if connection(correction, target.x[:, k]) >= own.no_sign]
    return only(flat, kept) if kept and is_sound(flat) else None


def _factors(target: TransformedTarget, policy: IndependencePolicy) -> Iterator[_Step]:
    """Yield y divided by a power of a column, for each column."""
    logs, slopes = _power_law(target)
    if logs is None:
        return
    for k in np.flatnonzero((target.x != 0).all(axis=0)):
        others = [j for j in range(target.x.shape[1]) if j != k]
        freed = logs - _log_columns(target)[:, others] @ slopes[others]
        whole = not keep_their_sign(target.x[:, [k]])[0]
        near = _nearest((p for p in policy.exponents if p % 1 == 0 or not whole), slopes[k], policy)
        left = [connection(freed - p * np.log(np.abs(target.x[:, k])), target.x[:, k]) for p in near]
        best = int(np.argmin(left))
        if near[best]:
            yield _Step(by_power(target, int(k), near[best]), *sorted(left)[:2])


def _nearest(exponents: Iterable[float], slope: float, policy: IndependencePolicy) -> list[float]:
    return sorted(exponents, key=lambda p: abs(p - slope))[: policy.nearest]


def _pairs(target: TransformedTarget, policy: IndependencePolicy) -> Iterator[_Step]:
    """Yield, for each pair of columns, the target in which the best product, ratio, difference or sum replaces them."""
    logs, slopes = _power_law(target)
    for i, j in combinations(range(target.x.shape[1]), 2):
        others = [k for k in range(target.x.shape[1]) if k not in (i, j)]
        freed = target.y if logs is None else logs - _log_columns(target)[:, others] @ slopes[others]
        orders = [np.argsort(pairing(target.x[:, i], target.x[:, j]), kind="stable") for pairing in PAIRINGS]
        left = [_both_within(freed, target, (i, j), order, policy) for order in orders]
        best = int(np.argmin(left))
        yield _Step(joined(target, i, j, PAIRINGS[best]), *sorted(left)[:2])
        if logs is not None and (target.x[:, [i, j]] > 0).all():
            yield from _scaled(target, freed, (i, j), orders, policy)


def _scaled(
    target: TransformedTarget,
    freed: np.ndarray,
    pair: tuple[int, int],
    orders: Sequence[np.ndarray],
    policy: IndependencePolicy,
) -> Iterator[_Step]:
    """Yield steps for y = a^p g(a·b) or a^p g(a/b), where p shows only among rows of about equal product or ratio."""
    logs = np.log(target.x[:, pair[0]])
    for pairing, order in zip(PAIRINGS[:2], orders[:2], strict=True):
        near = _nearest((p for p in policy.exponents if p), _slope_within(freed, logs, order, policy.group), policy)
        left = [_both_within(freed - p * logs, target, pair, order, policy) for p in near]
        best = int(np.argmin(left))
        # Keep the column for now: it is joined to the other one below.
        rest = by_power(target, pair[0], near[best], keep=True)
        yield _Step(joined(rest, *pair, pairing), *sorted(left)[:2])


def _both_within(
    values: np.ndarray, target: TransformedTarget, pair: tuple[int, int], order: np.ndarray, policy: IndependencePolicy
) -> float:
    return max(connection_within(values, target.x[:, k], order, policy.group) for k in pair)


def _slope_within(values: np.ndarray, column: np.ndarray, order: np.ndarray, group: int) -> float:
    n = len(order) // group
    a, b = (v[order[: n * group]].reshape(n, group) for v in (values, column))
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    return float(np.sum(a * b) / max(np.sum(b * b), 1e-300))


def _log_columns(target: TransformedTarget) -> np.ndarray:
    """Return the logarithms of the absolute columns; zeros for columns that contain a zero."""
    return np.where((target.x != 0).all(axis=0), np.log(np.maximum(np.abs(target.x), 1e-300)), 0.0)


def _power_law(target: TransformedTarget) -> tuple[np.ndarray | None, np.ndarray]:
    """Return log|y| and the exponents of the closest power law, which explains its coarse variation."""
    if not (target.y != 0).all():
        return None, np.zeros(target.x.shape[1])
    logs = np.log(np.abs(target.y))
    columns = _log_columns(target)
    design = np.column_stack([np.ones(len(logs)), columns])
    return logs, np.linalg.lstsq(design, logs, rcond=None)[0][1:]


def connection(values: np.ndarray, column: np.ndarray) -> float:
    """Return the strongest of several rank correlations, in standard deviations from zero."""
    return connection_within(values, column, np.arange(len(values)), len(values))


def connection_within(values: np.ndarray, column: np.ndarray, order: np.ndarray, group: int) -> float:
    """Return the same among groups of rows that are neighbours in that order, all groups taken together."""
    n = len(order) // group
    a = _ranks(values[order[: n * group]].reshape(n, group))
    rows = column[order[: n * group]].reshape(n, group)
    b = _ranks(rows)
    kinds = [b, _folded(b)]
    if column.min() < 0.0 < column.max():
        # Neither of these shows a dependence on the absolute value that peaks at medium values.
        kinds += [_ranks(np.abs(rows)), _folded(_ranks(np.abs(rows)))]
    strongest = 0.0
    for f in (a, _folded(a)):
        for g in kinds:
            z = np.sqrt(group - 1) * np.mean(f * g, axis=1) if group > 1 else np.zeros(n)
            strongest = max(strongest, abs(float(z.sum())) / np.sqrt(n))
            if n > 1:
                strongest = max(strongest, (float(np.sum(z**2)) - n) / np.sqrt(2.0 * n))
    return strongest


def _ranks(rows: np.ndarray) -> np.ndarray:
    """Return the ranks within each row, centred and of unit variance."""
    return _standard(rows.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable").astype(float))


def _folded(ranks: np.ndarray) -> np.ndarray:
    """Return ranks that are large at both ends, which reveal a change of spread without a shift."""
    return _standard(np.abs(ranks))


def _standard(rows: np.ndarray) -> np.ndarray:
    rows = rows - rows.mean(axis=1, keepdims=True)
    return rows / np.maximum(np.sqrt(np.mean(rows**2, axis=1, keepdims=True)), 1e-300)
