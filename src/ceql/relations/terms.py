"""The terms that a relation may be a sum of: products of functions of the columns, with values and slopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import sympy

from ceql.expression.prices import PRICES, Prices, structure_price
from ceql.relations.policy import VocabularyPolicy
from ceql.relations.rows import Rows

Array = np.ndarray


@dataclass(frozen=True, eq=False)  # each is the one of its name
class Shape:
    """A function of one column, its derivative, its SymPy form and the columns that it suits."""

    name: str
    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    symbolic: Callable[[sympy.Symbol], sympy.Expr]
    suits: Callable[[Array, VocabularyPolicy], bool] = lambda column, policy: True


def _positive(column: Array, policy: VocabularyPolicy) -> bool:
    return bool(column.min() > policy.least_ratio * column.max())


def _away_from_zero(column: Array, policy: VocabularyPolicy) -> bool:
    size = np.abs(column)
    return bool(size.min() > policy.nearest_pole * size.max()) and bool((column > 0).all() or (column < 0).all())


def _angle(column: Array, policy: VocabularyPolicy) -> bool:
    return bool(np.abs(column).max() <= policy.largest_angle and np.ptp(column) >= policy.least_turn)


def _exponent(column: Array, policy: VocabularyPolicy) -> bool:
    return bool(np.abs(column).max() <= policy.largest_exponent)


PLAIN = Shape("x", lambda x: x, np.ones_like, lambda x: x)
SHAPES = (
    PLAIN,
    Shape("x^2", np.square, lambda x: 2.0 * x, lambda x: x**2),
    Shape("x^3", lambda x: x**3, lambda x: 3.0 * x**2, lambda x: x**3),
    Shape("x^4", lambda x: x**4, lambda x: 4.0 * x**3, lambda x: x**4),
    Shape("1/x", lambda x: 1.0 / x, lambda x: -1.0 / x**2, lambda x: 1 / x, _away_from_zero),
    Shape("1/x^2", lambda x: x**-2.0, lambda x: -2.0 / x**3, lambda x: x**-2, _away_from_zero),
    Shape("sqrt", np.sqrt, lambda x: 0.5 / np.sqrt(x), sympy.sqrt, _positive),
    Shape("log", np.log, lambda x: 1.0 / x, sympy.log, _positive),
    Shape("exp", np.exp, np.exp, sympy.exp, _exponent),
    Shape("exp-", lambda x: np.exp(-x), lambda x: -np.exp(-x), lambda x: sympy.exp(-x), _exponent),
    Shape("sin", np.sin, np.cos, sympy.sin, _angle),
    Shape("cos", np.cos, lambda x: -np.sin(x), sympy.cos, _angle),
)
_LONE = ("x^4",)  # shapes that are no factors
Factor = tuple[int, Shape]  # of which column, which function


@dataclass(frozen=True)
class Term:
    """A product of functions of different columns, and what it costs to say it."""

    factors: tuple[Factor, ...]
    expression: sympy.Expr
    price: float

    @property
    def columns(self) -> frozenset[int]:
        return frozenset(column for column, _ in self.factors)

    def holds(self, other: Term) -> bool:
        """Whether the other one is a factor of it."""
        return set(other.factors) <= set(self.factors)


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Terms with their values in all rows and their slopes by every column, in standard deviations of it."""

    terms: tuple[Term, ...]
    values: Array  # (rows, terms)
    slopes: Array  # (columns, rows, terms), beside the surfaces that the rows are on
    whole: Array  # the same, these surfaces not regarded

    def only(self, chosen: Sequence[int] | Array) -> Dictionary:
        terms = tuple(self.terms[k] for k in chosen)
        parts = (self.values[:, chosen], self.slopes[:, :, chosen], self.whole[:, :, chosen])
        return Dictionary(terms, *parts)


def make_terms(
    x: Array, symbols: Sequence[sympy.Symbol], policy: VocabularyPolicy, prices: Prices = PRICES
) -> tuple[Term, ...]:
    """The cheapest terms that these columns allow."""
    suited = [[(k, shape) for shape in SHAPES if shape.suits(column, policy)] for k, column in enumerate(x.T)]
    terms = [_term(factors, symbols, prices) for factors in _products(suited)]
    order = sorted(range(len(terms)), key=lambda k: (terms[k].price, k))
    return tuple(terms[k] for k in sorted(order[: policy.most_terms]))


def _products(suited: Sequence[Sequence[Factor]]) -> Iterator[tuple[Factor, ...]]:
    for factors in suited:
        yield from ((factor,) for factor in factors)
    parts = [[factor for factor in factors if factor[1].name not in _LONE] for factors in suited]
    for one, other in combinations(parts, 2):
        yield from product(one, other)
    for three in combinations(range(len(suited)), 3):
        yield tuple((k, PLAIN) for k in three)


def _term(factors: tuple[Factor, ...], symbols: Sequence[sympy.Symbol], prices: Prices) -> Term:
    expression = sympy.Mul(*(shape.symbolic(symbols[k]) for k, shape in factors))
    return Term(factors, expression, structure_price(expression, prices))


def dictionary_of(terms: Sequence[Term], rows: Rows) -> Dictionary:
    """The terms that have a value in all rows and more than one of them."""
    whole = values_and_slopes(terms, rows)
    usable = np.isfinite(whole.values).all(axis=0) & np.isfinite(whole.slopes).all(axis=(0, 1))
    sound = whole.only(np.flatnonzero(usable))
    return sound.only(np.flatnonzero(sound.values.std(axis=0) > 0.0))


@np.errstate(all="ignore")
def values_and_slopes(terms: Sequence[Term], rows: Rows) -> Dictionary:
    """Of all these terms; NaN or infinite where they have none."""
    x = rows.x
    values, slopes = np.ones((len(x), len(terms))), np.zeros((x.shape[1], len(x), len(terms)))
    known = {factor: factor[1].value(x[:, factor[0]]) for term in terms for factor in term.factors}
    slope = {factor: factor[1].slope(x[:, factor[0]]) * rows.scale[factor[0]] for factor in known}
    for k, term in enumerate(terms):
        for factor in term.factors:
            others = [known[other] for other in term.factors if other is not factor]
            slopes[factor[0], :, k] = slope[factor] * np.prod(others, axis=0)
            values[:, k] *= known[factor]
    if rows.across is None:
        return Dictionary(tuple(terms), values, slopes, slopes)
    beside = rows.beside(slopes.transpose(1, 0, 2)).transpose(1, 0, 2)
    return Dictionary(tuple(terms), values, beside, slopes)
