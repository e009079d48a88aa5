"""Sums of terms as equations: which term is isolated, and what the level of the sum is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from math import lcm
from typing import Any

import sympy

from ceql.relations.rows import Rows
from ceql.relations.surface import Equation


class Level(Enum):
    """What the sum of all terms equals."""

    NONE = "zero"
    ONE = "one number"
    OWN = "a number for each group"


@dataclass(frozen=True)
class Draft:
    """coefficients * terms = level, with provisional numbers."""

    terms: tuple[Any, ...]
    coefficients: tuple[float, ...]
    level: Level

    def equations(self, rows: Rows) -> Iterator[Equation]:
        """One equation for each term that may be isolated."""
        yield from (self.solved_for(k, rows) for k, own in enumerate(self.coefficients) if own)

    def solved_for(self, place: int, rows: Rows) -> Equation:
        own = self.coefficients[place]
        pairs = zip(self.terms, self.coefficients, strict=True)
        others = [sympy.Float(-c / own) * term for k, (term, c) in enumerate(pairs) if k != place]
        level = {Level.NONE: 0, Level.ONE: sympy.Float(1.0), Level.OWN: rows.level()}[self.level]
        return Equation(self.terms[place], sympy.Add(level, *others))


def as_products(equation: Equation) -> list[Equation]:
    """A sum of logarithms of columns rewritten as products of powers; empty if it is not such a sum."""
    level, powers = _powers(equation)
    if powers is None:
        return []
    column = equation.target.args[0]
    times = sympy.Integer(1) if level == 0 else sympy.Float(float(sympy.exp(level)))
    plain = Equation(column, times * sympy.Mul(*(base**power for base, power in powers)))
    if not all(power.is_Rational for _, power in powers):
        return [plain]
    common = reduce(lcm, (int(power.q) for _, power in powers), 1)
    whole = [(column, sympy.Integer(common)), *((base, -power * common) for base, power in powers)]
    left = sympy.Mul(*(base**power for base, power in whole if power > 0))
    right = sympy.Mul(*(base**-power for base, power in whole if power < 0))
    return [plain, Equation(left, times**common * right)]


def _powers(equation: Equation) -> tuple[Any, list[tuple[Any, Any]] | None]:
    """The constant and the exponents of log(column) = constant + sum of exponent * log(column); None if it differs."""
    if not isinstance(equation.target, sympy.log) or not equation.target.args[0].is_Symbol:
        return None, None
    level, others = equation.rest.as_coeff_Add()
    powers = []
    for term in sympy.Add.make_args(others):
        times, function = term.as_coeff_Mul()
        if not isinstance(function, sympy.log) or not function.args[0].is_Symbol:
            return None, None
        powers.append((function.args[0], times))
    return level, powers
