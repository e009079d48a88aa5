"""Fewer variables by symmetries: rescaling or shifting some columns together multiplies y by a factor or leaves it.

Formulas of science hardly ever depend on the units of measurement, so most of them have such symmetries. If y is
multiplied by s**q whenever the columns are multiplied by s**p1, s**p2, ..., then p1*x1*dy/dx1 + p2*x2*dy/dx2 + ... =
q*y in every row (Euler). The slopes come from a polynomial fitted to the rows, and linear algebra gives the
combinations that vanish in all rows: all symmetries are found at once, for any number of columns. A wrong one costs a
few rounds but cannot spoil the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement
from math import comb
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from ceql.engine.one_thread import one_thread
from ceql.transforms.policy import SymmetryPolicy, TransformPolicy
from ceql.transforms.target import TransformedTarget, is_sound, keep_their_sign, only


@dataclass(frozen=True, eq=False)
class _Slopes:
    """The derivatives of y, or of log|y| if y has one sign, by each column in each row."""

    x: np.ndarray
    slopes: np.ndarray
    y: np.ndarray  # the change of the fitted values when y is rescaled: y itself, or one for its logarithm
    rows: np.ndarray  # indices of the rows used


@one_thread
@np.errstate(all="ignore")  # symmetries that are not finite are rejected
def symmetric(target: TransformedTarget, policy: TransformPolicy = TransformPolicy()) -> TransformedTarget | None:
    """Return the target in as few variables as its symmetries leave: shifts first, then changes of scale.

    Columns that are merely added to a function of the others are removed as well. None if nothing applies.
    """
    own, start = policy.symmetries, target
    for change in (_unshifted, _unscaled, _unadded):
        if target.x.shape[1] > 1:
            target = change(target, own)
    return None if target is start else target


def _unshifted(target: TransformedTarget, policy: SymmetryPolicy) -> TransformedTarget:
    """Replace columns that may be shifted together by their differences."""
    found = _slopes(target, policy)
    if found is None:
        return target
    for pivots, steps in _vanishing(found.slopes, found.x.shape[1], policy):
        kept = [k for k in range(target.x.shape[1]) if k not in pivots]
        if (np.abs(steps[:, kept]) > 1.0).any():
            continue
        x = target.x[:, kept] - target.x[:, pivots] @ steps[:, kept]
        symbols = [
            target.symbols[k] - sum(_number(s) * target.symbols[p] for p, s in zip(pivots, steps[:, k], strict=True))
            for k in kept
        ]
        changed = replace(target, x=x, symbols=tuple(symbols))
        if is_sound(changed):
            return changed
    return target


def _unscaled(target: TransformedTarget, policy: SymmetryPolicy) -> TransformedTarget:
    """Replace columns that may be rescaled together by ratios and products, and divide y by its own change of scale."""
    found = _slopes(target, policy)
    if found is None:
        return target
    n = found.x.shape[1]
    euler = np.column_stack([found.slopes * found.x, -found.y])
    for pivots, powers in _vanishing(euler, n, policy):
        changed = _without_scales(target, pivots, powers)
        if changed is not None and is_sound(changed):
            return changed
    return target


def _unadded(target: TransformedTarget, policy: SymmetryPolicy) -> TransformedTarget:
    """Subtract columns that are added to a function of the others, which the constant slope of y reveals."""
    found = _slopes(target, policy)
    if found is None:
        return target
    slopes = found.slopes * (1.0 if (found.y == target.y[found.rows]).all() else target.y[found.rows, None])
    typical = np.median(slopes, axis=0)
    simple = np.round(policy.parts * typical) / policy.parts
    even = np.median(np.abs(slopes - simple), axis=0) < policy.even * np.abs(simple)
    added = np.flatnonzero(even & (simple != 0.0))
    kept = [k for k in range(target.x.shape[1]) if k not in added]
    if not len(added) or not kept:
        return target
    total = sum(_number(simple[k]) * target.symbols[k] for k in added)
    y = target.y - target.x[:, added] @ simple[added]
    changed = replace(only(target, kept), y=y, back=lambda e: target.back(e + total))
    return changed if is_sound(changed) else target


def _without_scales(target: TransformedTarget, pivots: tuple[int, ...], powers: np.ndarray) -> TransformedTarget | None:
    """Return the target with the pivots removed; None if that is not possible.

    Each row of `powers` belongs to a pivot: the powers of it by which the columns and, last, y are rescaled.
    """
    broken = (powers % 1.0 != 0.0).any(axis=1)
    if (~keep_their_sign(target.x[:, pivots]) & broken).any() or (target.x[:, pivots] == 0.0).any():
        return None
    signs = np.where(broken, np.sign(target.x[0, list(pivots)]), 1.0)
    bases = target.x[:, pivots] * signs

    def factor(k: int) -> tuple[np.ndarray, Any]:
        values, written = np.ones(len(target.y)), 1
        for base, sign, pivot, power in zip(bases.T, signs, pivots, powers[:, k], strict=True):
            values = values * base**power
            written = written * (int(sign) * target.symbols[pivot]) ** _number(power)
        return values, written

    kept = [k for k in range(target.x.shape[1]) if k not in pivots]
    factors = [factor(k) for k in kept]
    x = np.column_stack(
        [target.x[:, k] / values for k, (values, _) in zip(kept, factors, strict=True)] or [bases[:, :0]]
    )
    symbols = [target.symbols[k] / written for k, (_, written) in zip(kept, factors, strict=True)]
    by, written = factor(-1)
    if not kept:
        return None  # y is a product of powers, which needs no search
    return replace(
        only(target, kept),
        x=x,
        symbols=tuple(symbols),
        y=target.y / by,
        back=target.back if written == 1 else lambda e: target.back(written * e),
        slope=target.slope / np.abs(by),
    )


def _number(value: float) -> Any:
    return int(value) if float(value).is_integer() else float(value)


def _vanishing(columns: np.ndarray, n: int, policy: SymmetryPolicy) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Yield sets of vanishing combinations of these columns with simple factors, the largest sets first.

    Each set comes as its pivots, which are among the first `n` columns, and the factors, one row per combination. In
    each pivot column, one combination has the factor one and all others zero.
    """
    lengths = np.sqrt(np.mean(columns**2, axis=0))
    if not np.isfinite(lengths).all() or not (lengths > 0.0).all():
        return
    _, sizes, directions = np.linalg.svd(columns / lengths, full_matrices=False)
    small = int(np.sum(sizes < policy.vanishes * sizes[0]))
    for count in range(min(small, n - 1), 0, -1):
        basis = directions[-count:] / lengths
        choices = []
        for pivots in combinations(range(n), count):
            square = basis[:, pivots]
            if np.linalg.cond(square) > policy.well_posed:
                continue
            exact = np.linalg.solve(square, basis)
            simple = np.round(policy.parts * exact) / policy.parts
            left = np.sqrt(np.mean((columns @ simple.T) ** 2, axis=0))
            whole = np.sqrt(np.sum((simple * lengths) ** 2, axis=1))
            if (np.abs(simple) <= policy.highest).all() and (left < policy.vanishes * whole).all():
                broken = np.sum(simple % 1.0 != 0.0)
                choices.append((float(broken), float(np.sum(np.abs(simple))), pivots, simple))
        if choices:
            yield min(choices, key=lambda choice: choice[:3])[2:]


