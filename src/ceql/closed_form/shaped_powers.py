"""Power laws times a known shape of a product of powers, for noisy data: y = a * x**p * F(b * x**q), over all columns.

Many laws of science look like this: a power law carries the unit, and a function takes a dimensionless ratio. The
logarithm of y minus that of F is linear in the logarithms of the columns, so for every F, q and b the rest is a small
linear fit. All of them are compared on some rows, and the best are fitted to more. With noise several do equally well;
those with simple numbers come first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from ceql.closed_form.noisy_logarithms import NoisyLogarithms, noisy_logarithms
from ceql.closed_form.policy import ShapedPowerPolicy
from ceql.closed_form.power_fits import PowerFit
from ceql.closed_form.shapes import SHAPES, Shape

_SIMPLE = np.array(sorted({p / q for p in (1, 2, 3, 4) for q in (1, 2, 3, 4)}))
_TINY = 1e-300
_DIGITS = 3  # decimals of a score; laws with equal rounded scores count as one


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A shape of a group of columns, with the scale inside it."""

    shape: Shape
    exponents: tuple[int, ...]  # of the columns in the group
    scale: float
    left: float = np.inf  # mean square residual of the logarithm of y
    left_smooth: float = np.inf  # the same for the smoothed logarithm of y


@dataclass(frozen=True, eq=False)
class _Logarithms:
    """Weighted logarithms with some columns projected out."""

    weight: np.ndarray
    basis: np.ndarray  # orthonormal
    goal: np.ndarray

    @staticmethod
    def of(logarithm: np.ndarray, columns: np.ndarray, weight: np.ndarray) -> _Logarithms:
        basis, _ = np.linalg.qr(columns * weight[:, None])
        bare = _Logarithms(weight, basis, np.zeros(len(logarithm)))
        return _Logarithms(weight, basis, bare.beside(logarithm[None])[0])

    def beside(self, logarithms: np.ndarray) -> np.ndarray:
        """Return these logarithms, weighted, with the columns projected out; one vector per row of the array."""
        weighted = logarithms * self.weight
        return weighted - (weighted @ self.basis) @ self.basis.T

    def left(self, shape: Shape, group: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """Return the residuals of the shape for each scale, (scales, rows); infinite if it has no logarithm."""
        return self.goal - self.of_shape(shape, group, scales)

    def misfits(self, shape: Shape, group: np.ndarray, scales: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """Return the mean square residual of each goal for each scale, (goals, scales), from inner products; infinite
        if the shape has no logarithm."""
        values = shape.values(scales[:, None] * group)
        weighted = np.log(np.abs(values)) * self.weight
        own = np.einsum("sn,sn->s", weighted, weighted) - np.sum((weighted @ self.basis) ** 2, axis=1)
        apart = np.sum(goals**2, axis=1)[:, None] - 2.0 * goals @ weighted.T + own
        one_sign = (values > 0).all(axis=1) | (values < 0).all(axis=1)
        return np.where(one_sign & np.isfinite(apart), np.maximum(apart, 0.0), np.inf) / len(self.weight)

    def of_shape(self, shape: Shape, group: np.ndarray, scales: np.ndarray) -> np.ndarray:
        values = shape.values(scales[:, None] * group)
        bare = self.beside(np.log(np.abs(values)))
        one_sign = (values > 0).all(axis=1, keepdims=True) | (values < 0).all(axis=1, keepdims=True)
        return np.where(one_sign & np.isfinite(bare).all(axis=1, keepdims=True), bare, np.inf)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Positive columns and y, with the weights of the rows."""

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    around: NoisyLogarithms

    @property
    def columns(self) -> np.ndarray:
        return np.column_stack([np.ones(len(self.y)), np.log(self.x)])

    @property
    def logarithms(self) -> _Logarithms:
        return _Logarithms.of(self.around.values, self.columns, self.around.weight(self.weight))

    def product(self, exponents: Sequence[Any]) -> np.ndarray:
        return np.prod(self.x ** np.array(exponents, float), axis=1)

    def some(self, count: int) -> _Rows:
        step = slice(None, None, max(1, len(self.y) // count))
        return _Rows(self.x[step], self.y[step], self.weight[step], self.around.some(step))

    def fit(self, one: _Candidate, policy: ShapedPowerPolicy) -> PowerFit:
        """Fit a candidate to y itself, starting from a fit to its logarithm."""
        group = self.product(one.exponents)
        with_shape = self.around.values - np.log(np.abs(one.shape.values(one.scale * group)))
        weight = self.around.weight(self.weight)
        numbers, *_ = np.linalg.lstsq(self.columns * weight[:, None], with_shape * weight, rcond=None)
        given = self.around.sign * self.y, self.weight, self.columns, numbers, 0.0, one.shape.values, group, one.scale
        return PowerFit(*given, policy.fits).fitted()


def shaped_powers(
    x: np.ndarray,
    y: np.ndarray,
    symbols: Sequence[Any],
    weight: np.ndarray,
    names: Collection[str] | None = None,
    policy: ShapedPowerPolicy = ShapedPowerPolicy(),
) -> list[Any]:
    """Return expressions over these symbols, the likeliest first; none if y has both signs.

    Shapes are made of the operators with these names; None: all.
    """
    used = np.flatnonzero((x > 0).all(axis=0) | (x < 0).all(axis=0))
    few_rows = len(y) < policy.rows_a_column * (len(used) + 2)
    if not policy.fewest_columns <= len(used) <= policy.most_columns or few_rows:
        return []
    symbols = [symbols[k] if x[0, k] > 0 else -symbols[k] for k in used.tolist()]
    positive = np.abs(x[:, used])
    around = noisy_logarithms(positive, y, weight, policy.logarithms)
    if around is None:
        return []
    rows = _Rows(positive, y, weight, around)
    shapes = [shape for shape in SHAPES if names is None or set(shape.needs) <= set(names)]
    with np.errstate(all="ignore"):  # candidates that overflow are rejected
        logs = rows.logarithms
        seen = _best(list(_seen(rows.some(policy.rows), shapes, policy)), policy)
        fitted = [_fitted(one, rows.product(one.exponents), logs, policy) for one in seen]
        plain = (1.0 - policy.worth * np.log(len(y)) / len(y)) * float(np.mean(logs.goal**2))
        likely = sorted((one for one in fitted if one.left < plain), key=lambda one: one.left)[: policy.refined]
        simple = [_simplest(one, rows, policy) for one in likely]
        distinct = {round(one.score, _DIGITS): one for one in reversed(simple)}  # exp(z) and 1/exp(-z) are the same
        return [_written(distinct[score], rows, symbols) for score in sorted(distinct)[: policy.kept]]


def _best(seen: Sequence[_Candidate], policy: ShapedPowerPolicy) -> list[_Candidate]:
    """Return the candidates with the least residual of the logarithm of y or of its smoothed version."""
    by_rows = sorted(seen, key=lambda one: one.left)[: policy.fitted]
    smoothly = sorted(seen, key=lambda one: one.left_smooth)[: policy.fitted]
    return list(dict.fromkeys([*by_rows, *smoothly]))


def _seen(rows: _Rows, shapes: Sequence[Shape], policy: ShapedPowerPolicy) -> Iterator[_Candidate]:
    """Yield every shape of every group, at the best of a few scales."""
    logs = rows.logarithms
    goals = np.stack([logs.goal, logs.beside(rows.around.smooth[None])[0]])
    for exponents in _groups(rows.x.shape[1], policy):
        group = rows.product(exponents)
        if not np.isfinite(group).all() or np.ptp(group) == 0.0:
            continue
        scales = np.array([s * sign for s in policy.scales for sign in (1.0, -1.0)]) / np.max(np.abs(group))
        for shape in shapes:
            left = logs.misfits(shape, group, scales, goals)
            best = int(np.argmin(left[1]))
            if np.isfinite(left[:, best]).all():
                yield _Candidate(shape, exponents, float(scales[best]), *map(float, left[:, best]))


def _groups(columns: int, policy: ShapedPowerPolicy) -> list[tuple[int, ...]]:
    """Return the exponents of the groups: products and ratios, fewest columns first, each followed by its square."""
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
    """Return the candidate with its scale fitted."""

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
    """Return the residuals and their derivatives by the logarithm of the scale."""
    here, nearby = logs.left(shape, group, scale * np.array([1.0, 1.0 + policy.nearby]))
    return here, (nearby - here) / policy.nearby


@dataclass(frozen=True, eq=False)
class _Simple:
    """A fitted candidate with simplified numbers, and its score."""

    score: float
    candidate: _Candidate
    fit: PowerFit
    powers: tuple[Any, ...]


def _simplest(one: _Candidate, rows: _Rows, policy: ShapedPowerPolicy) -> _Simple:
    """Fit a candidate and choose between free and simple numbers by the score."""
    fit = rows.fit(one, policy)
    exponents = fit.numbers[1:]
    doubts = policy.doubt * fit.errors[1 : len(exponents) + 1]  # these account for the uncertain scale, too
    by_doubt = [simple_exponent(float(p), float(d)) for p, d in zip(exponents, doubts, strict=True)]
    all_simple = [simple_exponent(float(p), 0.5) for p in exponents]
    tried = dict.fromkeys((tuple(all_simple), tuple(by_doubt)))
    scored = (
        _Simple(_score(held, powers, is_simple), one, held, powers)
        for powers in tried
        for held, is_simple in _held(fit, powers, rows, policy)
    )
    return min(scored, key=lambda simple: simple.score)


def _written(one: _Simple, rows: _Rows, symbols: Sequence[Any]) -> Any:
    shape, exponents, scale = one.candidate.shape, one.candidate.exponents, one.fit.scale
    sign = rows.around.sign * np.sign(shape.values(scale * rows.product(exponents)[:1])[0])
    outside: Any = float(sign * np.exp(one.fit.numbers[0]))
    inside: Any = scale
    for symbol, power, exponent in zip(symbols, one.powers, exponents, strict=True):
        outside = outside * symbol**power
        inside = inside * symbol**exponent
    return outside * shape.written(inside)


def _held(
    fit: PowerFit, powers: Sequence[Any], rows: _Rows, policy: ShapedPowerPolicy
) -> Iterator[tuple[PowerFit, bool]]:
    """Yield the fit with these exponents and a free scale, then, if possible, with a simple one; and whether it is
    simple."""
    known = np.log(rows.product(powers))
    first = float(np.mean(fit.columns @ fit.numbers - known))
    held = replace(fit, known=known, columns=rows.columns[:, :1], numbers=np.array([first])).fitted()
    yield held, False
    simple = float(np.sign(held.scale) * _SIMPLE[np.argmin(np.abs(np.log(_SIMPLE / abs(held.scale))))])
    if abs(simple / held.scale - 1.0) <= policy.doubt * held.errors[-1]:
        held = replace(held, scale=simple)
        counted = held.weight * held.values
        factor = float(counted @ (held.weight * held.y)) / max(float(counted @ counted), _TINY)
        yield replace(held, numbers=held.numbers + np.log(max(factor, _TINY))), True


def _score(held: PowerFit, powers: Sequence[Any], is_simple: bool) -> float:
    free = 1 + (not is_simple) + sum(not float(2 * power).is_integer() for power in powers)
    score = len(held.y) * np.log(max(held.left, _TINY)) + 2.0 * free * np.log(len(held.y))
    return float(np.nan_to_num(score, nan=np.inf))


def simple_exponent(exponent: float, doubt: float, rounding: float = 1e-9) -> Any:
    """Return the nearest whole or half number if it lies within doubt or rounding, else the exponent itself."""
    for parts in (1, 2):
        near = round(exponent * parts) / parts
        if abs(exponent - near) <= max(doubt, rounding):
            return int(near) if near.is_integer() else near
    return exponent
