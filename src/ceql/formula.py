"""A finished formula in the user's units: evaluated, printed, judged, with its constants and poles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy

from ceql.data import Dataset
from ceql.expression import compile_numpy, node_count, parametrise, readable, refit, smallest, snap

_FITTED = 1e-9  # how well the engine's constants are known before they are refitted
_PATIENCE, _GLANCE = 1.0, 0.05  # seconds for the search of a shorter form


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


def polish(raw: sympy.Expr, data: Dataset, symbols: tuple[sympy.Symbol, ...]) -> Formula | None:
    """The smallest equal form with refined and rounded constants; None where it is undefined on a training point."""
    rough = smallest(raw, symbols, data.x, accuracy=_FITTED, time_limit=_PATIENCE)
    refined = refit(rough, symbols, data.x, data.y, data.weight).expr
    snapped = snap(refined, symbols, data.x, data.y, data.weight)
    if len(parametrise(snapped).symbols) < len(parametrise(refined).symbols):
        # A constant that turned out to be 0, 1 or a fraction may allow a shorter form.
        snapped = min(snapped, smallest(snapped, symbols, data.x, time_limit=_PATIENCE), key=node_count)
    return _judged(snapped, data, symbols)


def sketch(raw: sympy.Expr, data: Dataset, symbols: tuple[sympy.Symbol, ...]) -> Formula | None:
    """As `polish` in a fraction of the time, for the rows of a front that nobody chose: constants stay as fitted."""
    rough = smallest(raw, symbols, data.x, accuracy=_FITTED, time_limit=_GLANCE)
    return _judged(refit(rough, symbols, data.x, data.y, data.weight).expr, data, symbols)


def _judged(expression: sympy.Expr, data: Dataset, symbols: tuple[sympy.Symbol, ...]) -> Formula | None:
    value = Formula(expression, symbols, np.inf)(data.x)
    if not np.isfinite(value).all():
        return None
    loss = mean_square(value - data.y, data.weight)
    return Formula(expression, symbols, loss, constants=_constants(expression, symbols, data))


def in_readable_form(formula: Formula, data: Dataset) -> sympy.Expr:
    return readable(formula.expression, formula.symbols, data.x, data.y)


def _constants(expression, symbols, data: Dataset) -> tuple[tuple[float, float], ...]:
    if not parametrise(expression).symbols:
        return ()
    fitted = refit(expression, symbols, data.x, data.y, data.weight, max_iterations=0)
    return tuple(zip(map(float, fitted.values), map(float, fitted.standard_errors), strict=True))