def _slopes(target: TransformedTarget, policy: SymmetryPolicy) -> _Slopes | None:
    """Return the slopes of a polynomial fitted to the rows; None if no polynomial comes close."""
    rows = np.sort(np.random.default_rng(0).permutation(len(target.y))[: policy.rows])
    x, y = target.x[rows], target.y[rows]
    n = x.shape[1]
    degree = _degree(n, len(y), policy)
    if degree < policy.least_degree:
        return None
    signed = keep_their_sign(x)
    places = np.where(signed, np.log(np.abs(x)), x)
    middle, half = (places.max(axis=0) + places.min(axis=0)) / 2, np.ptp(places, axis=0) / 2
    if not (half > 0.0).all():
        return None
    z = np.clip((places - middle) / half, -1.0, 1.0)
    one_sign = bool(keep_their_sign(y[:, None])[0])
    for goal, grows in ([(np.log(np.abs(y)), np.ones(len(y)))] if one_sign else []) + [(y, y)]:
        left, inner = _polynomial(z, goal, degree)
        if np.std(left) < policy.unexplained * np.std(goal):
            return _Slopes(x, inner / half / np.where(signed, x, 1.0), grows, rows)
    return None


def _degree(n: int, rows: int, policy: SymmetryPolicy) -> int:
    room = [d for d in range(1, policy.degree + 1) if policy.rows_a_term * comb(n + d, d) <= rows]
    return max(room, default=0)


def _polynomial(z: np.ndarray, goal: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Fit a polynomial of this degree; return its residuals and its slopes."""
    n = z.shape[1]
    chosen = [c for total in range(degree + 1) for c in combinations_with_replacement(range(n), total)]
    powers = np.array([[c.count(k) for k in range(n)] for c in chosen])
    values = [chebyshev.chebvander(column, degree)[:, powers[:, k]] for k, column in enumerate(z.T)]
    design = np.prod(values, axis=0)
    weights = np.linalg.lstsq(design, goal, rcond=None)[0]
    steeper = chebyshev.chebder(np.eye(degree + 1))
    slopes = np.empty_like(z)
    for k, column in enumerate(z.T):
        derived = (chebyshev.chebvander(column, degree - 1) @ steeper)[:, powers[:, k]]
        others = np.prod([v for j, v in enumerate(values) if j != k], axis=0)
        slopes[:, k] = (derived * others) @ weights
    return goal - design @ weights, slopes
