"""Waves over two columns found without a search: y = c + products of a sine or cosine of p*u with one of q*v.

Standing waves are such products, and travelling waves are sums of two. No single column reveals them, but given p and q
everything else is linear. A periodogram over both columns locates fast waves, slow ones start from a few fixed
frequencies, and least squares with the amplitudes eliminated refines both frequencies. Without noise the residual then
vanishes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from ceql.closed_form.policy import WavePolicy
from ceql.engine.one_thread import one_thread
from ceql.operators import get

_SIN, _COS = (get(name).symbolic for name in ("sin", "cos"))


@one_thread
@np.errstate(all="ignore")  # candidates that overflow are rejected
def wave(x: np.ndarray, y: np.ndarray, symbols: Sequence[Any], policy: WavePolicy = WavePolicy()) -> Any:
    """Return the wave over two of these symbols that equals y; None if there is none."""
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[: policy.rows])
    x, y = x[rows], y[rows]
    spread = np.ptp(x, axis=0)
    usable = np.flatnonzero(spread > 0)
    if len(usable) > policy.most_columns or len(y) < policy.fewest_rows or not np.ptp(y) > 0:
        return None
    for i, j in combinations(usable.tolist(), 2):
        turns = x[:, [i, j]] * (np.pi / spread[[i, j]])
        begun = [_refined(turns, y, np.array(start), policy.first_steps) for start in _starts(turns, y, policy)]
        begun = sorted((fit for fit in begun if np.isfinite(fit.left)), key=lambda fit: fit.left)[: policy.kept]
        for fit in (_refined(turns, y, start.frequencies, policy.steps) for start in begun):
            is_slower = np.abs(fit.frequencies).min() < policy.slowest
            if fit.left <= policy.vanishes * float(np.std(y)) and not is_slower:
                p, q = fit.frequencies * np.pi / spread[[i, j]]
                return _written(fit.weights, float(p) * symbols[i], float(q) * symbols[j], policy)
    return None


# ---- frequencies, in half turns over the range of a column ----------------------------------------------------------


def _starts(turns: np.ndarray, y: np.ndarray, policy: WavePolicy) -> Iterator[tuple[float, ...]]:
    """Yield starting frequencies: a few slow ones, then peaks of the periodogram over both columns."""
    yield from product(policy.slow, repeat=2)
    fast = np.arange(1, policy.fastest + 1)
    first, second = (np.exp(1j * np.outer(column, fast)).astype(np.complex64) for column in turns.T)
    first *= (y - y.mean())[:, None]
    power = np.abs(first.T @ second) ** 2 + np.abs(first.T @ second.conj()) ** 2
    for _ in range(policy.peaks):
        i, j = divmod(int(np.argmax(power)), len(fast))
        yield float(fast[i]), float(fast[j])
        power[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2] = 0.0


@dataclass(frozen=True, eq=False)
class _Fit:
    """The best constant and amplitudes for two frequencies, with the residual and its standard deviation `left`."""

    frequencies: np.ndarray
    weights: np.ndarray
    left: float
    rest: np.ndarray
    slopes: np.ndarray  # derivatives of the fitted values by the frequencies, with the amplitudes refitted


def _fitted(turns: np.ndarray, y: np.ndarray, frequencies: np.ndarray) -> _Fit:
    u, v = turns.T
    (cu, cv), (su, sv) = np.cos(turns * frequencies).T, np.sin(turns * frequencies).T
    columns = np.column_stack([np.ones(len(y)), cu * cv, cu * sv, su * cv, su * sv])
    basis, triangle = np.linalg.qr(columns)
    weights = np.linalg.lstsq(triangle, basis.T @ y, rcond=None)[0]
    _, a, b, c, d = weights
    by_p = u * (cv * (c * cu - a * su) + sv * (d * cu - b * su))
    by_q = v * (cu * (b * cv - a * sv) + su * (d * cv - c * sv))
    slopes = np.column_stack([by_p, by_q])
    rest = y - columns @ weights
    return _Fit(frequencies, weights, float(np.std(rest)), rest, slopes - basis @ (basis.T @ slopes))


def _refined(turns: np.ndarray, y: np.ndarray, frequencies: np.ndarray, steps: int) -> _Fit:
    """Refine the two frequencies by Levenberg-Marquardt steps."""
    fit, damping = _fitted(turns, y, frequencies), 1e-3
    for _ in range(steps):
        square = fit.slopes.T @ fit.slopes
        step, *_ = np.linalg.lstsq(square + damping * np.diag(np.diag(square)), fit.slopes.T @ fit.rest, rcond=None)
        following = _fitted(turns, y, fit.frequencies + step)
        better = following.left < fit.left
        damping *= 0.1 if better else 10.0
        fit = following if better else fit
    return fit


# ---- writing --------------------------------------------------------------------------------------------------------


def _written(weights: np.ndarray, u: Any, v: Any, policy: WavePolicy) -> Any:
    """Return the wave as a product of two waves if it is one, else as a sum of at most two waves over both columns."""
    offset, a, b, c, d = map(float, weights)
    size = max(abs(a), abs(b), abs(c), abs(d))
    offset = 0.0 if abs(offset) <= policy.idle * size else offset
    if abs(a * d - b * c) <= policy.idle * size**2:
        (left, *_), (strength, *_), (right, *_) = np.linalg.svd([[a, b], [c, d]])
        return offset + float(strength) * _turned(left[0], left[1], u, policy) * _turned(right[0], right[1], v, policy)
    waves = ((a - d) / 2, (b + c) / 2, u + v), ((a + d) / 2, (c - b) / 2, u - v)
    return sum((_turned(*own, policy) for own in waves if np.hypot(*own[:2]) > policy.idle * size), offset)


def _turned(cosine: float, sine: float, angle: Any, policy: WavePolicy) -> Any:
    """Return cosine*cos(angle) + sine*sin(angle) as one wave."""
    size = float(np.hypot(cosine, sine))
    if abs(sine) <= policy.idle * size:
        return float(cosine) * _COS(angle)
    if abs(cosine) <= policy.idle * size:
        return float(sine) * _SIN(angle)
    return size * _SIN(angle + float(np.arctan2(cosine, sine)))
