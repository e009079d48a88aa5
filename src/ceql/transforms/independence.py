"""Fewer variables in long tables: what statistics say about factors and pairings, however many columns there are.

If y = a·g(b, c, ...) and a was varied independently of the rest, then y/a does not depend on a: no statistic of the two
shows a connection. Likewise, if y depends on b and c only through b/c, then y shows no connection with b among rows of
about the same b/c. Such tests need some hundred rows and do not care about the number of other columns, where a smooth
function of all of them would need many more. A wrong step costs a few rounds, never a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from ceql.transforms.target import Aim, keep_their_sign, only

_ROWS = 400  # at least
_NO_SIGN = 3.5  # a connection of fewer standard deviations is none
_CLEAR = 6.0  # one of more is certain
_GROUP = 25  # rows of about the same value of a pairing
_EXPONENTS = (-4, -3, -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4)
_PAIRINGS = (
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a - b,
    lambda a, b: a + b,
)


@dataclass(frozen=True, eq=False)
class _Step:
    """An aim with fewer variables; the connection that is left, and the least that any step of its kind leaves else."""

    aim: Aim
    left: float
    otherwise: float

    @property
    def holds(self) -> bool:
        return self.left < _NO_SIGN and self.otherwise > _CLEAR and _is_sound(self.aim)


def independent_parts(aim: Aim) -> list[Aim]:
    """Aims in fewer and fewer variables, as far as these tests allow."""
    path: list[Aim] = []
    while aim.x.shape[1] > 1 and len(aim.y) >= _ROWS:
        with np.errstate(all="ignore"):
            # A factor is the more definite finding of the two.
            steps = [s for s in _factors(aim) if s.holds] or [s for s in _pairs(aim) if s.holds]
        if not steps:
            break
        aim = max(steps, key=lambda step: step.otherwise / (1.0 + step.left)).aim
        path.append(aim)
    return path


def _is_sound(aim: Aim) -> bool:
    return bool(np.isfinite(aim.x).all() and np.isfinite(aim.y).all() and np.ptp(aim.y) > 0)


def _factors(aim: Aim) -> Iterator[_Step]:
    """y divided by a power of a column."""
    logs, slopes = _power_law(aim)
    if logs is None:
        return
    for k in np.flatnonzero((aim.x != 0).all(axis=0)):
        others = [j for j in range(aim.x.shape[1]) if j != k]
        freed = logs - _log_columns(aim)[:, others] @ slopes[others]
        whole = not keep_their_sign(aim.x[:, [k]])[0]
        near = sorted((p for p in _EXPONENTS if p % 1 == 0 or not whole), key=lambda p: abs(p - slopes[k]))[:3]
        left = [connection(freed - p * np.log(np.abs(aim.x[:, k])), aim.x[:, k]) for p in near]
        best = int(np.argmin(left))
        if near[best]:
            yield _Step(_divided(aim, int(k), near[best]), left[best], min(left[:best] + left[best + 1 :]))


def _divided(aim: Aim, k: int, exponent: float, keep: bool = False) -> Aim:
    """y divided by that power of a column, which is then no longer needed or kept."""
    whole = int(exponent) if float(exponent).is_integer() else None
    column, symbol = aim.x[:, k], aim.symbols[k]
    if whole is None and (column < 0).all():
        column, symbol = -column, -symbol
    power = exponent if whole is None else whole
    values = column ** float(power)

    def back(expression: Any) -> Any:
        return aim.back(symbol**power * expression)

    rest = aim if keep else only(aim, [j for j in range(aim.x.shape[1]) if j != k])
    return replace(rest, y=aim.y / values, back=back, slope=aim.slope / np.abs(values))


def _pairs(aim: Aim) -> Iterator[_Step]:
    """Two columns that y depends on only as their product, ratio, difference or sum."""
    logs, slopes = _power_law(aim)
    for i, j in combinations(range(aim.x.shape[1]), 2):
        others = [k for k in range(aim.x.shape[1]) if k not in (i, j)]
        freed = aim.y if logs is None else logs - _log_columns(aim)[:, others] @ slopes[others]
        joined = [pairing(aim.x[:, i], aim.x[:, j]) for pairing in _PAIRINGS]
        orders = [np.argsort(column, kind="stable") for column in joined]
        left = [max(connection_within(freed, aim.x[:, k], order) for k in (i, j)) for order in orders]
        best = int(np.argmin(left))
        pair = _PAIRINGS[best](aim.symbols[i], aim.symbols[j])
        yield _Step(_joined(aim, others, joined[best], pair), left[best], min(left[:best] + left[best + 1 :]))
        if logs is not None and (aim.x[:, [i, j]] > 0).all():
            yield from _scaled(aim, freed, (i, j), joined, orders)


def _joined(aim: Aim, others: Sequence[int], column: np.ndarray, symbol: Any) -> Aim:
    symbols = (*(aim.symbols[k] for k in others), symbol)
    return replace(aim, x=np.column_stack([aim.x[:, others], column]), symbols=symbols)


def _scaled(
    aim: Aim, freed: np.ndarray, pair: tuple[int, int], joined: Sequence[np.ndarray], orders: Sequence[np.ndarray]
) -> Iterator[_Step]:
    """y = a^p g(a·b), or g(a/b): a power that shows only among rows of about the same product or ratio."""
    i, j = pair
    others = [k for k in range(aim.x.shape[1]) if k not in pair]
    logs = np.log(aim.x[:, i])
    for pairing, column, order in zip(_PAIRINGS[:2], joined[:2], orders[:2], strict=True):
        slope = _slope_within(freed, logs, order)
        near = sorted((p for p in _EXPONENTS if p), key=lambda p: abs(p - slope))[:3]
        left = [max(connection_within(freed - p * logs, aim.x[:, k], order) for k in pair) for p in near]
        best = int(np.argmin(left))
        symbol = pairing(aim.symbols[i], aim.symbols[j])
        # The column itself is gone from the divided aim, but not what it is joined to.
        divided = _divided(aim, i, near[best], keep=True)
        yield _Step(_joined(divided, others, column, symbol), left[best], min(left[:best] + left[best + 1 :]))


def _slope_within(values: np.ndarray, column: np.ndarray, order: np.ndarray) -> float:
    n = len(order) // _GROUP
    a, b = (v[order[: n * _GROUP]].reshape(n, _GROUP) for v in (values, column))
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    return float(np.sum(a * b) / max(np.sum(b * b), 1e-300))


def _log_columns(aim: Aim) -> np.ndarray:
    """Logarithms of the sizes of the columns; those that pass through zero count for nothing."""
    return np.where((aim.x != 0).all(axis=0), np.log(np.maximum(np.abs(aim.x), 1e-300)), 0.0)


def _power_law(aim: Aim) -> tuple[np.ndarray | None, np.ndarray]:
    """log|y| and the exponents of the power law nearest to it, which takes the coarse spread out of it."""
    if not (aim.y != 0).all():
        return None, np.zeros(aim.x.shape[1])
    logs = np.log(np.abs(aim.y))
    columns = _log_columns(aim)
    design = np.column_stack([np.ones(len(logs)), columns])
    return logs, np.linalg.lstsq(design, logs, rcond=None)[0][1:]


def connection(values: np.ndarray, column: np.ndarray) -> float:
    """How many standard deviations the strongest of four correlations is from none."""
    return connection_within(values, column, np.argsort(np.zeros(len(values)), kind="stable"), len(values))


def connection_within(values: np.ndarray, column: np.ndarray, order: np.ndarray, group: int = _GROUP) -> float:
    """The same among rows that are neighbours in that order, all groups taken together."""
    n = len(order) // group
    a = _ranks(values[order[: n * group]].reshape(n, group))
    rows = column[order[: n * group]].reshape(n, group)
    b = _ranks(rows)
    kinds = [b, _folded(b)]
    if column.min() < 0.0 < column.max():
        # Neither shows what is large at middle sizes of either sign.
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
    """Ranks within each row, centred and of unit size."""
    return _standard(rows.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable").astype(float))


def _folded(ranks: np.ndarray) -> np.ndarray:
    """Large at both ends: shows what spreads without a shift."""
    return _standard(np.abs(ranks))


def _standard(rows: np.ndarray) -> np.ndarray:
    rows = rows - rows.mean(axis=1, keepdims=True)
    return rows / np.maximum(np.sqrt(np.mean(rows**2, axis=1, keepdims=True)), 1e-300)
