"""Judges a formula found in noisy data: its structure, its error in units of the noise, its error bars.

The structure is *right* if the found family of formulas, which is the formula with its constants set free, contains the
truth and has no more independent constants than the truth. It contains the truth if a refit to data without noise
agrees with them to rounding, at the training points and at new ones. Independent constants are counted by the rank of
the derivatives, so (a x + b)/(c x + d) has three. Whole numbers count as constants if the family does not contain the
truth otherwise: a constant rounded to 3 that should be 2.94 is a wrong number, not a wrong structure.

The *true value* of a constant is the value that this refit gives it: in whatever form a formula was reported, its
constants are compared with what they would be without noise. A constant that is reported as a whole number has no error
bar, so it is covered only if it has exactly this value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from ceql.bench.definitions import Problem, Samples
from ceql.bench.points import columns, noise_deviation, target
from ceql.expression import compile_numpy, parametrise, parse_formula, refit, value_and_jacobian

_BARS = 2.0  # standard errors within which the truth should lie
_CONTAINED = 1e-6  # largest deviation from the truth after a refit without noise, relative to the value
_RANK = 1e-9  # singular values below this fraction of the largest belong to constants that do not matter
_SAME = 1e-6  # relative deviation below which a whole number is the true constant


@dataclass(frozen=True)
class NoiseScore:
    """The verdict on a formula found in noisy data.

    `train_error` and `interp_error` are root mean squares of found minus true value over the standard deviation of the
    noise, where the formula is defined; `undefined` is the share of interpolation points where it is not, such as those
    near the end of a root's domain. `median_error` is the median size at the interpolation points, which poles hardly
    affect.

    `covered` of `constants` constants have their true value within two standard errors; both are 0 if the structure is
    wrong, since its constants have no true values then.
    """

    right: bool
    train_error: float
    interp_error: float
    median_error: float
    undefined: float
    constants: int
    covered: int


def noise_score(
    expression: Any, reported: Sequence[tuple[float, float]], problem: Problem, samples: Samples
) -> NoiseScore:
    """Judges a formula with its reported (value, standard error) pairs, in the order of `parametrise`."""
    symbols = columns(samples.names)
    truth = target(problem)
    width = len(problem.variables)
    y_train = truth(samples.X_train[:, :width])
    sigma = noise_deviation(problem, y_train)
    function = compile_numpy(expression, symbols)
    train = (function(samples.X_train) - y_train) / sigma
    interp = (function(samples.X_interp) - samples.y_interp) / sigma
    true_constants = _true_constants(expression, problem, samples, y_train)
    right = true_constants is not None
    covered = _covered(expression, reported, true_constants) if true_constants is not None else []
    undefined = float(np.mean(~np.isfinite(interp)))
    median = float(np.median(np.where(np.isfinite(interp), np.abs(interp), np.inf)))
    return NoiseScore(
        right, _rms(train), _rms(interp), median, undefined, constants=len(covered), covered=int(sum(covered))
    )


def _rms(values: np.ndarray) -> float:
    values = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(values**2))) if len(values) else float("inf")


def independent_constants(expression: Any, symbols: Sequence[Any], x: np.ndarray) -> int:
    """The number of independent constants: the rank of the derivatives with respect to the constants."""
    form = parametrise(expression)
    if not form.symbols:
        return 0
    _, jacobian = value_and_jacobian(form.expr, symbols, form.symbols)(x, form.values)
    jacobian = jacobian[np.isfinite(jacobian).all(axis=1)]
    if not len(jacobian):
        return len(form.symbols)  # an exponential overflows everywhere, so nothing is known
    size = np.linalg.norm(jacobian, axis=0)
    singular = np.linalg.svd(jacobian / np.where(size > 0, size, 1.0), compute_uv=False)
    return int(np.sum(singular > _RANK * singular[0]))


def with_free_integers(expression: Any) -> Any:
    """The formula with whole numbers, fractions and multiples of pi as decimals, except exponents and plain signs."""
    if expression.is_number and expression.is_real and not expression.is_Float:
        return sympy.Float(float(expression))
    if expression.is_Pow:
        return sympy.Pow(with_free_integers(expression.base), expression.exp)
    if not expression.args:
        return expression
    signs = (-1,) if expression.is_Mul else ()
    return expression.func(*[a if a in signs else with_free_integers(a) for a in expression.args])


def _true_constants(
    expression: Any, problem: Problem, samples: Samples, y: np.ndarray
) -> list[tuple[Any, float]] | None:
    """Each number of the formula with its value without noise; None if the family does not contain the truth."""
    symbols = columns(samples.names)
    most = independent_constants(parse_formula(problem.expression, samples.names), symbols, samples.X_interp)
    for family in (expression, with_free_integers(expression)):
        fitted = refit(family, symbols, samples.X_train, y, max_iterations=200)
        contained = agrees(fitted.expr, symbols, samples.X_train, y) and agrees(
            fitted.expr, symbols, samples.X_interp, samples.y_interp
        )
        # Counted at the found constants: in the fitted formula, a superfluous one has vanished.
        if contained and independent_constants(family, symbols, samples.X_interp) <= most:
            return list(zip(parametrise(family).values, fitted.values, strict=True))
    return None


def agrees(expression: Any, symbols: Sequence[Any], x: np.ndarray, y: np.ndarray) -> bool:
    """Whether a formula has the values `y` up to rounding."""
    error = np.abs(compile_numpy(expression, symbols)(x) - y)
    return bool(np.all(error <= _CONTAINED * (np.abs(y) + float(np.median(np.abs(y))))))


def _covered(
    expression: Any, reported: Sequence[tuple[float, float]], true_constants: list[tuple[Any, float]]
) -> list[bool]:
    bars = list(reported)
    covered = []
    for value, truth in true_constants:
        # Both lists follow the order in which the formula is read; freed whole numbers come in between.
        if bars and np.isclose(bars[0][0], value, rtol=1e-12):
            value, error = bars.pop(0)
            covered.append(abs(value - truth) <= _BARS * error)
        else:
            covered.append(abs(value - truth) <= _SAME * abs(truth))
    return covered
