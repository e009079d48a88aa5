"""A finished formula in the user's units: evaluated, printed, judged, with its constants and poles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy

from ceql.data import Dataset
from ceql.expression import compile_numpy, node_count, parametrise, readable, refit, smallest, snap


@dataclass(frozen=True, eq=False)
class Formula:
    expression: sympy.Expr
    symbols: tuple[sympy.Symbol, ...]
    loss: float  # weighted mean squared error on the training data
    constants: tuple[tuple[float, float], ...] = ()  # value and standard error, in the order they are printed
    readable: sympy.Expr | None = None

    @cached_property
    def complexity(self) -> int:
        return node_count(self.expression)

    @cached_property
    def _compiled(self):
        return compile_numpy(self.expression, self.symbols)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Values at the rows of x; NaN where the formula is undefined."""
        return np.broadcast_to(self._compiled(x), (len(x),)).astype(float)

    def latex(self) -> str:
        return sympy.latex(self.expression)

    def __str__(self) -> str:
        return str(self.expression)


def make_symbols(names: tuple[str, ...]) -> tuple[sympy.Symbol, ...]:
    """One real symbol per column, whatever it is called: names are never looked up or parsed."""
    return tuple(sympy.Symbol(name, real=True) for name in names)


def mean_square(residual: np.ndarray, weight: np.ndarray) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.mean(weight * residual**2))


def polish(
    raw: sympy.Expr,
    data: Dataset,
    symbols: tuple[sympy.Symbol, ...],
    *,
    time_limit: float = 1.0,
    round_off: bool = True,
) -> Formula | None:
    """The smallest equal form with refined constants, or None where the formula is undefined on a training point."""
    expression = smallest(raw, symbols, data.x, time_limit=time_limit)
    fitted = refit(expression, symbols, data.x, data.y, data.weight)
    expression = fitted.expr
    if round_off:
        expression = snap(expression, symbols, data.x, data.y, data.weight)
        shorter = smallest(expression, symbols, data.x, time_limit=time_limit)
        if node_count(shorter) < node_count(expression):
            expression = shorter
    formula = Formula(expression, symbols, np.inf)
    value = formula(data.x)
    if not np.isfinite(value).all():
        return None
    return Formula(
        expression,
        symbols,
        mean_square(value - data.y, data.weight),
        constants=_constants(expression, symbols, data),
    )


def in_readable_form(formula: Formula, data: Dataset) -> sympy.Expr:
    return readable(formula.expression, formula.symbols, data.x, data.y)


def _constants(expression, symbols, data: Dataset) -> tuple[tuple[float, float], ...]:
    if not parametrise(expression).symbols:
        return ()
    fitted = refit(expression, symbols, data.x, data.y, data.weight, max_iterations=0)
    return tuple(zip(map(float, fitted.values), map(float, fitted.standard_errors), strict=True))
