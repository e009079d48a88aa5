"""Formulas for noisy data that need no search: the power law, the sums and the fractions of few terms that fit best.

With noise no residual vanishes, so none of these is certain: each is fitted to y and judged like any other formula. The
exponents of a power law are whole or half numbers where the noise allows, and a known shape may be a further factor.
The terms of a sum are added one by one, each time the one with the smallest residual, as long as an information
criterion improves. A fraction is such a sum too: y = P/(1 + Q) means y = P - y·Q. Noisier rows get less weight.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ceql.closed_form.choosing import Choice
from ceql.closed_form.noisy_logarithms import noisy_logarithms
from ceql.closed_form.policy import NoisyFormPolicy
from ceql.closed_form.power_fits import PowerFit
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
    """Return unchecked expressions over these symbols that may be the formula behind noisy y.

    `spread` is the size of the noise in each row, up to a common factor. Shapes that multiply a power law are made of
    the operators `in_shapes`; None: all.
    """
    spread = np.broadcast_to(spread, len(y))
    usable = np.flatnonzero(np.isfinite(spread) & (spread > 0))
    if len(usable) < policy.fewest_rows:
        return []
    order = np.random.default_rng(0).permutation(usable)
    with np.errstate(all="ignore"):
        rows = np.sort(order[: policy.shaped.most_rows])
        shaped = _with_shapes(x[rows], y[rows], symbols, spread[rows], in_shapes, policy)
        rows = np.sort(order[: policy.rows])
        x, y, weight = x[rows], y[rows], _weights(spread[rows], policy)
        terms = candidates(x, symbols, functions, policy.most_candidates, y, weight, policy)
        powers = candidates(x, symbols, (), policy.most_in_fraction, y, weight, policy)
        sums, fractions = _sums(terms, y, weight, policy), _fractions(powers, y, weight, policy)
        found = [_power_law(x, y, weight, symbols, policy), *sums, *fractions, *shaped]
    return [expression for expression in found if getattr(expression, "free_symbols", None)]  # constants are left out


def _weights(spread: np.ndarray, policy: NoisyFormPolicy) -> np.ndarray:
    return np.minimum(1.0 / spread, policy.most_weight * np.median(1.0 / spread))


def _with_shapes(
    x: np.ndarray,
    y: np.ndarray,
    symbols: Sequence[Any],
    spread: np.ndarray,
    names: Collection[str] | None,
    policy: NoisyFormPolicy,
) -> list[Any]:
    none = names is not None and not names
    return [] if none else shaped_powers(x, y, symbols, _weights(spread, policy), names, policy.shaped)


def _power_law(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, symbols: Sequence[Any], policy: NoisyFormPolicy
) -> Any:
    used = np.flatnonzero((x > 0).all(axis=0) | (x < 0).all(axis=0))
    if not len(used):
        return None
    if len(used) > policy.most_factors:  # dozens of factors would be no readable law
        size = np.maximum(np.abs(y), 1e-300)
        telling = explained(np.log(np.abs(x[:, used])), np.log(size)[:, None])
        used = used[np.sort(np.argsort(-telling, kind="stable")[: policy.most_factors])]
    around = noisy_logarithms(np.abs(x[:, used]), y, weight, policy.shaped.logarithms)
    if around is None:
        return None
    columns = np.column_stack([np.ones(len(y)), np.log(np.abs(x[:, used]))])
    share = around.weight(weight)
    numbers, *_ = np.linalg.lstsq(columns * share[:, None], around.values * share, rcond=None)
    fit = PowerFit(around.sign * y, weight, columns, numbers, policy=policy.shaped.fits).fitted()
    law: Any = float(around.sign * np.exp(fit.numbers[0]))
    for k, exponent, error in zip(used.tolist(), fit.numbers[1:], fit.errors[1:], strict=True):
        base = symbols[k] if x[0, k] > 0 else -symbols[k]
        law = law * base ** simple_exponent(float(exponent), policy.doubt * float(error))
    return law


def _sums(terms: Sequence[Written], y: np.ndarray, weight: np.ndarray, policy: NoisyFormPolicy) -> list[Any]:
    columns = np.stack([values for values, _ in terms], axis=1)
    chosen = _few_terms(columns, y, weight, np.zeros(len(terms), bool), policy)
    return [sum(factor * terms[k][1]() for k, factor in found) for found in chosen]


def _fractions(above: Sequence[Written], y: np.ndarray, weight: np.ndarray, policy: NoisyFormPolicy) -> list[Any]:
    """Return fractions with one term besides the 1 in the denominator; with more, some combination would nearly cancel
    the 1 and thereby y.

    The noise of y in y·Q favours denominators that nearly cancel it. So y is first replaced there by a sum of terms
    close to y, and then by the values of the fractions themselves. If no sum comes close, y itself is the lesser evil.
    """
    parts = _Parts.of(above)
    chosen = parts.chosen(y, y, weight, policy)
    size = parts.denominator(chosen[0])
    if size is None:
        found = []  # without a denominator it is a sum, which is proposed elsewhere
    else:  # the denominator determines how far noise moves each row
        again = weight / np.maximum(np.abs(size), policy.least_below * np.median(np.abs(size)))
        found = parts.chosen(y, y, again, policy)
    inside = _close_sum(parts.above, y, weight, policy)
    unbent: list[list[tuple[int, float]]] = []
    for _ in range(policy.times_inside):
        chosen = parts.chosen(y, inside, weight, policy)
        values = next((v for terms in chosen if np.isfinite(v := parts.values(terms)).all()), None)
        if values is None:
            break
        inside, unbent = values, chosen
    written = (parts.written(terms) for terms in (*found, *unbent))
    return list(dict.fromkeys(fraction for fraction in written if fraction is not None))


def _close_sum(columns: np.ndarray, y: np.ndarray, weight: np.ndarray, policy: NoisyFormPolicy) -> np.ndarray:
    """Return the values of a sum with more terms than a formula would have, but far fewer than there are rows."""
    longer = replace(policy, most_terms=policy.terms_inside, restarts=0, sweeps=1, kept=1, price=0.0)
    [terms] = _few_terms(columns, y, weight, np.zeros(columns.shape[1], bool), longer)
    return columns[:, [k for k, _ in terms]] @ np.array([factor for _, factor in terms])


@dataclass(frozen=True, eq=False)
class _Parts:
    """The terms of numerators and denominators. A fraction is a list of pairs: the index of a part and its factor."""

    terms: Sequence[Written]
    above: np.ndarray
    below: np.ndarray
    is_below: np.ndarray
    from_term: np.ndarray  # per part, the index of its term

    @staticmethod
    def of(terms: Sequence[Written]) -> _Parts:
        changing = np.array([k for k, (values, _) in enumerate(terms) if np.ptp(values) > 0], int)
        above = np.stack([values for values, _ in terms], axis=1)
        is_below = np.arange(len(terms) + len(changing)) >= len(terms)
        return _Parts(terms, above, above[:, changing], is_below, np.concatenate([np.arange(len(terms)), changing]))

    def chosen(
        self, y: np.ndarray, inside: np.ndarray, weight: np.ndarray, policy: NoisyFormPolicy
    ) -> list[list[tuple[int, float]]]:
        """Return the best choices of parts for y = P - inside * Q."""
        columns = np.hstack([self.above, -inside[:, None] * self.below])
        return _few_terms(columns, y, weight, self.is_below, policy)

    def denominator(self, chosen: Sequence[tuple[int, float]]) -> np.ndarray | None:
        parts = [factor * self.above[:, self.from_term[k]] for k, factor in chosen if self.is_below[k]]
        return 1.0 + np.sum(parts, axis=0) if parts else None

    def values(self, chosen: Sequence[tuple[int, float]]) -> np.ndarray:
        below = self.denominator(chosen)
        parts = [factor * self.above[:, k] for k, factor in chosen if not self.is_below[k]]
        return np.full(len(self.above), np.nan) if below is None else np.sum([0.0 * below, *parts], axis=0) / below

    def written(self, chosen: Sequence[tuple[int, float]]) -> Any:
        """Return the fraction as an expression; None if numerator or denominator is missing."""
        numbered = [(self.is_below[k], factor, int(self.from_term[k])) for k, factor in chosen]
        numerator: Any = sum(factor * self.terms[k][1]() for is_below, factor, k in numbered if not is_below)
        denominator: Any = 1 + sum(factor * self.terms[k][1]() for is_below, factor, k in numbered if is_below)
        is_fraction = numerator != 0 and getattr(denominator, "free_symbols", None)
        return numerator / denominator if is_fraction else None


def _few_terms(
    columns: np.ndarray, y: np.ndarray, weight: np.ndarray, scarce: np.ndarray, policy: NoisyFormPolicy
) -> list[list[tuple[int, float]]]:
    """Return sums of few columns close to y, the likeliest first, each as pairs of column index and factor.

    A sum contains at most one of the `scarce` columns.
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
