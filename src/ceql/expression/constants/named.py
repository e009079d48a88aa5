"""Formulas with named constants: read from text, and fitted within the bounds of the constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sympy import Float, I, Symbol

from ceql.expression.algebra.decimals import rounded
from ceql.expression.complex_parts import UNIT, parse_with_unit, real_form
from ceql.expression.constants.refit import minimise
from ceql.expression.constants.rounding_policy import ROUNDING, RoundingPolicy
from ceql.expression.evaluate.residual_problem import Array, Problem, make_problem
from ceql.expression.symbolic import Expr
from ceql.expression.text.write import with_decimals, write_formula
from ceql.operators.program import CompiledJacobian, value_and_jacobian

FIRST_STEPS = 50  # steps of fits of which only the best continues
STEPS = 1000  # most steps of a fit; most fits end after a few
TINY = 1e-10  # relative improvement of the misfit at which a fit ends; small, as valleys may be long


@dataclass(frozen=True, eq=False)
class NamedForm:
    """A formula over named constants with bounds; a name is the same number wherever it occurs."""

    written: Expr  # may contain the imaginary unit
    symbols: tuple[Symbol, ...]
    values: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, text: str, columns: Sequence[str], names: Sequence[str], *numbers: Array) -> NamedForm:
        """Parse a formula over columns and constants; the numbers are values, lower and upper bounds."""
        symbols = tuple(Symbol(name, real=True) for name in names)
        return cls(parse_with_unit(text, [*columns, *names]), symbols, *numbers)

    @property
    def expr(self) -> Expr:
        """The formula as one with real values."""
        return real_form(self.written)

    @property
    def text(self) -> str:
        return write_formula(with_decimals(self.written))

    def program(self, columns: Sequence[Symbol]) -> CompiledJacobian:
        """Compile the formula over these columns, for values and their derivatives by the constants."""
        return value_and_jacobian(self.expr, columns, self.symbols)

    def substitute(self, values: Array) -> Expr:
        """Return the real formula with these numbers in place of its names."""
        return self.expr.xreplace(self._numbers(values))

    @property
    def shown(self) -> Expr:
        """The formula as people write it, with its numbers."""
        return self.written.xreplace({**self._numbers(self.values), UNIT: I})

    @property
    def named(self) -> Expr:
        """The formula as people write it, with the names of its constants."""
        return self.written.xreplace({UNIT: I})

    def _numbers(self, values: Array) -> dict[Symbol, Expr]:
        return {symbol: Float(float(value)) for symbol, value in zip(self.symbols, values, strict=True)}


@np.errstate(all="ignore")
def fitted_values(
    form: NamedForm,
    symbols: Sequence[Symbol],
    x: Array,
    y: Array,
    weights: Array,
    steps: int = STEPS,
    policy: RoundingPolicy = ROUNDING,
) -> Array | None:
    """Return the best-fitting constants, with all digits unless the fit is exact; None if some row is undefined."""
    problem = make_problem(form, symbols, x, y, weights)
    if len(problem.y) < np.count_nonzero(weights):
        return None
    values, misfit = minimise(problem, form.values, steps, TINY)
    if not np.isfinite(misfit):
        return None
    return _short(problem, values, misfit, policy) if misfit <= policy.exact_data * problem.power else values


def _short(problem: Problem, values: Array, misfit: float, policy: RoundingPolicy) -> Array:
    """Round the constants of an exact fit: exact data determine many digits, so 2.2999999999999994 can only be 2.3."""
    for digits in range(1, policy.exact_digits + 1):
        short = problem.within(np.array([rounded(float(value), digits) for value in values]))
        if problem.misfit(short) <= max(4.0 * misfit, policy.rounding_floor * problem.power):
            return short
    return values
