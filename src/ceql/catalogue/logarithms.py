"""Logarithms of laws, for targets such as magnitudes, levels and others that span decades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import sympy
from sympy import expand_log, log

from ceql.catalogue.fitting import LawFit, fit_all, judged, problem_of
from ceql.catalogue.law import Law, Start
from ceql.catalogue.policy import POLICY, CataloguePolicy
from ceql.data.dataset import Dataset
from ceql.expression.constants.refit import minimise

_ANYWHERE = Start("numbers", numbers=(1.0,))  # a placeholder: the fit begins at the fitted constants of the law itself
_WELL_KNOWN = (1, 2, 3)
_COMMON, _OTHER, _UNPRICED = 2, 4, 0


@np.errstate(all="ignore")
def of_logarithms(data: Dataset, laws: Sequence[Law], policy: CataloguePolicy = POLICY) -> tuple[LawFit, ...]:
    """Fits y = log(law) and y = -log(law), for laws that are known beyond their field.

    The law is first fitted to exp(y) or exp(-y) with correspondingly transformed weights, and then its logarithm to y.
    """
    well_known = [law for law in laws if law.known in _WELL_KNOWN and not law.is_plain]
    near = _moderate(data, policy)
    if near is None:
        return ()
    found: list[LawFit | None] = []
    for sign in (1, -1) if well_known else ():
        weight = near.weight * np.exp(-2.0 * sign * near.y)  # converts errors of y to errors of its exponential
        meant = replace(near, y=np.exp(sign * near.y), weight=weight / weight.mean(), noise=None)
        best = [fit for fit in fit_all(meant, policy.for_logarithms, well_known) if not fit.law.is_plain]
        found += [_logarithm_of(fit, sign, data, policy) for fit in best]
    return tuple(fit for fit in found if fit is not None and fit.is_determined)


def _moderate(data: Dataset, policy: CataloguePolicy) -> Dataset | None:
    """The rows whose exponential is neither too large nor too small; None if the target cannot be a logarithm."""
    kept = np.abs(data.y - np.median(data.y)) <= policy.logarithms_reach
    y = data.y[kept]
    if 2 * len(y) < len(data.y) or np.ptp(y) < policy.least_logarithms or np.max(np.abs(y)) > policy.largest_logarithm:
        return None
    return data if kept.all() else replace(data, x=data.x[kept], y=y, weight=data.weight[kept])


def _logarithm_of(fit: LawFit, sign: int, data: Dataset, policy: CataloguePolicy) -> LawFit | None:
    places = [data.names.index(name) for name in fit.columns]
    law = _logarithm(fit.law, sign)
    start = np.array([constant.value for constant in fit.constants])
    values, _ = minimise(problem_of(law, places, data), start, policy.last_steps)
    if not (np.isfinite(values).all() and law.allows(values)):
        return None
    return judged(law, places, values, data)


def _logarithm(law: Law, sign: int) -> Law:
    """The law for the logarithm of this law, written as a sum where it is a product, to avoid overflow.

    It counts as about two steps less well known.
    """
    return replace(
        law,
        name=f"logarithm of {law.name}" if sign > 0 else f"logarithm of 1/({law.name})",
        formula=sympy.sstr(expand_log(sign * log(law.expression), force=True)),
        constants=tuple(replace(constant, start=_ANYWHERE) for constant in law.constants),
        others=(),
        known=_OTHER if law.known <= _COMMON else _UNPRICED,
    )
