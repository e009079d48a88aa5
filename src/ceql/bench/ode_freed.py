"""Sets all numbers of a right-hand side free: what the same structure can express with other numbers.

A method that gets noisy data reports x' = 1.003 v where the truth is x' = v, and unequal factors where the truth has
the same one in two places. So the truth is written as a sum of terms, and every term gets a factor of its own, also
inside denominators and functions. Exponents that are whole numbers or fractions stay fixed; others are free. Of numbers
with the same effect (the factor of a fraction and that of its denominator) only some are free.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import sympy

from ceql.expression import value_and_jacobian

_RANK = 1e-9  # of the largest; below it, the effect of a number is a combination of those of the others
_CANCELLED = 1e-6  # of its parts; a smaller sum counts as cancelled
_NUMBER = "number"


@dataclass(frozen=True, eq=False)
class Freed:
    """A formula in its columns and in named numbers, with the values that these have in the truth.

    `exponents` names the numbers that are exponents.
    """

    expression: sympy.Expr
    numbers: tuple[tuple[str, float], ...]
    exponents: frozenset[str]


def freed(expression: Any, symbols: tuple[Any, ...], x: np.ndarray) -> Freed:
    """The formula with free numbers, each of which has an independent effect at these rows."""
    walk = _Walk(symbols)
    family = walk.sum_of(sympy.expand(expression))
    values = np.array(list(walk.values.values()))
    kept = set(_independent(family, symbols, list(walk.values), values, x))
    held = {symbol: sympy.Float(value) for symbol, value in walk.values.items() if symbol not in kept}
    free = [(symbol.name, value) for symbol, value in walk.values.items() if symbol in kept]
    return Freed(family.xreplace(held), tuple(free), frozenset(s.name for s in walk.exponents & kept))


def on_one_line(expression: Any, symbols: tuple[Any, ...]) -> Any:
    """The formula as one fraction without terms that cancel, as in a - a*k/(k + x), which is a*x/(k + x).

    A sum of larger parts that is nearly zero has cancelled. A term that is small by itself is kept.
    """
    names = {number: sympy.Dummy(real=True) for number in expression.atoms(sympy.Float)}
    top, bottom = sympy.fraction(sympy.together(expression.xreplace(names)))
    values = {name: number for number, name in names.items()}
    return _without_cancelled(top, symbols, values) / _without_cancelled(bottom, symbols, values)


def _without_cancelled(expression: Any, symbols: tuple[Any, ...], values: dict[Any, Any]) -> Any:
    parts: dict[Any, list[Any]] = {}
    for term in sympy.Add.make_args(sympy.expand(expression)):
        # Exponents that are not whole are numbers of what they stand in.
        factor, rest = term.as_independent(*symbols, as_Add=False)
        parts.setdefault(rest.xreplace(values), []).append(factor.xreplace(values))
    kept = []
    for rest, factors in parts.items():
        total, size = sympy.Add(*factors), sum(abs(float(factor)) for factor in factors)
        if len(factors) == 1 or abs(float(total)) > _CANCELLED * size:
            kept.append(total * rest)
    return sympy.Add(*kept)


class _Walk:
    """Walks through a formula and puts a new number wherever one is possible."""

    def __init__(self, columns: tuple[Any, ...]) -> None:
        self.columns = columns
        self.values: dict[Any, float] = {}
        self.exponents: set[Any] = set()
        self._fresh = self._names({column.name for column in columns})

    @staticmethod
    def _names(taken: set[str]) -> Iterator[Any]:
        return (sympy.Symbol(name, real=True) for k in count(1) if (name := f"{_NUMBER}{k}") not in taken)

    def number(self, value: Any) -> Any:
        symbol = next(self._fresh)
        self.values[symbol] = float(value)
        return symbol

    def sum_of(self, expression: Any) -> Any:
        """The expression as a sum whose terms have free factors."""
        return sympy.Add(*[self._term(term) for term in sympy.Add.make_args(expression)])

    def _term(self, term: Any) -> Any:
        factor, rest = term.as_independent(*self.columns, as_Add=False)
        number = self.number(factor)
        return number * sympy.Mul(*[self._inside(part) for part in sympy.Mul.make_args(rest)])

    def _inside(self, expression: Any) -> Any:
        if expression.is_Symbol or expression.is_number:
            return expression
        if isinstance(expression, sympy.exp):
            return sympy.exp(self.sum_of(expression.args[0]))
        if expression.is_Pow:
            base = expression.base if expression.base.is_Symbol else self.sum_of(expression.base)
            return sympy.Pow(base, self._exponent(expression.exp))
        return expression.func(*[self.sum_of(argument) for argument in expression.args])

    def _exponent(self, exponent: Any) -> Any:
        if exponent.is_Rational:
            return exponent
        if not exponent.is_number:
            return self.sum_of(exponent)
        symbol = self.number(exponent)
        self.exponents.add(symbol)
        return symbol


def _independent(
    family: Any, symbols: tuple[Any, ...], numbers: list[Any], values: np.ndarray, x: np.ndarray
) -> list[Any]:
    """The numbers, in order, whose effect is not a combination of the effects of earlier ones."""
    with np.errstate(all="ignore"):
        _, effects = value_and_jacobian(family, symbols, numbers)(x, values)
    effects = effects[np.isfinite(effects).all(axis=1)]
    sizes = np.linalg.norm(effects, axis=0)
    effects = effects / np.where(sizes > 0.0, sizes, 1.0)
    directions = np.zeros((len(effects), 0))
    kept = []
    for number, effect in zip(numbers, effects.T, strict=True):
        left = effect - directions @ (directions.T @ effect)
        left -= directions @ (directions.T @ left)  # twice, since the first projection leaves rounding errors
        if np.linalg.norm(left) > _RANK:
            directions = np.column_stack([directions, left / np.linalg.norm(left)])
            kept.append(number)
    return kept
