"""Sines that turn faster than the rows can show, and fitted ones that do not even turn once."""

from __future__ import annotations

import numpy as np

from ceql.choice.vetoes.case import Case
from ceql.expression.oscillations import Oscillation, oscillations


def unseen_frequency(case: Case) -> str | None:
    """About the first such sine, cosine or tangent."""
    sentences = (_sentence(case, oscillation) for oscillation in oscillations(case.formula.expression))
    return next((sentence for sentence in sentences if sentence is not None), None)


def _sentence(case: Case, oscillation: Oscillation) -> str | None:
    argument = case.function(oscillation.argument)(case.places.x)
    if not np.isfinite(argument).all():
        return None
    periods = float(np.ptp(argument)) / oscillation.period
    values = len(np.unique(case.data.x[:, _columns(case, oscillation)], axis=0))
    most = (values - 1) / case.policy.rows_per_period
    if periods > most:
        return f"turns {periods:.4g} times in {oscillation.call}, but {values} different rows show at most {most:.4g}"
    policy = case.policy
    least = policy.least_periods_of_tangent if oscillation.is_tangent else policy.least_periods
    if oscillation.is_fitted and periods < least:
        return f"has a fitted frequency in {oscillation.call}, of which the rows cover only {periods:.2g} of a period"
    return None


def _columns(case: Case, oscillation: Oscillation) -> list[int]:
    symbols = case.formula.symbols
    return [k for k, symbol in enumerate(symbols) if symbol in oscillation.argument.free_symbols]
