"""Fits with censored rows, of which only a limit is known: maximum likelihood with normal errors (Tobit).

A known row counts as in least squares. The likelihood of a row below a limit L is the probability Phi((L - f)/sigma)
that the formula gives to it. Near a given formula this is least squares again if such a row gets another value and
another weight, chosen so that the slope and the curvature of the log-likelihood are right. The search works on rows
converted with a first formula; at the end they are converted again with the chosen formula. So its constants are those
of maximum likelihood, and their errors follow from the curvature.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr

from ceql.constraints import NONE, Constraints
from ceql.data.censoring import KNOWN
from ceql.data.dataset import Dataset
from ceql.errors import InputError
from ceql.estimator.effective_variance import fitted_again
from ceql.expression import value_and_jacobian
from ceql.expression.evaluate.residual_problem import Form
from ceql.formula import Formula, constant_formula
from ceql.search.first_formula import first_formula

_LEAST_WEIGHT = 1e-6  # of a censored row for which the formula is far on the right side of the limit
_LEAST_SCALE = 1e-6  # lower bound of the noise, as a share of the spread of y: rows may have no noise at all
_MOST_STEPS, _STANDS_STILL = 2000, 1e-13  # of the maximisation of the likelihood
_ROUNDS = 4  # of converting rows and fitting constants; one is enough unless rounding moves the constants


@dataclass(frozen=True, eq=False)
class Censored:
    """The original data of a fit, where the value of a censored row is its limit."""

    data: Dataset
    codes: np.ndarray

    @property
    def sign(self) -> np.ndarray:
        """For each censored row, 1 if the true value lies below the limit and -1 if it lies above."""
        return -self.codes[self.codes != KNOWN].astype(float)

    def first_rows(self) -> Dataset:
        """The rows converted with a simple first formula, for the search."""
        known = self.codes == KNOWN
        data = self.data
        weight = data.weight[known]
        rows = Dataset(data.x[known], data.y[known], weight / weight.mean(), data.names)
        first = constant_formula(rows) if rows.is_constant else first_formula(rows)
        return self.rows_of(first)

    @np.errstate(all="ignore")
    def rows_of(self, formula: Formula) -> Dataset:
        """The rows with values and weights for which least squares near this formula equals maximum likelihood."""
        values, scale = self.likeliest(formula)
        fitted = _program(formula).value(self.data.x, values)
        censored = self.codes != KNOWN
        sigma = scale / np.sqrt(self.data.weight)
        rate, share = self._slopes(fitted, sigma)
        y, weight = self.data.y.copy(), self.data.weight.copy()
        y[censored] = fitted[censored] - self.sign * sigma[censored] * rate / share
        weight[censored] *= share
        if not (np.isfinite(y).all() and np.isfinite(weight).all()):
            raise InputError("The likelihood of the censored rows has no finite value: check their limits.")
        mean = float(weight.mean())
        noise = None if self.data.noise is None else self.data.noise / mean
        return replace(self.data, y=y, weight=weight / mean, noise=noise, censored=self.codes)

    def _slopes(self, fitted: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slope and curvature of the log-likelihood of the censored rows with respect to the formula, in units of
        sigma.
        """
        censored = self.codes != KNOWN
        z = self.sign * (self.data.y - fitted)[censored] / sigma[censored]
        rate = np.exp(-0.5 * z**2 - 0.5 * np.log(2.0 * np.pi) - log_ndtr(z))
        return rate, np.clip(rate * (rate + z), _LEAST_WEIGHT, 1.0)

    def likeliest(self, formula: Formula) -> tuple[np.ndarray, float]:
        """The constants of maximum likelihood, and the standard deviation of a row of weight one."""
        data, form = self.data, formula.form
        program = _program(formula)
        start = np.asarray(form.values, float)
        least = _LEAST_SCALE * (float(np.std(data.y)) or 1.0)
        size = np.where(np.abs(start) > 0.0, np.abs(start), 1.0)
        known = None if data.noise is None else float(np.sqrt(data.noise))

        def cost(scaled: np.ndarray) -> tuple[float, np.ndarray]:
            values, scale = scaled[: len(start)] * size, known or float(np.exp(scaled[-1])) + least
            fitted, slopes = program(data.x, values)
            value, by_fit, by_scale = self._cost(fitted, scale)
            if not (np.isfinite(value) and np.isfinite(slopes).all()):
                return 1e300, np.zeros(len(scaled))
            gradient = (by_fit @ slopes) * size
            return value, gradient if known else np.append(gradient, by_scale * (scale - least))

        first = start / size
        spread = max(float(np.sqrt(np.mean(self._known_residuals(formula) ** 2))), least)
        begin = first if known else np.append(first, np.log(spread))
        low, high = (np.broadcast_to(end, start.shape) / size for end in (form.low, form.high))
        bounds = [*zip(low, high, strict=True), *([] if known else [(None, None)])]
        steps = {"maxiter": _MOST_STEPS, "ftol": _STANDS_STILL, "gtol": _STANDS_STILL}
        found = minimize(cost, begin, jac=True, method="L-BFGS-B", bounds=bounds, options=steps)
        best = found.x if np.all(np.isfinite(found.x)) and found.fun < 1e300 else begin
        return best[: len(start)] * size, known or float(np.exp(best[-1])) + least

    def _known_residuals(self, formula: Formula) -> np.ndarray:
        known = self.codes == KNOWN
        return (self.data.y - formula(self.data.x))[known] * np.sqrt(self.data.weight[known])

    def _cost(self, fitted: np.ndarray, scale: float) -> tuple[float, np.ndarray, float]:
        """The negative log-likelihood, and its derivatives by the values of the formula and by the scale."""
        sigma = scale / np.sqrt(self.data.weight)
        censored = self.codes != KNOWN
        u = (self.data.y - fitted) / sigma
        value = float(np.sum((0.5 * u**2 + np.log(sigma))[~censored]))
        by_fit = np.where(censored, 0.0, -u / sigma)
        by_scale = float(np.sum((1.0 - u**2)[~censored])) / scale
        if censored.any():
            z = self.sign * u[censored]
            rate = np.exp(-0.5 * z**2 - 0.5 * np.log(2.0 * np.pi) - log_ndtr(z))
            value -= float(np.sum(log_ndtr(z)))
            by_fit[censored] = self.sign * rate / sigma[censored]
            by_scale += float(np.sum(rate * z)) / scale
        return value, by_fit, by_scale


def _program(formula: Formula) -> Any:
    form: Form = formula.form
    return value_and_jacobian(form.expr, formula.symbols, form.symbols)


def at_greatest_likelihood(
    formula: Formula, given: Censored, constraints: Constraints = NONE
) -> tuple[Formula, Dataset]:
    """The formula with the constants of maximum likelihood, and the rows converted with it."""
    rows = given.rows_of(formula)
    for _ in range(_ROUNDS):
        again = fitted_again(formula, rows, constraints)
        rows = given.rows_of(again)
        if str(again) == str(formula):
            break
        formula = again
    return fitted_again(formula, rows, constraints), rows
