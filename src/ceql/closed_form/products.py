"""Products without a search: the logarithm of y is a sum of logarithms, one for each factor.

Factors are powers of the columns, of functions of a column, of sums and differences of two columns or of their squares,
and exponentials of products of columns. All exponents are found at once, by linear algebra.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ceql.closed_form.sparse import AT_ONCE, few_of
from ceql.closed_form.sums import monomials
from ceql.data.correlations import explained
from ceql.engine.one_thread import one_thread
from ceql.operators import get

_ROWS = 400
_MOST_IN_EXPONENT = 200
_MOST_PAIRS = 1000  # all of up to 22 columns
_SIMPLE = 1e-9  # an exponent that is a whole number or a half to this accuracy is meant to be one

_PAIRS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a**2 + b**2,
    lambda a, b: a**2 - b**2,
)


@dataclass(frozen=True, eq=False)
class _Factor:
    values: np.ndarray  # of its logarithm
    raised: Callable[[Any], Any]  # to this exponent


@one_thread
def product(x: np.ndarray, y: np.ndarray, symbols: Sequence[Any], functions: Sequence[str]) -> Any:
    """The product that y is, or that is one more or less than y, over these symbols; None where there is none.

    `functions` are names of operators that may be applied to a column. With exp among them y may have a factor that is
    an exponential of products of columns.
    """
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:_ROWS])
    x, y = x[rows], y[rows]
    columns = list(zip(x.T, symbols, strict=True))
    plain = [_power(np.ones(len(y)) * np.e, np.e), *(_power(column, symbol) for column, symbol in columns)]
    plain += [factor for name in functions if name not in ("exp", "sqrt") for factor in _images(get(name), columns)]
    exponents = [_exponential(*term) for term in monomials(x, symbols, _MOST_IN_EXPONENT)] if "exp" in functions else []
    pairs = _pairs(x, y, symbols)
    few = [*plain, *exponents][: AT_ONCE[-1]]
    for offset, factors in ((0, [*plain, *exponents]), (0, [*plain, *pairs]), (1, few), (-1, few)):
        if (found := _found(factors, y + offset)) is not None:
            return found - offset
    return None


def _pairs(x: np.ndarray, y: np.ndarray, symbols: Sequence[Any]) -> list[_Factor]:
    """Sums and differences of two columns or of their squares; of many columns those that say most about y."""
    places = [(i, j, pair) for i, j in combinations(range(x.shape[1]), 2) for pair in _PAIRS]
    if len(places) > _MOST_PAIRS:
        scores = np.concatenate([_scores(x[:, i, None], x[:, i + 1 :], y) for i in range(x.shape[1] - 1)])
        places = [places[k] for k in np.sort(np.argsort(-scores, kind="stable")[:_MOST_PAIRS])]
    return [_power(pair(x[:, i], x[:, j]), pair(symbols[i], symbols[j])) for i, j, pair in places]


@np.errstate(all="ignore")  # what has no logarithm says nothing
def _scores(column: np.ndarray, others: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How much the logarithm of each pairing of a column with others says about that of y, in the order of places."""
    pairings = np.stack([pair(column, others) for pair in _PAIRS], axis=2)
    return explained(np.log(np.abs(pairings)).reshape(len(y), -1), np.log(np.abs(y))[:, None])


def _power(values: np.ndarray, symbol: Any) -> _Factor:
    with np.errstate(all="ignore"):
        return _Factor(np.log(np.abs(values)), lambda exponent: symbol ** _simple(exponent))


def _exponential(values: np.ndarray, written: Callable[[], Any]) -> _Factor:
    return _Factor(values, lambda factor: get("exp").symbolic(factor * written()))


def _images(operator: Any, columns: Sequence[tuple[np.ndarray, Any]]) -> Iterator[_Factor]:
    for column, symbol in columns:
        if operator.domain.has_inside(column).all():
            yield _power(operator.real(column), operator.symbolic(symbol))


def _simple(exponent: float) -> Any:
    """A whole number as such, for the sign of what is raised to it."""
    return round(exponent) if abs(exponent - round(exponent)) < _SIMPLE else exponent


def _found(factors: Sequence[_Factor], y: np.ndarray) -> Any:
    if not (y != 0.0).all():
        return None
    columns = np.stack([factor.values for factor in factors], axis=1)
    chosen = few_of(columns, np.log(np.abs(y)))
    if chosen is None:
        return None
    expression: Any = 1
    for k, exponent in zip(*chosen, strict=True):
        expression = expression * factors[k].raised(float(exponent))
    return expression if getattr(expression, "free_symbols", None) else None
