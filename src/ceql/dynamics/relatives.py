"""Right-hand sides one step away from a known one: its terms are made to saturate, and its fractions are changed.

A vocabulary of terms cannot hold every fraction of several states. But a missing one, such as s/(k + s + c*p), is one
step from one that it holds, such as s/(k + s), which has a similar shape. So relatives of the best sums are fitted in
the integral form, and the best of these have their relatives tried next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from ceql.dynamics.policy import RELATIVES, RelativesPolicy
from ceql.formula import Formula, values_of


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of the path, with what denominators may have of it."""

    symbol: sympy.Symbol
    is_positive: bool
    has_one_sign: bool

    @property
    def first(self) -> Any:
        """Its first power, as a denominator has it that must not vanish."""
        return self.symbol if self.is_positive else sympy.Abs(self.symbol)

    def power(self, exponent: int) -> Any:
        return self.symbol**exponent if self.is_positive or exponent % 2 == 0 else self.first**exponent


def relatives(formula: Formula, rows: np.ndarray, policy: RelativesPolicy = RELATIVES) -> Iterator[Formula]:
    """Formulas that differ from this one in one term, with numbers to start a fit from; and those without a term."""
    columns = [_column(symbol, values) for symbol, values in zip(formula.symbols, rows.T, strict=True)]
    sizes = _Sizes(tuple(formula.symbols), rows)
    terms = sympy.Add.make_args(formula.expression)
    for place, term in enumerate(terms):
        others = (*terms[:place], *terms[place + 1 :])
        if others:
            yield formula.with_expression(sympy.Add(*others))
        for changed in _changed(term, columns, sizes, policy):
            size = sizes(changed)
            if size > 0.0:
                factor = sympy.Float(sizes(term) / size)
                yield formula.with_expression(sympy.Add(*others, factor * changed))


def is_rational(formula: Formula) -> bool:
    """Whether every term is a fraction of whole powers of the columns and of their absolute values."""
    return all(is_fraction(term) for term in sympy.Add.make_args(formula.expression))


def _column(symbol: sympy.Symbol, values: np.ndarray) -> _Column:
    low, high = float(values.min()), float(values.max())
    return _Column(symbol, low > 0.0, low > 0.0 or high < 0.0)


class _Sizes:
    """How large expressions are along the path: the median of their absolute values, zero where they have none."""

    def __init__(self, symbols: tuple[sympy.Symbol, ...], rows: np.ndarray) -> None:
        self.symbols, self.rows = symbols, rows

    def __call__(self, expression: Any) -> float:
        if expression.is_number:
            return abs(float(expression))
        values = values_of(expression, self.symbols, self.rows)
        return 0.0 if values is None else float(np.median(np.abs(values)))


def _changed(term: Any, columns: Sequence[_Column], sizes: _Sizes, policy: RelativesPolicy) -> Iterator[Any]:
    top, bottom = sympy.fraction(term)
    sums = [factor for factor in sympy.Mul.make_args(bottom) if factor.is_Add]
    if not is_fraction(term):
        return
    yield from _with_another_power(top, bottom, columns, policy)
    for one in sums:
        rest = bottom / one
        yield top / rest
        yield from (top / (rest * other) for other in _without_a_part(one, columns))
        yield from (top / (rest * other) for other in _grown(one, columns, sizes, policy))
        for other, column, shift in _with_another_exponent(one, columns, policy):
            yield top / (rest * other)
            if top.has(column):
                yield top * column**shift / (rest * other)
    if len(sums) < policy.most_sums:
        for column in columns:
            if not any(one.has(column.symbol) for one in sums):
                yield from (term / (sympy.Float(size) + q) for q, size in _quotients(column, sizes, policy))


def has_idle_parts(formula: Formula, rows: np.ndarray, policy: RelativesPolicy = RELATIVES) -> bool:
    """Whether part of a denominator is negligible, so that a simpler formula has the same values."""
    sizes = _Sizes(tuple(formula.symbols), rows)
    for term in sympy.Add.make_args(formula.expression):
        for one in sympy.Mul.make_args(sympy.fraction(term)[1]):
            if one.is_Add and min(map(sizes, one.args)) < policy.idle * max(map(sizes, one.args)):
                return True
    return False


def is_fraction(term: Any) -> bool:
    """Whether it is made of whole powers of columns or their absolute values, and numbers, with sums only below."""
    top, bottom = sympy.fraction(term)
    parts = (part for factor in sympy.Mul.make_args(bottom) for part in sympy.Add.make_args(factor))
    return all(_is_power(factor) for one in (top, *parts) for factor in sympy.Mul.make_args(one))


def _is_power(factor: Any) -> bool:
    """Whether it is a number, or a whole power of a column or of its absolute value."""
    base, exponent = factor.as_base_exp()
    inside = base.args[0] if isinstance(base, sympy.Abs) else base
    return bool(factor.is_number or (inside.is_Symbol and exponent.is_Integer))


def _exponent(expression: Any, x: sympy.Symbol) -> int:
    """Of a column in a product."""
    powers = (factor.as_base_exp() for factor in sympy.Mul.make_args(expression))
    return sum(int(exponent) for base, exponent in powers if base == x)


def _quotients(column: _Column, sizes: _Sizes, policy: RelativesPolicy) -> Iterator[tuple[Any, float]]:
    """Powers of a column with their sizes, to be added to a denominator."""
    for exponent in policy.saturating:
        power = column.power(exponent)
        if (size := sizes(power)) > 0.0:
            yield power, size


def _with_another_power(top: Any, bottom: Any, columns: Sequence[_Column], policy: RelativesPolicy) -> Iterator[Any]:
    """The term times and divided by a column."""
    for column in columns:
        x = column.symbol
        exponent = _exponent(top, x) - _exponent(bottom, x)
        if exponent < policy.highest:
            yield top * x / bottom
        if exponent > 0 or (column.has_one_sign and exponent > -policy.highest):
            yield top / (x * bottom)


def _without_a_part(one: Any, columns: Sequence[_Column]) -> Iterator[Any]:
    """A denominator with a term less, where it does not vanish for that."""
    for part in one.args:
        rest = one - part
        symbols = rest.free_symbols
        if rest.is_Add or all(column.has_one_sign for column in columns if column.symbol in symbols):
            yield rest


def _grown(one: Any, columns: Sequence[_Column], sizes: _Sizes, policy: RelativesPolicy) -> Iterator[Any]:
    """A denominator with one more term, or with a decimal number where it had a whole one, which was not fitted."""
    if (number := one.as_coeff_Add()[0]).is_Integer and number != 0:
        yield one - number + sympy.Float(number)
    present = {part.as_independent(*(c.symbol for c in columns), as_Add=False)[1] for part in one.args}
    for column in columns:
        for power, size in _quotients(column, sizes, policy):
            if power not in present:
                yield one + sympy.Float(policy.share * sizes(one) / size) * power


def _with_another_exponent(
    one: Any, columns: Sequence[_Column], policy: RelativesPolicy
) -> Iterator[tuple[Any, Any, int]]:
    """A denominator k + x**n with another exponent and k raised accordingly, the column, and the change of its
    exponent."""
    for column in columns:
        number, rest = one.as_independent(column.symbol, as_Add=True)
        base, exponent = rest.as_base_exp()
        if not (
            number.is_number and number.is_positive and base in (column.symbol, column.first) and exponent.is_Integer
        ):
            continue
        for other in (int(exponent) - 1, int(exponent) + 1):
            if 1 <= other <= policy.highest:
                k = sympy.Float(float(number) ** (other / int(exponent)))
                yield k + column.power(other), column.symbol, other - int(exponent)
