"""Turns a formula that violates required shapes into a similar one that has them and fits as well as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import sympy

from ceql.expression import compile_numpy, node_count, parametrise, refit, round_to_errors
from ceql.expression.algebra.decimals import rounded
from ceql.expression.evaluate.residual_problem import make_problem
from ceql.shapes.exponents import Exponents
from ceql.shapes.fitting import closed, held_values, ways_to_meet
from ceql.shapes.grid import Array, Frame
from ceql.shapes.policy import POLICY, ShapePolicy
from ceql.shapes.repairs import repaired
from ceql.shapes.shape import Shape
from ceql.shapes.verdicts import is_real, on_grid

_FEWEST, _MOST = 4, 15  # digits tried for constants that must meet a requirement exactly
_GOOD_ENOUGH = 1.5  # a fit with at most this multiple of the original loss ends the attempts
_NOTHING = 1e-9  # share of the largest constant below which one becomes zero


@np.errstate(all="ignore")
def mended(
    expression: Any,
    symbols: Sequence[sympy.Symbol],
    table: tuple[Array, Array, Array],
    shapes: Sequence[Shape],
    exponents: Exponents,
    frame: Frame,
    is_allowed: Callable[[Any], bool],
    policy: ShapePolicy = POLICY,
) -> Any:
    """A formula near this one that satisfies all requirements; None if there is none.

    `table` holds x, y and the weights of the rows.
    """
    symbols = tuple(symbols)
    if not is_real(expression):
        return None
    broken = [shape for shape in shapes if not on_grid(shape, expression, symbols, frame, policy).kept]
    first = _loss(expression, symbols, table)
    best, lowest = None, np.inf
    is_small = node_count(expression) <= policy.largest
    others = repaired(expression, broken, exponents, symbols, frame, policy) if is_small else []
    for form in (expression, *others):
        if not exponents.allow(form) or not is_real(form):
            continue
        found = next(_versions(form, form is expression, symbols, table, shapes, frame, is_allowed, policy), None)
        loss = np.inf if found is None else _loss(found, symbols, table)
        if loss < lowest:
            best, lowest = found, loss
        if lowest <= _GOOD_ENOUGH * first:
            break
    return best


def _versions(
    form: Any,
    is_fitted: bool,
    symbols: tuple[sympy.Symbol, ...],
    table: tuple[Array, Array, Array],
    shapes: Sequence[Shape],
    frame: Frame,
    is_allowed: Callable[[Any], bool],
    policy: ShapePolicy,
) -> Iterator[Any]:
    """Versions of the formula with constants that satisfy the shapes: fitted freely if that suffices, else under
    constraints."""
    if not is_fitted:
        form = refit(form, symbols, *table).expr
        if not is_real(form):
            return
        yield from filter(is_allowed, (round_to_errors(form, symbols, *table), form))
    for values in held_values(parametrise(form), symbols, *table, shapes, frame, policy):
        found = parametrise(form).substitute(values)
        if is_allowed(found):
            yield _tidied(found, symbols, table, shapes, frame, is_allowed, policy)


def _loss(expression: Any, symbols: Sequence[sympy.Symbol], table: tuple[Array, Array, Array]) -> float:
    x, y, weight = table
    loss = float(np.mean(weight * (compile_numpy(expression, list(symbols))(x) - y) ** 2))
    return loss if np.isfinite(loss) else np.inf


def _tidied(
    expression: Any,
    symbols: tuple[sympy.Symbol, ...],
    table: tuple[Array, Array, Array],
    shapes: Sequence[Shape],
    frame: Frame,
    is_allowed: Callable[[Any], bool],
    policy: ShapePolicy,
) -> Any:
    """The formula with as few digits as the errors allow, except for constants that must meet a requirement exactly."""
    short = round_to_errors(expression, symbols, *table)
    for form in filter(is_real, (short, expression)):
        met = _met_exactly(form, symbols, table, shapes, frame, policy)
        for digits in range(_FEWEST, _MOST + 1):
            shorter = _with_digits(form, met, digits, form is expression)
            if is_allowed(shorter):
                return shorter
    return expression


def _met_exactly(
    expression: Any,
    symbols: tuple[sympy.Symbol, ...],
    table: tuple[Array, Array, Array],
    shapes: Sequence[Shape],
    frame: Frame,
    policy: ShapePolicy,
) -> Array:
    form = parametrise(expression)
    problem = make_problem(form, symbols, *table)
    demands = next(ways_to_meet(form, symbols, shapes, frame, policy), ())
    return closed(np.array(form.values), demands, problem) if len(form.values) else np.array(form.values)


def _with_digits(expression: Any, values: Array, digits: int, all_of_them: bool) -> Any:
    """The expression with its changed constants, or all of them, rounded to this many digits; tiny ones become zero."""
    form = parametrise(expression)
    least = _NOTHING * float(np.max(np.abs(values), initial=0.0))
    moved = [
        0.0 if abs(new) <= least else new if new == old and not all_of_them else rounded(float(new), digits)
        for old, new in zip(form.values, values, strict=True)
    ]
    return form.substitute(np.array(moved)).replace(lambda part: part.is_Float and part == 0.0, lambda _: sympy.S.Zero)
