"""Replaces the decimal constants of a formula by symbols that can be fitted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sympy import Dummy, Float, Integer, Pow, Rational, Symbol

from ceql.expression.symbolic import Expr


@dataclass(frozen=True)
class Parametrised:
    """``expr`` with its decimal constants replaced by ``symbols``, whose values were ``values``."""

    expr: Expr
    symbols: tuple[Dummy, ...]
    values: np.ndarray

    def substitute(self, values: np.ndarray | list[Expr]) -> Expr:
        """The formula with these numbers in place of its symbols."""
        numbers = [value if isinstance(value, Expr) else Float(float(value)) for value in values]
        return self.expr.xreplace(dict(zip(self.symbols, numbers, strict=True)))


class _Collector:
    def __init__(self) -> None:
        self.symbols: list[Dummy] = []
        self.values: list[float] = []
        self._seen: dict[Expr, Expr] = {}

    def replace(self, expr: Expr) -> Expr:
        if isinstance(expr, Float):
            self.symbols.append(Dummy(f"c{len(self.symbols)}", real=True))
            self.values.append(float(expr))
            return self.symbols[-1]
        if not expr.args or not expr.has(Float):
            return expr
        # Equal compound subexpressions keep sharing their constants; equal lone numbers do not,
        # because two coefficients may have the same value by chance.
        if expr not in self._seen:
            self._seen[expr] = self._rebuild(expr)
        return self._seen[expr]

    def _rebuild(self, expr: Expr) -> Expr:
        if isinstance(expr, Pow) and isinstance(expr.exp, Float):
            structural = structural_exponent(float(expr.exp))
            if structural is not None:
                return Pow(self.replace(expr.base), structural)
        return expr.func(*[self.replace(argument) for argument in expr.args])


def structural_exponent(value: float) -> Expr | None:
    """Integer and half-integer exponents are part of the structure, not numbers to fit."""
    doubled = 2.0 * value
    if doubled != round(doubled):
        return None
    return Integer(int(value)) if value == int(value) else Rational(int(doubled), 2)


@lru_cache(maxsize=256)
def parametrise(expr: Expr) -> Parametrised:
    """Name every decimal constant; integers, fractions, pi and whole exponents stay as they are.

    Fitting, rounding, error bars and the criterion all ask for the same formula, hence the memory.
    """
    collector = _Collector()
    replaced = collector.replace(expr)
    values = np.array(collector.values, dtype=np.float64)
    values.flags.writeable = False
    return Parametrised(replaced, tuple(collector.symbols), values)


def with_named_constants(expr: Expr) -> tuple[Expr, tuple[str, ...]]:
    """The formula with c1, c2, ... in place of its decimal constants; another letter where columns have it."""
    form = parametrise(expr)
    taken = {symbol.name for symbol in expr.free_symbols}
    numbers = range(1, len(form.symbols) + 1)
    letter = next(letter for letter in ("c", "k", "p", "constant_") if not {f"{letter}{n}" for n in numbers} & taken)
    names = tuple(f"{letter}{n}" for n in numbers)
    return form.substitute([Symbol(name, real=True) for name in names]), names
