"""Formulas for noisy data that need no search: the power law, the sums and the fractions of few terms that fit best.

With noise nothing vanishes, so none is certain: each is fitted to y and judged like any other formula. A power law
comes from a linear fit of logarithms, its exponents taken as whole or half where the noise allows, and may have a known
shape beside it. The terms of a sum are taken one by one, each time the one that leaves the least, as long as an
information criterion gains. A fraction is such a sum too: y = P/(1 + Q) means y = P - y·Q. Every row counts as far as
noise leaves it alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ceql.closed_form.choosing import Choice
from ceql.closed_form.policy import NoisyFormPolicy
from ceql.closed_form.shaped_powers import shaped_powers, simple_exponent
from ceql.closed_form.sums import Written, candidates
from ceql.data.correlations import explained
from ceql.engine.one_thread import one_thread


@one_thread
def noisy_forms(
    x: np.ndarray,
    y: np.ndarray,
    symbols: Sequence[Any],
    functions: Sequence[str],
    spread: np.ndarray | float = 1.0,
    policy: NoisyFormPolicy = NoisyFormPolicy(),
    in_shapes: Collection[str] | None = (),
) -> list[Any]:
    """Expressions over these symbols that may be the formula behind noisy y, none of them checked.

    `spread` is the size of the noise in each row, up to a common factor. Shapes beside a power law are made of the
    operators `in_shapes`; None: all.
    """
    spread = np.broadcast_to(spread, len(y))
    usable = np.flatnonzero(np.isfinite(spread) & (spread > 0))
    rows = np.sort(np.random.default_rng(0).permutation(usable)[: policy.rows])
    if len(rows) < policy.fewest_rows:
        return []
    x, y, spread = x[rows], y[rows], spread[rows]
    with np.errstate(all="ignore"):
        weight = np.minimum(1.0 / spread, policy.most_weight * np.median(1.0 / spread))
        terms = candidates(x, symbols, functions, policy.most_candidates, y, weight, policy)
        powers = candidates(x, symbols, (), policy.most_in_fraction, y, weight, policy)
        sums, fractions = _sums(terms, y, weight, policy), _fractions(powers, y, weight, policy)
        shaped = shaped_powers(x, y, symbols, weight, in_shapes, policy.shaped)
        found = [_power_law(x, y, weight, symbols, policy), *sums, *fractions, *shaped]
    return [expression for expression in found if getattr(expression, "free_symbols", None)]  # a constant is no news


def _power_law(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, symbols: Sequence[Any], policy: NoisyFormPolicy
) -> Any:
    used = np.flatnonzero((x > 0).all(axis=0) | (x < 0).all(axis=0))
    if not len(used) or max((y > 0).mean(), (y < 0).mean()) <= policy.one_sign:
        return None
    size = np.maximum(np.abs(y), 1e-300)
    if len(used) > policy.most_factors:  # a law of dozens of factors is no formula
        telling = explained(np.log(np.abs(x[:, used])), np.log(size)[:, None])
        used = used[np.sort(np.argsort(-telling, kind="stable")[: policy.most_factors])]
    # The same noise moves the logarithm of a small value more.
    weight = weight * size
    weight = weight / np.sqrt(np.mean(weight**2))
    design = np.column_stack([np.ones(len(y)), np.log(np.abs(x[:, used]))]) * weight[:, None]
    goal = np.log(size) * weight
    exponents, *_ = np.linalg.lstsq(design, goal, rcond=None)
    left = goal - design @ exponents
    variance = float(left @ left) / max(len(y) - design.shape[1], 1)
    covariance = np.linalg.pinv(design.T @ design) * variance
    law: Any = float(np.sign(np.median(y)) * np.exp(exponents[0]))
    for k, exponent, spread in zip(used.tolist(), exponents[1:], np.sqrt(np.diag(covariance))[1:], strict=True):
        base = symbols[k] if x[0, k] > 0 else -symbols[k]
        law = law * base ** simple_exponent(float(exponent), policy.doubt * float(spread))
    return law


def _sums(terms: Sequence[Written], y: np.ndarray, weight: np.ndarray, policy: NoisyFormPolicy) -> list[Any]:
    columns = np.stack([values for values, _ in terms], axis=1)
    chosen = _few_terms(columns, y, weight, np.zeros(len(terms), bool), policy)
    return [sum(factor * terms[k][1]() for k, factor in found) for found in chosen]


def _fractions(above: Sequence[Written], y: np.ndarray, weight: np.ndarray, policy: NoisyFormPolicy) -> list[Any]:
    """With one term beside the 1 in the denominator: of more, some combination nearly cancels the 1, and y with it.

    They are chosen twice: once the denominator is known, it is known how far noise moves a row.
    """
    below = [(values, written) for values, written in above if np.ptp(values) > 0]
    columns = np.stack([*(values for values, _ in above), *(-y * values for values, _ in below)], axis=1)
    is_below = np.arange(columns.shape[1]) >= len(above)
    denominators = {k: factor for k, factor in _few_terms(columns, y, weight, is_below, policy)[0] if is_below[k]}
    if not denominators:
        return []  # a sum, which has its own turn
    [(k, factor)] = denominators.items()
    size = np.abs(1.0 + factor * below[k - len(above)][0])
    again = weight / np.maximum(size, policy.least_below * np.median(size))
    fractions = []
    for terms in _few_terms(columns, y, again, is_below, policy):
        numerator = sum(factor * above[k][1]() for k, factor in terms if not is_below[k])
        denominator = 1 + sum(factor * below[k - len(above)][1]() for k, factor in terms if is_below[k])
        if numerator != 0 and getattr(denominator, "free_symbols", None):
            fractions.append(numerator / denominator)
    return fractions


def _few_terms(
    columns: np.ndarray, y: np.ndarray, weight: np.ndarray, scarce: np.ndarray, policy: NoisyFormPolicy
) -> list[list[tuple[int, float]]]:
    """Sums of few columns that come close to y, the likeliest first: numbers of the columns with their factors.

    At most one of the `scarce` columns is part of a sum.
    """
    columns, y = columns * weight[:, None], y * weight
    size = np.linalg.norm(columns, axis=0)
    usable = np.flatnonzero(np.isfinite(size) & (size > 0))
    choice = Choice(columns[:, usable] / size[usable], y, scarce[usable], policy)
    found = []
    for terms in choice.best():
        factors = np.linalg.lstsq(choice.columns[:, terms], y, rcond=None)[0] / size[usable[terms]]
        found.append([(int(usable[k]), float(factor)) for k, factor in zip(terms, factors, strict=True)])
    return found
