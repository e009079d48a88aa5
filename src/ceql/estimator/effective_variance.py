"""Errors in the inputs: the formula passes them on to y, where they add to its variance (effective variance).

How much is passed on depends on the formula, so weights and constants are found in turn. The values of the inputs stay
as measured: where the formula bends within the errors of x, this is an approximation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ceql.constraints import NONE, Constraints
from ceql.data.dataset import Dataset
from ceql.expression import parametrise
from ceql.expression.constants.named import NamedForm
from ceql.expression.constants.refit import REFIT_STEPS, covariance_of, minimise
from ceql.expression.constants.rounding import rounded_values
from ceql.expression.evaluate.residual_problem import make_problem
from ceql.formula import Formula, NamedLaw, as_it_stands, held, mean_square, refitted

_STEP = 1e-3  # of the numerical derivative, as a share of the error (errors may be known only up to a factor)
_ROUNDS = 6  # of weights and constants in turn; the weights hardly move after two or three


@np.errstate(all="ignore")
def passed_on(formula: Formula, data: Dataset, sigma: np.ndarray, sigma_x: Mapping[str, np.ndarray]) -> np.ndarray:
    """The standard deviation of y minus formula in each row, from the errors of y and those of the columns."""
    variance = sigma**2
    for name, error in sigma_x.items():
        above, below = data.x.copy(), data.x.copy()
        place = data.names.index(name)
        above[:, place] += _STEP * error
        below[:, place] -= _STEP * error
        change = (formula(above) - formula(below)) / (2.0 * _STEP)
        variance = variance + np.where(np.isfinite(change), change, 0.0) ** 2
    return np.sqrt(variance)


def weighed(data: Dataset, sigma: np.ndarray, absolute: bool) -> Dataset:
    """The rows with weights that follow from these errors, and the size of the noise if it is known (`absolute`)."""
    weight = (float(sigma.min()) / sigma) ** 2
    noise = float(sigma.min()) ** 2 / float(weight.mean()) if absolute else None
    return replace(data, weight=weight / weight.mean(), noise=noise)


def in_turn(
    formula: Formula,
    data: Dataset,
    sigma: np.ndarray,
    sigma_x: Mapping[str, np.ndarray],
    absolute: bool = True,
    constraints: Constraints = NONE,
) -> tuple[Formula, Dataset]:
    """The formula fitted with the input errors that it passes on itself, and the data with these weights."""
    for _ in range(_ROUNDS):
        data = weighed(data, passed_on(formula, data, sigma, sigma_x), absolute)
        formula = fitted_again(formula, data, constraints)
    return formula, data


def fitted_again(formula: Formula, data: Dataset, constraints: Constraints = NONE) -> Formula:
    """The formula with its constants and their errors fitted to these data; a named law stays one if possible."""
    form = formula.form
    if isinstance(form, NamedForm):  # a template keeps its form and all digits
        again = held(form, data, formula.symbols, constraints)
        return again or replace(formula, loss=mean_square(data.y - formula(data.x), data.weight))
    again = None if formula.law is None else _law_again(formula, formula.law, data, constraints)
    again = again or refitted(formula.expression, data, formula.symbols, constraints)
    return again or replace(formula, loss=mean_square(data.y - formula(data.x), data.weight))


@np.errstate(all="ignore")
def _law_again(formula: Formula, law: NamedLaw, data: Dataset, constraints: Constraints) -> Formula | None:
    """The refitted law, or None unless each of its constants is exactly one number of the formula, up to its sign."""
    form = parametrise(formula.expression)
    places = [[k for k, value in enumerate(form.values) if abs(value) == abs(c.value)] for c in law.constants]
    if any(len(found) != 1 for found in places) or len({found[0] for found in places}) != len(form.values):
        return None
    problem = make_problem(form, formula.symbols, data.x, data.y, data.weight)
    values = rounded_values(problem, minimise(problem, form.values, REFIT_STEPS)[0])
    again = as_it_stands(form.substitute(values), data, formula.symbols, constraints)
    if again is None:
        return None
    errors = np.sqrt(np.abs(np.diag(covariance_of(problem, values, problem.misfit(values), data.noise))))
    constants = tuple(
        replace(c, value=float(values[k] * np.sign(c.value * form.values[k])), error=float(errors[k]))
        for c, (k,) in zip(law.constants, places, strict=True)
    )
    return replace(again, law=replace(law, constants=constants))
