"""Constants that have names: read from the text of a formula, and fitted within their bounds."""

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

FIRST_STEPS = 50  # of fits of which the best goes on
STEPS = 1000  # of a fit; most end after a few
TINY = 1e-10  # improvement of the misfit at which it ends: a valley may be long


@dataclass(frozen=True, eq=False)
class NamedForm:
    """A formula over constants that have names, each the same number wherever it occurs, and bounds of their own."""

    written: Expr  # which may have the imaginary unit
    symbols: tuple[Symbol, ...]
    values: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, text: str, columns: Sequence[str], names: Sequence[str], *numbers: Array) -> NamedForm:
        """What the text says over columns and constants; the numbers are values, lower and upper bounds."""
        symbols = tuple(Symbol(name, real=True) for name in names)
        return cls(parse_with_unit(text, [*columns, *names]), symbols, *numbers)

    @property
    def expr(self) -> Expr:
        """With real values."""
        return real_form(self.written)

    @property
    def text(self) -> str:
        return write_formula(with_decimals(self.written))

    def program(self, columns: Sequence[Symbol]) -> CompiledJacobian:
        """Its values over these columns, with their derivatives by the constants."""
        return value_and_jacobian(self.expr, columns, self.symbols)

    def substitute(self, values: Array) -> Expr:
        """The formula of real values with these numbers in place of its names."""
        return self.expr.xreplace(self._numbers(values))

    @property
    def shown(self) -> Expr:
        """The formula as people write it, with its numbers."""
        return self.written.xreplace({**self._numbers(self.values), UNIT: I})

    @property
    def named(self) -> Expr:
        """The same with the names of its constants."""
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
    """The constants at the bottom, with all digits unless the fit is exact; None where it is undefined on some row."""
    problem = make_problem(form, symbols, x, y, weights)
    if len(problem.y) < np.count_nonzero(weights):
        return None
    values, misfit = minimise(problem, form.values, steps, TINY)
    if not np.isfinite(misfit):
        return None
    return _short(problem, values, misfit, policy) if misfit <= policy.exact_data * problem.power else values


def _short(problem: Problem, values: Array, misfit: float, policy: RoundingPolicy) -> Array:
    """Exact data pin a constant to many digits, so 2.2999999999999994 can only be 2.3."""
    for digits in range(1, policy.exact_digits + 1):
        short = problem.within(np.array([rounded(float(value), digits) for value in values]))
        if problem.misfit(short) <= max(4.0 * misfit, policy.rounding_floor * problem.power):
            return short
    return values
