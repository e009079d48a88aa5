"""The sines, cosines and tangents of a formula, with their periods and whether their frequencies are fitted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import pi

import sympy

from ceql.expression.complexity import node_count
from ceql.expression.constants.rounding_policy import ROUNDING
from ceql.expression.symbolic import Expr

_DEGREE = pi / 180  # the frequency of an angle in degrees, which counts as not fitted
_SAME_UNIT = 0.02  # relative deviation within which a frequency counts as that of degrees
_MOST_NODES = 200  # arguments with more nodes are not differentiated and count as fitted if they have a decimal


@dataclass(frozen=True)
class Oscillation:
    """One call of a periodic function."""

    call: Expr
    argument: Expr
    period: float  # period of the call, or of its square if only even powers occur
    is_fitted: bool  # whether a fitted number scales the argument
    is_tangent: bool


def oscillations(expression: Expr) -> Iterator[Oscillation]:
    """Yield each sine, cosine and tangent of columns, in an order that depends only on the formula."""
    calls = sorted(expression.atoms(sympy.sin, sympy.cos, sympy.tan), key=sympy.default_sort_key)
    for call in calls:
        argument = call.args[0]
        if argument.free_symbols:
            tangent = isinstance(call, sympy.tan)
            period = pi if tangent or _only_in_even_powers(expression, call) else 2 * pi
            yield Oscillation(call, argument, period, _has_fitted_scale(argument), tangent)


def _only_in_even_powers(expression: Expr, call: Expr) -> bool:
    """Return whether it occurs only in even powers, which have half its period."""
    mark = sympy.Dummy(positive=True)
    even = {p: mark for p in expression.atoms(sympy.Pow) if p.base == call and p.exp.is_Integer and p.exp % 2 == 0}
    return bool(even) and not expression.xreplace(even).has(call)


def _has_fitted_scale(argument: Expr) -> bool:
    """Return whether the derivative of the argument by some column has a decimal, or a number too long to be a known
    one."""
    if node_count(argument) > _MOST_NODES:
        return argument.has(sympy.Float)
    return any(_is_fitted(argument.diff(symbol)) for symbol in sorted(argument.free_symbols, key=str))


def _is_fitted(rate: Expr) -> bool:
    if rate.is_number and abs(abs(float(rate)) / _DEGREE - 1) < _SAME_UNIT:
        return False
    if rate.has(sympy.Float):
        return True
    long = (max(abs(r.p), r.q) > ROUNDING.largest_denominator for r in rate.atoms(sympy.Rational))
    return not rate.has(sympy.pi) and any(long)
