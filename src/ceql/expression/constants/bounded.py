"""Fits the constants of a formula between two bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sympy import Symbol

from ceql.expression.constants.parametrise import parametrise
from ceql.expression.constants.snapping import minimise_free
from ceql.expression.evaluate.residual_problem import Array, make_problem
from ceql.expression.symbolic import Expr


@np.errstate(all="ignore")
def refit_within(
    expr: Expr,
    symbols: Sequence[Symbol],
    x: Array,
    y: Array,
    weights: Array | None,
    low: float,
    high: float,
) -> Expr | None:
    """The formula with every decimal constant within the bounds; None where that leaves it without a value.

    Constants that want to leave stay on their bound and the others are fitted again, until none wants to.
    """
    form = parametrise(expr)
    if not form.symbols:
        return expr
    values, held = np.clip(form.values, low, high), set[int]()
    problem = make_problem(form, symbols, x, y, weights)
    for _ in range(len(values) + 1):
        fitted, misfit = minimise_free(problem, values, held)
        if not np.isfinite(misfit):
            return None
        values = np.clip(fitted, low, high)
        outside = {int(k) for k in np.flatnonzero(values != fitted)}
        if not outside:
            return form.substitute(values)
        held |= outside
    return None
