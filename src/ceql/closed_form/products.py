"""Products found without a search: the logarithm of y is a sum of logarithms, one for each factor.

Factors are powers of columns, of functions of a column, and of sums and differences of two columns or their squares,
and exponentials of products of columns. All exponents are found at once, by linear algebra.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ceql.closed_form.policy import ProductPolicy
from ceql.closed_form.sparse import few_of
from ceql.closed_form.sums import monomials, sized
from ceql.data.correlations import explained
from ceql.engine.one_thread import one_thread
from ceql.operators import get

_PAIRS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a**2 + b**2,
    lambda a, b: a**2 - b**2,
)


@dataclass(frozen=True, eq=False)
class _Factor:
    values: np.ndarray  # the logarithm of the factor in each row
    raised: Callable[[Any], Any]  # makes the expression of the factor to a given exponent


@one_thread
def product(
    x: np.ndarray,
    y: np.ndarray,
    symbols: Sequence[Any],
    functions: Sequence[str],
    policy: ProductPolicy = ProductPolicy(),
) -> Any:
    """Return the product that equals y, y + 1 or y - 1, as an expression for y; None if there is none.

    `functions` are names of operators that may be applied to a column. With exp among them, a factor may be an
    exponential of products of columns.
    """
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[: policy.rows])
    x, y = x[rows], y[rows]
    columns = list(zip(x.T, symbols, strict=True))
    bases: list[tuple[np.ndarray, Any]] = [(np.full(len(y), np.e), np.e), *columns]
    outside = [(np.abs(u), sized(u, s)) for u, s in columns] if "abs" in functions else columns
    for name in functions:
        if name not in ("exp", "sqrt", "abs"):
            bases += _images(get(name), outside if name == "log" else columns)
    plain = [_power(*base, policy.simple, "abs" in functions) for base in bases]
    in_exponent = monomials(x, symbols, policy.most_in_exponent, policy.powers) if "exp" in functions else []
    exponents = [_exponential(*term) for term in in_exponent]
    pairs = [_power(*pair, policy.simple) for pair in _pairs(x, y, symbols, policy.most_pairs)]
    few = [*plain, *exponents][: policy.terms.at_once[-1]]
    ways = [(0, [*plain, *exponents]), (0, [*plain, *pairs]), (1, few), (-1, few)]
    if len(columns) <= policy.few_columns:
        ways += [(0, [*plain[: 1 + len(columns)], *nested]) for nested in _nested(columns, functions, policy)]
    for offset, factors in ways:
        if (found := _found(factors, y + offset, policy)) is not None:
            return found - offset
    return None


def _pairs(x: np.ndarray, y: np.ndarray, symbols: Sequence[Any], most: int) -> list[tuple[np.ndarray, Any]]:
    """Return sums and differences of two columns or their squares; if there are too many, those that best explain y."""
    places = [(i, j, pair) for i, j in combinations(range(x.shape[1]), 2) for pair in _PAIRS]
    if len(places) > most:
        scores = np.concatenate([_scores(x[:, i, None], x[:, i + 1 :], y) for i in range(x.shape[1] - 1)])
        places = [places[k] for k in np.sort(np.argsort(-scores, kind="stable")[:most])]
    return [(pair(x[:, i], x[:, j]), pair(symbols[i], symbols[j])) for i, j, pair in places]


@np.errstate(all="ignore")  # pairings without a logarithm explain nothing
def _scores(column: np.ndarray, others: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return how much of log|y| the logarithm of each pairing of a column with the others explains, in order."""
    pairings = np.stack([pair(column, others) for pair in _PAIRS], axis=2)
    return explained(np.log(np.abs(pairings)).reshape(len(y), -1), np.log(np.abs(y))[:, None])


def _nested(
    columns: Sequence[tuple[np.ndarray, Any]], functions: Sequence[str], policy: ProductPolicy
) -> Iterator[list[_Factor]]:
    """Yield factors of two kinds: sines and cosines of columns, products and ratios; then 1 plus or minus any of these,
    their squares or their sines. Dimensionless ratios occur beside 1, and 1 - cos(u) is 2*sin(u/2)**2."""
    inner = list(columns)
    for (a, one), (b, other) in combinations(columns, 2):
        inner += [(a * b, one * other), (a / b, one / other)]
    waves = [get(name) for name in ("sin", "cos") if name in functions]
    sines = [(wave.real(u), wave.symbolic(symbol)) for u, symbol in inner for wave in waves]
    squares = [(u**2, symbol**2) for u, symbol in inner]
    beside = [(1 + sign * u, 1 + sign * s) for u, s in (*inner, *squares, *sines) for sign in (1, -1)]
    # Not both kinds at once, since sin(u)**2 is the product of 1 + cos(u) and 1 - cos(u).
    yield from ([_power(*base, policy.simple) for base in bases] for bases in (sines, beside))


def _power(values: np.ndarray, symbol: Any, accuracy: float, sizes: bool = False) -> _Factor:
    """Return a power as a factor; with `sizes`, its base is taken in absolute value if the exponent is not whole."""

    def raised(exponent: float) -> Any:
        power = _simple(exponent, accuracy)
        return (symbol if isinstance(power, int) or not sizes else sized(values, symbol)) ** power

    with np.errstate(all="ignore"):
        return _Factor(np.log(np.abs(values)), raised)


def _exponential(values: np.ndarray, written: Callable[[], Any]) -> _Factor:
    return _Factor(values, lambda factor: get("exp").symbolic(factor * written()))


def _images(operator: Any, columns: Sequence[tuple[np.ndarray, Any]]) -> Iterator[tuple[np.ndarray, Any]]:
    for column, symbol in columns:
        if operator.domain.has_inside(column).all():
            yield operator.real(column), operator.symbolic(symbol)


def _simple(exponent: float, accuracy: float) -> Any:
    """Return a nearly whole exponent as an integer, which preserves the sign of the base."""
    return round(exponent) if abs(exponent - round(exponent)) < accuracy else exponent


def _found(factors: Sequence[_Factor], y: np.ndarray, policy: ProductPolicy) -> Any:
    if not (y != 0.0).all():
        return None
    columns = np.stack([factor.values for factor in factors], axis=1)
    chosen = few_of(columns, np.log(np.abs(y)), policy.terms)
    if chosen is None:
        return None
    expression: Any = 1
    for k, exponent in zip(*chosen, strict=True):
        expression = expression * factors[k].raised(float(exponent))
    return expression if getattr(expression, "free_symbols", None) else None
