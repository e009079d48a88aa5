"""Terms for right-hand sides: without a number inside, and with one or two numbers to be fitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
import sympy

from ceql.dynamics.policy import TERMS, TermPolicy
from ceql.dynamics.relatives import is_fraction
from ceql.expression.prices import structure_price
from ceql.operators.program import value_and_jacobian

_NUMBER, _OTHER = sympy.Symbol("number", positive=True), sympy.Symbol("other", positive=True)
_SAFE_EXPONENT = 10.0  # beyond it exponentials of a column itself say nothing but where it is largest


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Values of terms along the path. A term with numbers also has its derivatives by them, so that wrong numbers cost
    little in a sum whose weights are all free."""

    terms: tuple[Any, ...]
    values: np.ndarray  # (points, terms)
    tangents: np.ndarray  # (points, terms, 2): zero for a number that is not there
    prices: np.ndarray  # of the structure, in nats
    numbers: np.ndarray  # (terms,): how many numbers there are in it
    families: np.ndarray  # (terms,): the same for terms that differ in what their numbers begin with alone
    are_fractions: np.ndarray  # (terms,): whether they are made of whole powers of columns, and of sums below, alone

    @property
    def plain(self) -> list[Any]:
        """The terms without a number."""
        return [term for term, numbers in zip(self.terms, self.numbers, strict=True) if not numbers]


def vocabulary(rows: np.ndarray, symbols: Sequence[sympy.Symbol], policy: TermPolicy = TERMS) -> Vocabulary:
    """Terms that have a value everywhere on the path."""
    symbols = tuple(symbols)
    terms, values, tangents, counts, families = [], [], [], [], []
    known: dict[Any, int] = {}
    for term, numbers in _proposed(rows, symbols, policy):
        found = _evaluated(term, numbers, symbols, rows)
        if found is not None:
            terms.append(term.xreplace({name: sympy.Float(value) for name, value in numbers.items()}))
            values.append(found[0])
            tangents.append(found[1])
            counts.append(len(numbers))
            families.append(known.setdefault(term, len(known)))
    firsts = np.unique(families, return_index=True)[1]  # neither depends on what numbers begin with
    prices = np.array([structure_price(terms[first]) for first in firsts])[families]
    fractions = np.array([is_fraction(terms[first]) for first in firsts])[families]
    whole = np.stack(tangents, axis=1)
    return Vocabulary(
        tuple(terms), np.column_stack(values), whole, prices, np.array(counts), np.array(families), fractions
    )


