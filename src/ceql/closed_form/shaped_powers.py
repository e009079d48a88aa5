"""A power law times a known shape of a product of powers, in noisy data: y = a * x**p * F(b * x**q), over all columns.

Many laws of science look like that: a power law carries the unit, and a function takes a ratio without one. The
logarithm of y less that of F is linear in the logarithms of the columns, so that for every F, q and b the rest is a
small linear fit. All of them are looked at on some rows, and the best are fitted on more. Noise leaves several that do
equally well; those with simple numbers come first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from ceql.closed_form.policy import ShapedPowerPolicy
from ceql.closed_form.shapes import SHAPES, Shape

_SIMPLE = np.array(sorted({p / q for p in (1, 2, 3, 4) for q in (1, 2, 3, 4)}))
_TINY = 1e-300
_DIGITS = 3  # of scores that tell two laws apart


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A shape of a group of columns, with the scale inside it."""

    shape: Shape
    exponents: tuple[int, ...]  # of the group
    scale: float
    left: float = np.inf  # of the logarithm of y, the mean square


@dataclass(frozen=True, eq=False)
class _Logarithms:
    """Rows of a logarithm with some columns projected out, every row as noise leaves it."""

    weight: np.ndarray
    basis: np.ndarray  # orthonormal
    goal: np.ndarray

    @staticmethod
    def of(logarithm: np.ndarray, columns: np.ndarray, weight: np.ndarray) -> _Logarithms:
        basis, _ = np.linalg.qr(columns * weight[:, None])
        bare = _Logarithms(weight, basis, np.zeros(len(logarithm)))
        return _Logarithms(weight, basis, bare.beside(logarithm[None])[0])

    def beside(self, logarithms: np.ndarray) -> np.ndarray:
        """Rows of logarithms, weighted, without what the columns say."""
        weighted = logarithms * self.weight
        return weighted - (weighted @ self.basis) @ self.basis.T

    def left(self, shape: Shape, group: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """What the shape leaves with each of the scales, row by row; infinite where it has no logarithm."""
        values = shape.values(scales[:, None] * group)
        left = self.goal - self.beside(np.log(np.abs(values)))
        one_sign = (values > 0).all(axis=1, keepdims=True) | (values < 0).all(axis=1, keepdims=True)
        return np.where(one_sign & np.isfinite(left).all(axis=1, keepdims=True), left, np.inf)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Positive columns, y, and how far noise leaves each row alone."""

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    @property
    def size(self) -> np.ndarray:
        return np.maximum(np.abs(self.y), _TINY)

    @property
    def of_logarithms(self) -> np.ndarray:
        """Weights of the logarithm of y: the same noise moves that of a small value more."""
        weight = self.weight * self.size
        return weight / np.sqrt(np.mean(weight**2))

    @property
    def columns(self) -> np.ndarray:
        return np.column_stack([np.ones(len(self.y)), np.log(self.x)])

    @property
    def logarithms(self) -> _Logarithms:
        return _Logarithms.of(np.log(self.size), self.columns, self.of_logarithms)

    def product(self, exponents: Sequence[Any]) -> np.ndarray:
        return np.prod(self.x ** np.array(exponents, float), axis=1)

    def some(self, count: int) -> _Rows:
        step = slice(None, None, max(1, len(self.y) // count))
        return _Rows(self.x[step], self.y[step], self.weight[step])


def shaped_powers(
    x: np.ndarray,
    y: np.ndarray,
    symbols: Sequence[Any],
    weight: np.ndarray,
    names: Collection[str] | None = None,
    policy: ShapedPowerPolicy = ShapedPowerPolicy(),
) -> list[Any]:
    """Expressions over these symbols, the likeliest first; none where y has both signs.

    Shapes are made of the operators with these names; None: all.
    """
    used = np.flatnonzero((x > 0).all(axis=0) | (x < 0).all(axis=0))
    few_rows = len(y) < policy.rows_a_column * (len(used) + 2)
    if (
        not policy.fewest_columns <= len(used) <= policy.most_columns
        or few_rows
        or max((y > 0).mean(), (y < 0).mean()) < policy.one_sign
    ):
        return []
    symbols = [symbols[k] if x[0, k] > 0 else -symbols[k] for k in used.tolist()]
    rows = _Rows(np.abs(x[:, used]), y, weight)
    shapes = [shape for shape in SHAPES if names is None or set(shape.needs) <= set(names)]
    with np.errstate(all="ignore"):  # what overflows is no fit
        logs = rows.logarithms
        seen = sorted(_seen(rows.some(policy.rows), shapes, policy), key=lambda one: one.left)
        fitted = [_fitted(one, rows.product(one.exponents), logs, policy) for one in seen[: policy.fitted]]
        plain = policy.gain * float(np.mean(logs.goal**2))
        written = [_written(one, rows, symbols, policy) for one in fitted if one.left < plain]
    # exp(z) and 1/exp(-z) are the same
    distinct = {round(score, _DIGITS): expression for score, expression in reversed(written)}
    return [distinct[score] for score in sorted(distinct)[: policy.kept]]


def _seen(rows: _Rows, shapes: Sequence[Shape], policy: ShapedPowerPolicy) -> Iterator[_Candidate]:
    """Every shape of every group, at the best of a few scales."""
    logs = rows.logarithms
    for exponents in _groups(rows.x.shape[1], policy):
        group = rows.product(exponents)
        if not np.isfinite(group).all() or np.ptp(group) == 0.0:
            continue
        scales = np.array([s * sign for s in policy.scales for sign in (1.0, -1.0)]) / np.max(np.abs(group))
        for shape in shapes:
            left = np.mean(logs.left(shape, group, scales) ** 2, axis=1)
            best = int(np.argmin(left))
            if np.isfinite(left[best]):
                yield _Candidate(shape, exponents, float(scales[best]), float(left[best]))


def _groups(columns: int, policy: ShapedPowerPolicy) -> list[tuple[int, ...]]:
    """Exponents of products of powers, those of fewest columns first, and their squares."""
    found: list[tuple[int, ...]] = []
    for count in range(1, min(columns, policy.most_in_group) + 1):
        for which in combinations(range(columns), count):
            for powers in product((1, -1), repeat=count):
                exponents = [0] * columns
                for k, power in zip(which, powers, strict=True):
                    exponents[k] = power
                found += [tuple(exponents), tuple(2 * power for power in exponents)]
    return found[: policy.most_groups]


def _fitted(one: _Candidate, group: np.ndarray, logs: _Logarithms, policy: ShapedPowerPolicy) -> _Candidate:
    """With the scale that leaves the least."""

    def size(scale: float) -> float:
        return float(np.mean(logs.left(one.shape, group, np.array([scale])) ** 2))

    scale, best = one.scale, size(one.scale)
    for _ in range(policy.steps):
        left, slope = _slope(one.shape, scale, group, logs, policy)
        steepness = float(slope @ slope)
        if not np.isfinite(steepness) or steepness == 0.0:
            break
        step = float(np.clip(-(slope @ left) / steepness, -1.0, 1.0))
        moved = next((s for s in (step, step / 4, step / 16) if size(scale * np.exp(s)) < best), None)
        if moved is None:
            break
        scale, best = scale * float(np.exp(moved)), size(scale * np.exp(moved))
    return replace(one, scale=scale, left=best)


def _slope(
    shape: Shape, scale: float, group: np.ndarray, logs: _Logarithms, policy: ShapedPowerPolicy
) -> tuple[np.ndarray, np.ndarray]:
    """What is left, and its derivative by the logarithm of the scale."""
    here, nearby = logs.left(shape, group, scale * np.array([1.0, 1.0 + policy.nearby]))
    return here, (nearby - here) / policy.nearby


def _written(one: _Candidate, rows: _Rows, symbols: Sequence[Any], policy: ShapedPowerPolicy) -> tuple[float, Any]:
    """A score, and the expression: exponents are whole or half and the scale is simple where the noise allows."""
    group = rows.product(one.exponents)
    powers = _powers(one, group, rows, policy)
    one, is_simple = _simply_scaled(one, group, powers, rows, policy)
    law = rows.product(powers) * one.shape.values(one.scale * group)
    counted = rows.weight * law
    factor = float(counted @ (rows.weight * rows.y)) / max(float(counted @ counted), _TINY)
    left = float(np.mean((rows.weight * (rows.y - factor * law)) ** 2))
    free = 1 + (not is_simple) + sum(not float(2 * power).is_integer() for power in powers)
    score = len(law) * np.log(max(left, _TINY)) + 2.0 * free * np.log(len(law))
    outside: Any = factor
    inside: Any = one.scale
    for symbol, power, exponent in zip(symbols, powers, one.exponents, strict=True):
        outside = outside * symbol**power
        inside = inside * symbol**exponent
    return float(np.nan_to_num(score, nan=np.inf)), outside * one.shape.written(inside)


def _powers(one: _Candidate, group: np.ndarray, rows: _Rows, policy: ShapedPowerPolicy) -> list[Any]:
    """The exponents beside the shape, simple ones where they are in doubt, which they share with the scale."""
    weight = rows.of_logarithms
    values = np.log(np.abs(one.shape.values(one.scale * group)))
    bare = _Logarithms(weight, np.zeros((len(weight), 0)), np.zeros(len(weight)))
    _, slope = _slope(one.shape, one.scale, group, bare, policy)
    design = rows.columns * weight[:, None]
    numbers, *_ = np.linalg.lstsq(design, (np.log(rows.size) - values) * weight, rcond=None)
    together = np.column_stack([design, slope])
    variance = one.left * len(weight) / max(len(weight) - together.shape[1], 1)
    doubts = policy.doubt * np.sqrt(np.diag(np.linalg.pinv(together.T @ together))[1:-1] * variance)
    return [simple_exponent(float(p), float(d)) for p, d in zip(numbers[1:], doubts, strict=True)]


def _simply_scaled(
    one: _Candidate, group: np.ndarray, powers: Sequence[Any], rows: _Rows, policy: ShapedPowerPolicy
) -> tuple[_Candidate, bool]:
    """Fitted beside these exponents, with a simple scale if it is within doubt; whether it is."""
    logarithm = np.log(rows.size) - np.log(rows.product(powers))
    logs = _Logarithms.of(logarithm, np.ones((len(group), 1)), rows.of_logarithms)
    one = _fitted(one, group, logs, policy)
    left, slope = _slope(one.shape, one.scale, group, logs, policy)
    doubt = float(np.sqrt(np.mean(left**2) * len(left) / max(len(left) - 2, 1) / max(float(slope @ slope), _TINY)))
    simple = float(np.sign(one.scale) * _SIMPLE[np.argmin(np.abs(np.log(_SIMPLE / abs(one.scale))))])
    if abs(simple / one.scale - 1.0) > policy.doubt * doubt:
        return one, False
    return replace(one, scale=simple), bool(np.isfinite(logs.left(one.shape, group, np.array([simple]))).all())


def simple_exponent(exponent: float, doubt: float, rounding: float = 1e-9) -> Any:
    """The whole number next to it, or the half, if that is within doubt, or so near that it is one."""
    for parts in (1, 2):
        near = round(exponent * parts) / parts
        if abs(exponent - near) <= max(doubt, rounding):
            return int(near) if near.is_integer() else near
    return exponent
