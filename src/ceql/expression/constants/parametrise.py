"""Replaces the decimal constants of a formula by symbols that can be fitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from operator import is_

import numpy as np
from sympy import Dummy, Float, Integer, Pow, Rational, Symbol

from ceql.expression.symbolic import Expr
from ceql.operators.program import CompiledJacobian, value_and_jacobian


@dataclass(frozen=True, eq=False)
class Parametrised:
    """A formula whose decimal constants, ``values``, are named by ``symbols``."""

    written: Expr
    symbols: tuple[Dummy, ...]
    values: np.ndarray
    low: float = -np.inf  # decimal constants have no bounds
    high: float = np.inf

    @cached_property
    def expr(self) -> Expr:
        """The formula with the symbols in place of the constants; made on first use, as many need only the values."""
        return _Renamed(iter(self.symbols)).of(self.written)

    def program(self, columns: Sequence[Symbol]) -> CompiledJacobian:
        """Compile the formula over these columns, for values and their derivatives by the constants."""
        return value_and_jacobian(self.expr, columns, self.symbols)

    def substitute(self, values: np.ndarray | list[Expr]) -> Expr:
        """The formula with these numbers in place of its symbols."""
        numbers = [value if isinstance(value, Expr) else Float(float(value)) for value in values]
        return self.expr.xreplace(dict(zip(self.symbols, numbers, strict=True)))


@cache
def _name(place: int) -> Dummy:
    """Return the symbol for a place, the same for all formulas, so that SymPy's caches work for equal structures."""
    return Dummy(f"c{place}", real=True)


def _decimals(expr: Expr, seen: set[Expr]) -> Iterator[float]:
    """The decimal constants in the order of ``_Renamed``."""
    if isinstance(expr, Float):
        yield float(expr)
    # Equal compound subexpressions share their constants; equal single numbers do not, because two
    # coefficients may have the same value by chance.
    elif expr.args and expr not in seen:
        seen.add(expr)
        for argument in expr.args if _whole_exponent(expr) is None else expr.args[:1]:
            yield from _decimals(argument, seen)


def _whole_exponent(expr: Expr) -> Expr | None:
    """Return the exact exponent of a power if it is written as a decimal but part of the structure; else None."""
    is_decimal = isinstance(expr, Pow) and isinstance(expr.exp, Float)
    return structural_exponent(float(expr.exp)) if is_decimal else None


class _Renamed:
    """Replaces decimal constants of formulas by names, in the order of ``_decimals``."""

    def __init__(self, names: Iterator[Dummy]) -> None:
        self._names = names
        self._seen: dict[Expr, Expr] = {}

    def of(self, expr: Expr) -> Expr:
        if isinstance(expr, Float):
            return next(self._names)
        if not expr.args:
            return expr
        if expr not in self._seen:
            self._seen[expr] = self._rebuilt(expr)
        return self._seen[expr]

    def _rebuilt(self, expr: Expr) -> Expr:
        exponent = _whole_exponent(expr)
        if exponent is not None:
            return Pow(self.of(expr.base), exponent)
        inner = [self.of(argument) for argument in expr.args]
        return expr if all(map(is_, inner, expr.args)) else expr.func(*inner)


def structural_exponent(value: float) -> Expr | None:
    """Return an integer or half-integer exponent exactly, as part of the structure; None if it is to be fitted."""
    doubled = 2.0 * value
    if doubled != round(doubled):
        return None
    return Integer(int(value)) if value == int(value) else Rational(int(doubled), 2)


@lru_cache(maxsize=2048)
def parametrise(expr: Expr) -> Parametrised:
    """Name every decimal constant; integers, fractions, pi and whole exponents stay as they are.

    Results are cached, since fitting, rounding, error bars and the criterion all need the same formula.
    """
    values = np.array(list(_decimals(expr, set())), dtype=np.float64)
    values.flags.writeable = False
    return Parametrised(expr, tuple(map(_name, range(len(values)))), values)


def with_named_constants(expr: Expr) -> tuple[Expr, tuple[str, ...]]:
    """Return the formula with c1, c2, ... in place of its decimal constants, or another letter if columns use c."""
    form = parametrise(expr)
    taken = {symbol.name for symbol in expr.free_symbols}
    numbers = range(1, len(form.symbols) + 1)
    letter = next(letter for letter in ("c", "k", "p", "constant_") if not {f"{letter}{n}" for n in numbers} & taken)
    names = tuple(f"{letter}{n}" for n in numbers)
    return form.substitute([Symbol(name, real=True) for name in names]), names
