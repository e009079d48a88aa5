"""Formulas for noisy data that need no search: the power law and the sums of few terms that fit best.

With noise nothing vanishes, so these are proposals: each is fitted to y and judged like any other formula. A power law
comes from a linear fit of logarithms, its exponents taken as whole or half where the noise allows. The terms of a sum
are taken one by one, each time the one that leaves the least, as long as an information criterion gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ceql.closed_form.sums import candidates
from ceql.one_thread import one_thread

_ROWS = 1000
_MOST_TERMS = 5
_MOST_CANDIDATES = 300
_DOUBT = 4.0  # standard errors within which an exponent may be a simple number
_KEPT, _SWEEPS = 3, 6
_RESTARTS, _LIKELY = 6, 60  # choices to begin with, from so many columns that are most like y
_PRICE = 12.0  # of a term beside its constant: it was chosen among hundreds


@one_thread
def proposals(x: np.ndarray, y: np.ndarray, symbols: Sequence[Any], functions: Sequence[str]) -> list[Any]:
    """Expressions over these symbols that may be the formula behind noisy y, none of them checked."""
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:_ROWS])
    x, y = x[rows], y[rows]
    with np.errstate(all="ignore"):
        found = [_power_law(x, y, symbols), *_sums(x, y, symbols, functions)]
    return [expression for expression in found if getattr(expression, "free_symbols", None)]  # a constant is no news


def _power_law(x: np.ndarray, y: np.ndarray, symbols: Sequence[Any]) -> Any:
    used = np.flatnonzero((x > 0).all(axis=0) | (x < 0).all(axis=0))
    if not len(used) or not ((y > 0).mean() > 0.9 or (y < 0).mean() > 0.9):
        return None
    size = np.maximum(np.abs(y), 1e-300)
    # The same noise moves the logarithm of a small value more.
    weight = size / np.sqrt(np.mean(size**2))
    design = np.column_stack([np.ones(len(y)), np.log(np.abs(x[:, used]))]) * weight[:, None]
    goal = np.log(size) * weight
    exponents, *_ = np.linalg.lstsq(design, goal, rcond=None)
    left = goal - design @ exponents
    variance = float(left @ left) / max(len(y) - design.shape[1], 1)
    covariance = np.linalg.pinv(design.T @ design) * variance
    law: Any = float(np.sign(np.median(y)) * np.exp(exponents[0]))
    for k, exponent, spread in zip(used.tolist(), exponents[1:], np.sqrt(np.diag(covariance))[1:], strict=True):
        base = symbols[k] if x[0, k] > 0 else -symbols[k]
        law = law * base ** _simple(float(exponent), _DOUBT * float(spread))
    return law


def _simple(exponent: float, doubt: float) -> Any:
    """The whole number next to it, or the half, if that is within doubt."""
    for parts in (1, 2):
        near = round(exponent * parts) / parts
        if abs(exponent - near) <= max(doubt, 1e-9):
            return int(near) if near.is_integer() else near
    return exponent


def _sums(x: np.ndarray, y: np.ndarray, symbols: Sequence[Any], functions: Sequence[str]) -> list[Any]:
    terms = candidates(x, symbols, functions, _MOST_CANDIDATES)
    columns = np.stack([values for values, _ in terms], axis=1)
    size = np.linalg.norm(columns, axis=0)
    usable = np.flatnonzero(np.isfinite(size) & (size > 0))
    columns = columns[:, usable] / size[usable]
    gram, against = columns.T @ columns, columns.T @ y
    rng = np.random.default_rng(0)
    chosen: list[int] = []
    scored: list[tuple[float, list[int]]] = []
    for count in range(1, _MOST_TERMS + 1):
        likely = np.argsort(-np.abs(against), kind="stable")[:_LIKELY]
        first = [*chosen, _best_beside(gram, against, chosen)]
        starts = [first, *(rng.permutation(likely)[:count].tolist() for _ in range(_RESTARTS if count > 1 else 0))]
        trials = [_exchanged(gram, against, start) for start in starts]
        explained = [_explained(gram, against, trial) for trial in trials]
        chosen = trials[int(np.argmax(explained))]
        left = max(float(y @ y) - max(explained), 1e-300)
        scored.append((len(y) * np.log(left) + count * (np.log(len(y)) + _PRICE), chosen))
    sums = []
    for _, terms_of_sum in sorted(scored, key=lambda pair: pair[0])[:_KEPT]:
        factors = np.linalg.lstsq(columns[:, terms_of_sum], y, rcond=None)[0] / size[usable[terms_of_sum]]
        places = usable[terms_of_sum].tolist()
        sums.append(sum(float(f) * terms[k][1]() for f, k in zip(factors, places, strict=True)))
    return sums


def _best_beside(gram: np.ndarray, against: np.ndarray, others: Sequence[int]) -> int:
    """The column that leaves the least of y together with the others; all products of columns are in `gram`."""
    others = list(others)
    solved = np.linalg.pinv(gram[np.ix_(others, others)]) @ gram[others] if others else np.zeros((0, len(against)))
    size = np.diag(gram) - np.sum(gram[others] * solved, axis=0)
    gain = (against - against[others] @ solved) ** 2
    return int(np.argmax(np.where(size > 1e-8, gain / np.maximum(size, 1e-300), 0.0)))


def _explained(gram: np.ndarray, against: np.ndarray, chosen: Sequence[int]) -> float:
    return float(against[chosen] @ np.linalg.pinv(gram[np.ix_(chosen, chosen)]) @ against[chosen])


def _exchanged(gram: np.ndarray, against: np.ndarray, chosen: list[int]) -> list[int]:
    """Each term is replaced by a better one, if there is one: the first were chosen knowing little."""
    for _ in range(_SWEEPS):
        before = list(chosen)
        for place in range(len(chosen)):
            others = chosen[:place] + chosen[place + 1 :]
            chosen = [*chosen[:place], _best_beside(gram, against, others), *chosen[place + 1 :]]
        if chosen == before:
            break
    return chosen
