"""The terms that a relation may be a sum of: products of functions of the columns, with values and slopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import sympy

from ceql.expression.prices import PRICES, Prices, structure_price
from ceql.relations.policy import VocabularyPolicy
from ceql.relations.rows import Rows

Array = np.ndarray


@dataclass(frozen=True, eq=False)  # identity suffices, since each shape exists once
class Shape:
    """A function of one number, its derivative, its SymPy form, and the columns that it suits."""

    name: str
    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    symbolic: Callable[[Any], Any]
    suits: Callable[[Array, VocabularyPolicy], bool] = lambda column, policy: True


def _positive(column: Array, policy: VocabularyPolicy) -> bool:
    return bool(column.min() > policy.least_ratio * column.max())


def _away_from_zero(column: Array, policy: VocabularyPolicy) -> bool:
    size = np.abs(column)
    return bool(size.min() > policy.nearest_pole * size.max()) and bool((column > 0).all() or (column < 0).all())


def _far_from_zero(squares: Array, policy: VocabularyPolicy) -> bool:
    return bool(squares.min() > policy.nearest_pole**2 * squares.max())


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
# Functions of the sum of two squared columns, such as a distance from the origin.
RADIAL = (
    Shape("r", np.sqrt, lambda s: 0.5 / np.sqrt(s), sympy.sqrt, _far_from_zero),
    Shape("1/r", lambda s: s**-0.5, lambda s: -0.5 * s**-1.5, lambda s: s ** sympy.Rational(-1, 2), _far_from_zero),
    Shape("1/r^2", lambda s: 1.0 / s, lambda s: -1.0 / s**2, lambda s: 1 / s, _far_from_zero),
    Shape("r^4", np.square, lambda s: 2.0 * s, lambda s: s**2),
)
_LONE = ("x^4",)  # shapes that are not used in products


@dataclass(frozen=True)
class Factor:
    """A function of one column, or of the sum of the squares of several."""

    columns: tuple[int, ...]
    shape: Shape

    def _inner(self, x: Array) -> Array:
        return x[:, self.columns[0]] if len(self.columns) == 1 else np.sum(x[:, self.columns] ** 2, axis=1)

    def value(self, x: Array) -> Array:
        return self.shape.value(self._inner(x))

    def slopes(self, x: Array) -> dict[int, Array]:
        """The derivatives by each of its columns."""
        outer = self.shape.slope(self._inner(x))
        return {k: outer if len(self.columns) == 1 else 2.0 * outer * x[:, k] for k in self.columns}

    def symbolic(self, symbols: Sequence[sympy.Symbol]) -> Any:
        own = [symbols[k] for k in self.columns]
        return self.shape.symbolic(own[0] if len(own) == 1 else sympy.Add(*(symbol**2 for symbol in own)))

    def suits(self, x: Array, policy: VocabularyPolicy) -> bool:
        return self.shape.suits(self._inner(x), policy)


@dataclass(frozen=True)
class Term:
    """A product of functions of different columns, and its price."""

    factors: tuple[Factor, ...]
    expression: sympy.Expr
    price: float

    @property
    def columns(self) -> frozenset[int]:
        return frozenset(column for factor in self.factors for column in factor.columns)

    def holds(self, other: Term) -> bool:
        """Whether the other term is a factor of this one."""
        return set(other.factors) <= set(self.factors)


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Terms with their values in all rows and their derivatives by every column, in units of its standard deviation."""

    terms: tuple[Term, ...]
    values: Array  # (rows, terms)
    slopes: Array  # (columns, rows, terms), projected onto the surfaces that the rows lie on
    whole: Array  # the slopes before that projection

    def only(self, chosen: Sequence[int] | Array) -> Dictionary:
        terms = tuple(self.terms[k] for k in chosen)
        parts = (self.values[:, chosen], self.slopes[:, :, chosen], self.whole[:, :, chosen])
        return Dictionary(terms, *parts)


def make_terms(
    x: Array, symbols: Sequence[sympy.Symbol], policy: VocabularyPolicy, prices: Prices = PRICES
) -> tuple[Term, ...]:
    """The cheapest products that suit these columns, and functions of the sum of squares of two columns."""
    columns = range(x.shape[1])
    alone = [[one for shape in SHAPES if (one := Factor((k,), shape)).suits(x, policy)] for k in columns]
    terms = [_term(factors, symbols, prices) for factors in _products(alone)]
    order = sorted(range(len(terms)), key=lambda k: (terms[k].price, k))
    size = np.sqrt(np.mean(x**2, axis=0))
    pairs = [
        (one, two)
        for one, two in combinations(columns, 2)
        if len(columns) <= policy.most_in_pairs and 1.0 / policy.unlike <= size[one] / size[two] <= policy.unlike
    ]
    radial = (Factor(pair, shape) for pair in pairs for shape in RADIAL)
    further = [_term((factor,), symbols, prices) for factor in radial if factor.suits(x, policy)]
    return (*(terms[k] for k in sorted(order[: policy.most_terms])), *further)


def _products(alone: Sequence[Sequence[Factor]]) -> Iterator[tuple[Factor, ...]]:
    for factors in alone:
        yield from ((factor,) for factor in factors)
    parts = [[factor for factor in factors if factor.shape.name not in _LONE] for factors in alone]
    for one, other in combinations(parts, 2):
        yield from product(one, other)
    for three in combinations(range(len(alone)), 3):
        yield tuple(Factor((k,), PLAIN) for k in three)


def _term(factors: tuple[Factor, ...], symbols: Sequence[sympy.Symbol], prices: Prices) -> Term:
    expression = sympy.Mul(*(factor.symbolic(symbols) for factor in factors))
    return Term(factors, expression, structure_price(expression, prices))


def dictionary_of(terms: Sequence[Term], rows: Rows) -> Dictionary:
    """The terms that are defined in all rows and vary."""
    whole = values_and_slopes(terms, rows)
    usable = np.isfinite(whole.values).all(axis=0) & np.isfinite(whole.slopes).all(axis=(0, 1))
    sound = whole.only(np.flatnonzero(usable))
    return sound.only(np.flatnonzero(sound.values.std(axis=0) > 0.0))


@np.errstate(all="ignore")
def values_and_slopes(terms: Sequence[Term], rows: Rows) -> Dictionary:
    """Values and slopes of all these terms; NaN or infinite where they are undefined."""
    x = rows.x
    values, slopes = np.ones((len(x), len(terms))), np.zeros((x.shape[1], len(x), len(terms)))
    factors = {factor: None for term in terms for factor in term.factors}
    known = {factor: factor.value(x) for factor in factors}
    slope = {factor: factor.slopes(x) for factor in factors}
    for k, term in enumerate(terms):
        for factor in term.factors:
            others = np.prod([known[other] for other in term.factors if other is not factor], axis=0)
            for column, part in slope[factor].items():
                slopes[column, :, k] += part * rows.scale[column] * others
            values[:, k] *= known[factor]
    if rows.across is None:
        return Dictionary(tuple(terms), values, slopes, slopes)
    beside = rows.beside(slopes.transpose(1, 0, 2)).transpose(1, 0, 2)
    return Dictionary(tuple(terms), values, beside, slopes)
