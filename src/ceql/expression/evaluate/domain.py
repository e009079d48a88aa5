"""Where a formula stops having a real value, and what is left of it when some inputs are held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import sympy

from ceql.expression.evaluate.poles import Pole, find_poles, zero_sets
from ceql.expression.symbolic import Expr
from ceql.operators import functions

EDGE = "edge of the domain"


def find_borders(expression: Expr, symbols: Sequence[sympy.Symbol], lower: np.ndarray, upper: np.ndarray) -> list[Pole]:
    """Poles, log singularities and the edges of roots inside the box from `lower` to `upper`."""
    poles = find_poles(expression, symbols, lower, upper)
    edges = zero_sets(((EDGE, inner) for inner in not_negative(expression)), symbols, lower, upper)
    known = {(pole.vanishes, pole.location) for pole in poles}
    return poles + [edge for edge in edges if (edge.vanishes, edge.location) not in known]


def not_negative(expression: Expr) -> Iterator[Expr]:
    """What must not be negative for the formula to have a value: insides of roots and of arc sines."""
    for part in expression.atoms(sympy.Pow):
        inner = part.args[0]
        if inner.free_symbols and part.exp.is_number and not _is_whole(part.exp):
            yield inner
    yield from _margins(expression, closed=True)


def positive_only(expression: Expr) -> Iterator[Expr]:
    """What must be above zero for the formula to have a value: insides of logarithms."""
    return _margins(expression, closed=False)


def _margins(expression: Expr, closed: bool) -> Iterator[Expr]:
    for part in expression.atoms(*functions.kinds()):
        function = functions.of_kind(part.func)
        if function is None or function.domain.is_everything or not part.args[0].free_symbols:
            continue
        if function.domain.closed is closed:
            yield function.domain.margin(part.args[0])


def restricted(expression: Expr, values: Mapping[sympy.Symbol, float]) -> Expr:
    """The formula with these inputs held at these values."""
    return expression.xreplace({symbol: sympy.Float(value) for symbol, value in values.items()})


def _is_whole(exponent: Expr) -> bool:
    return float(exponent).is_integer()
