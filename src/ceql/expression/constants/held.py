"""Shorter forms of a formula that leave known numbers alone.

The constants of a shorter form are decimals, which are fitted afterwards. Known numbers must not be fitted: they are
written as fractions and replaced by symbols while the formula is rewritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sympy import Dummy, Pow, Rational, Symbol

from ceql.expression.algebra.effort import Effort
from ceql.expression.algebra.precision import REFINED
from ceql.expression.algebra.simplify import smallest
from ceql.expression.symbolic import Expr


def held_numbers(expr: Expr) -> frozenset[Rational]:
    """Return the fractions in a formula, except exponents."""
    return frozenset(_fractions(expr))


def _fractions(expr: Expr) -> Iterator[Rational]:
    if isinstance(expr, Rational) and not expr.is_Integer:
        yield expr
    for part in expr.args[:1] if isinstance(expr, Pow) and expr.exp.is_number else expr.args:
        yield from _fractions(part)


def smallest_holding(
    expr: Expr,
    symbols: Sequence[Symbol],
    x: np.ndarray,
    held: frozenset[Rational],
    effort: Effort,
    accuracy: float = REFINED,
) -> Expr:
    """Return the same as ``smallest``, but leave these fractions unchanged."""
    present = sorted(held & held_numbers(expr))
    if not present:
        return smallest(expr, symbols, x, effort, accuracy)
    names = [Dummy(f"k{index}", real=True) for index in range(len(present))]
    columns = np.tile(np.array([float(number) for number in present]), (len(x), 1))
    named = _replaced(expr, dict(zip(present, names, strict=True)))
    short = smallest(named, [*symbols, *names], np.column_stack([x, columns]), effort, accuracy)
    return short.xreplace(dict(zip(names, present, strict=True)))


def _replaced(expr: Expr, table: dict[Any, Any]) -> Any:
    """Replace numbers by symbols, but not in exponents."""
    if expr in table:
        return table[expr]
    if not expr.args:
        return expr
    if isinstance(expr, Pow) and expr.exp.is_number:
        return Pow(_replaced(expr.base, table), expr.exp)
    return expr.func(*[_replaced(part, table) for part in expr.args])
