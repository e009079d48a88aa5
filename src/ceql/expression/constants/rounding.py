"""Rounds constants to the digits that are meaningful given the noise.

A constant known to 0.0021 says nothing beyond its fourth decimal.  But rounding each constant separately would spoil
the fit: near a pole two constants may be far better known together than individually.  So the constants are rounded one
after another, and each time the remaining ones are adjusted according to their correlation with the rounded one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from sympy import Symbol

from ceql.expression.constants.parametrise import parametrise
from ceql.expression.constants.rounding_policy import ROUNDING, RoundingPolicy
from ceql.expression.evaluate.residual_problem import Array, Problem, make_problem
from ceql.expression.symbolic import Expr


@np.errstate(all="ignore")
def round_to_errors(
    expr: Expr,
    symbols: Sequence[Symbol],
    x: Array,
    y: Array,
    weights: Array | None = None,
    policy: RoundingPolicy = ROUNDING,
) -> Expr:
    """Round every decimal constant to two digits of its standard error; exact fits stay unchanged.

    The sum of squares rises by at most a twentieth of the residual variance per constant, so the rounded formula
    predicts the same.
    """
    form = parametrise(expr)
    if not form.symbols:
        return expr
    problem = make_problem(form, symbols, x, y, weights)
    values = rounded_values(problem, form.values, policy)
    return expr if values is form.values else form.substitute(values)


@np.errstate(all="ignore")
def rounded_values(problem: Problem, fitted: Array, policy: RoundingPolicy = ROUNDING) -> Array:
    """Return the rounded constants of a problem; unchanged if the fit is exact or rounding would spoil it."""
    misfit = problem.misfit(fitted)
    freedom = problem.rows - len(fitted)
    if freedom <= 0 or not policy.exact_data * problem.power < misfit < math.inf:
        return fitted
    covariance = bounded_covariance(problem, fitted, misfit / freedom)
    if covariance is None:
        return fitted
    limit = misfit + policy.harmless * len(fitted) * misfit / freedom
    for extra in range(policy.most_extra_digits + 1):
        values = problem.within(rounded_together(fitted, covariance, policy.error_digits + extra))
        if problem.misfit(values) <= limit:
            return values
    return fitted


def bounded_covariance(problem: Problem, values: Array, variance: float) -> Array | None:
    """Return the covariance of least squares, with errors limited to the size of each constant, so that its first
    digits are kept."""
    _, jacobian = problem.linearise(values)
    size = np.where(values == 0.0, 1.0, np.abs(values))
    scaled = jacobian * size / math.sqrt(variance)
    with np.errstate(over="ignore", invalid="ignore"):
        information = scaled.T @ scaled + np.eye(len(values))
    if not np.all(np.isfinite(information)):
        return None
    try:
        return np.linalg.inv(information) * np.outer(size, size)
    except np.linalg.LinAlgError:  # the sizes of the constants differ too much for double precision
        return None


def rounded_together(values: Array, covariance: Array, digits: int) -> Array:
    """Round one constant after another to this many digits of its error, given the ones already rounded."""
    values, covariance = values.copy(), covariance.copy()
    left = set(range(len(values)))
    while left:
        errors = {k: math.sqrt(max(covariance[k, k], 0.0)) for k in left}
        shifts = {k: to_digits_of_error(float(values[k]), errors[k], digits) - values[k] for k in left}
        # Numbers that are short already come first; then the least known, for which the best known can compensate.
        k = min(left, key=lambda k: (shifts[k] != 0.0, -errors[k] / max(abs(values[k]), 1e-300), k))
        left.remove(k)
        new = values[k] + shifts[k]
        if covariance[k, k] > 0.0:
            pull = covariance[:, k] / covariance[k, k]
            others = sorted(left)
            values[others] += pull[others] * shifts[k]
            covariance = covariance - np.outer(pull, covariance[k])
        values[k] = float(f"{new:.15g}")
    return values


def to_digits_of_error(value: float, error: float, digits: int) -> float:
    """Round a value to digits of its error: 1.23456 with the error 0.012 and two digits becomes 1.235."""
    if not (math.isfinite(error) and error > 0.0 and math.isfinite(value)):
        return value
    decimals = digits - 1 - math.floor(math.log10(error))
    return round(value, decimals)
