"""Systems as they are shown: no more digits of a constant than its standard error leaves."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ceql.dynamics.finding import Constant, Fitted
from ceql.dynamics.system import System
from ceql.formula import POLISH, Formula

_SHARE = 0.1  # of its standard error by which rounding may move a constant
_UNKNOWN, _MOST = 4, 10  # digits of a constant without a known error, and of any


def shown_system(fitted: Fitted) -> System:
    """The system with its constants rounded; what is saved and exported keeps all digits."""
    pairs = zip(fitted.system.states, fitted.system.formulas, strict=True)
    formulas = (_rounded(formula, [c for c in fitted.constants if c.state == state]) for state, formula in pairs)
    return replace(fitted.system, formulas=tuple(formulas))


def _rounded(formula: Formula, constants: list[Constant]) -> Formula:
    values = formula.form.values
    by_name = {constant.name: constant for constant in constants}
    errors = [by_name[name].error if (name := f"c{k + 1}") in by_name else math.nan for k in range(len(values))]
    if not len(values):
        return formula
    return formula.at(np.array([rounded(float(v), error) for v, error in zip(values, errors, strict=True)]))


def rounded(value: float, error: float) -> float:
    """The shortest decimal that is within a share of its error."""
    return float(f"{value:.{digits_of(value, error)}g}")


def digits_of(value: float, error: float) -> int:
    if value == 0.0 or not math.isfinite(error):
        return _UNKNOWN
    if error <= POLISH.certain * abs(value):
        return _MOST
    # Rounding moves a number by at most half a unit of its last digit.
    wanted = math.ceil(math.log10(abs(value) / (2.0 * _SHARE * error))) + 1
    return min(max(wanted, 2), _MOST)


def with_error(value: float, error: float) -> str:
    """As many digits as the error leaves, and the error; the number alone where it is exact."""
    if not math.isfinite(error):
        return f"{value:.{_UNKNOWN}g}, which the data do not determine"
    if error <= POLISH.certain * abs(value):
        return f"{value:.{_MOST}g}"
    return f"{rounded(value, error):.15g} ± {float(f'{error:.2g}'):.15g}"