def _evaluated(
    term: Any, numbers: Mapping[sympy.Symbol, float], symbols: tuple[sympy.Symbol, ...], rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Values and derivatives by the numbers; None where one of them has no value somewhere, or all are zero."""
    tangents = np.zeros((len(rows), 2))
    with np.errstate(all="ignore"):
        values, slopes = value_and_jacobian(term, symbols, tuple(numbers))(rows, np.array(list(numbers.values())))
    tangents[:, : len(numbers)] = slopes
    if not (np.isfinite(values).all() and np.isfinite(tangents).all() and np.any(values)):
        return None
    return values, tangents


def _proposed(
    rows: np.ndarray, symbols: tuple[sympy.Symbol, ...], policy: TermPolicy
) -> Iterator[tuple[Any, dict[sympy.Symbol, float]]]:
    """Each term, with the values that its numbers begin with."""
    seen: set[Any] = set()
    plain = () if policy.only_powers else (*_of_functions(rows, symbols), *_of_two(symbols))
    for term in (*_monomials(symbols, policy), *plain):
        if term not in seen:
            seen.add(term)
            yield term, {}
    if policy.only_powers:
        return
    for x, column in zip(symbols, rows.T, strict=True):
        size = float(np.max(np.abs(column))) or 1.0
        for term in _with_factors(_with_number(x, column), x, symbols):
            if term not in seen:
                seen.add(term)
                for share in policy.numbers[min(len(symbols), len(policy.numbers)) - 1]:
                    yield term, {_NUMBER: float(f"{share * size:.3g}")}
        yield from _with_exponent(x, column, symbols, policy)
        if len(symbols) < policy.most_columns:
            yield from _with_two_numbers(x, column, policy)


def _monomials(symbols: tuple[sympy.Symbol, ...], policy: TermPolicy) -> Iterator[Any]:
    yield sympy.Integer(1)
    count = len(symbols)
    degree = policy.degree_alone if count == 1 else policy.degree - (count > policy.most_columns)
    for power in range(1, degree + 1):
        for group in combinations_with_replacement(symbols, power):
            yield sympy.Mul(*group)


def _of_functions(rows: np.ndarray, symbols: tuple[sympy.Symbol, ...]) -> Iterator[Any]:
    for x, column in zip(symbols, rows.T, strict=True):
        yield from _with_factors(_plain(x, column), x, symbols)


def _with_factors(terms: Iterator[Any], x: sympy.Symbol, symbols: tuple[sympy.Symbol, ...]) -> Iterator[Any]:
    """The terms of x, and each times a column and times x and a column."""
    for term in terms:
        yield term
        for other in symbols:
            yield other * term
            if other != x:
                yield x * other * term


def _plain(x: sympy.Symbol, column: np.ndarray) -> Iterator[Any]:
    low, high = float(column.min()), float(column.max())
    yield from (sympy.sin(x), sympy.cos(x), sympy.sin(2 * x), sympy.cos(2 * x), sympy.tanh(x))
    if low < 0.0 < high:
        yield sympy.Abs(x)
    if max(abs(low), abs(high)) < _SAFE_EXPONENT:
        yield from (sympy.exp(x), sympy.exp(-x))
    if low > 0.0:
        yield from (sympy.log(x), sympy.sqrt(x))
    if low > 0.0 or high < 0.0:
        yield from (1 / x, x ** sympy.Integer(-2), x ** sympy.Integer(-3))
    yield from (1 / (1 + x**2), x**2 / (1 + x**2))


def _of_two(symbols: tuple[sympy.Symbol, ...]) -> Iterator[Any]:
    for x, y in combinations(symbols, 2):
        yield x / y
        yield y / x
        yield from (sympy.sin(x - y), sympy.cos(x - y), sympy.sin(x + y), sympy.cos(x + y))
        yield from (sympy.sin(x) * sympy.cos(y), sympy.cos(x) * sympy.sin(y), sympy.sin(x) * sympy.sin(y))
        yield sympy.cos(x) * sympy.cos(y)
        yield from (sympy.cos(x) / y, sympy.sin(x) / y, sympy.cos(y) / x, sympy.sin(y) / x)
        radius = x**2 + y**2
        for top in (sympy.Integer(1), x, y):
            yield from (top * sympy.sqrt(radius), top / radius, top / sympy.sqrt(radius))
            yield top / radius ** sympy.Rational(3, 2)


def _with_exponent(
    x: sympy.Symbol, column: np.ndarray, symbols: tuple[sympy.Symbol, ...], policy: TermPolicy
) -> Iterator[tuple[Any, dict[sympy.Symbol, float]]]:
    """Powers of what is positive, alone and times a column."""
    if float(column.min()) <= 0.0:
        return
    for exponent in policy.exponents:
        yield x**_NUMBER, {_NUMBER: exponent}
        for other in symbols:
            if other != x:
                yield other * x**_NUMBER, {_NUMBER: exponent}


def _with_two_numbers(
    x: sympy.Symbol, column: np.ndarray, policy: TermPolicy
) -> Iterator[tuple[Any, dict[sympy.Symbol, float]]]:
    """Steps of any height and steepness: Hill's, of what is positive, and the logistic function."""
    low, high = float(column.min()), float(column.max())
    middles = [low + share * (high - low) for share in policy.middles]
    for middle in middles:
        for steepness in policy.steepness:
            if low > 0.0:
                yield x**_OTHER / (_NUMBER**_OTHER + x**_OTHER), {_NUMBER: middle, _OTHER: steepness}
            rate = steepness / (0.5 * (high - low) or 1.0)
            start = {_NUMBER: float(np.exp(np.clip(rate * middle, -20.0, 20.0))), _OTHER: rate}
            yield 1 / (1 + _NUMBER * sympy.exp(-_OTHER * x)), start


def _with_number(x: sympy.Symbol, column: np.ndarray) -> Iterator[Any]:
    low = float(column.min())
    square, cube, quartic = _NUMBER**2, _NUMBER**3, _NUMBER**4
    yield from (1 / (square + x**2), x**2 / (square + x**2), sympy.exp(-x / _NUMBER))
    if low >= 0.0:
        yield from (1 / (_NUMBER + x), x / (_NUMBER + x))
        yield from (1 / (cube + x**3), x**3 / (cube + x**3), 1 / (quartic + x**4), x**4 / (quartic + x**4))
