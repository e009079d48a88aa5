"""Removes one decimal constant from a formula."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sympy import Add, Float, Integer, nan, preorder_traversal, zoo

from ceql.expression.constants.parametrise import parametrise
from ceql.expression.symbolic import Expr


def without_constant(expr: Expr, index: int, together: Sequence[int] = ()) -> Iterator[Expr]:
    """Yield the formula with a constant set to 0, and, unless it is a term of a sum, also set to 1, for refitting.

    ``index`` is its place in the order of ``parametrise``. Constants ``together`` with it are known only up to a common
    factor, as in (a*x + b)/(c*x + d): then it may always be 1, and the others are divided by its former value.
    Forms without a value are left out.
    """
    form = parametrise(expr)
    constant = form.symbols[index]
    value = float(form.values[index])
    scaled = form.values.copy()
    if together and value:
        scaled[list(together)] /= value
        yield from _with_number(form, scaled, index, 1)
    parents = [part for part in preorder_traversal(form.expr) if constant in part.args]
    is_term = bool(parents) and all(isinstance(part, Add) for part in parents)
    for number in (0,) if is_term else (0, 1):
        yield from _with_number(form, form.values, index, number)


def _with_number(form, values, index: int, number: int) -> Iterator[Expr]:
    numbers: list[Expr] = [Float(float(value)) for value in values]
    numbers[index] = Integer(number)
    dropped = form.substitute(numbers)
    if not dropped.has(zoo, nan):
        yield dropped
