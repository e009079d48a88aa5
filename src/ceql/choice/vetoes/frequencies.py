"""Sines that turn faster than the rows can show, along all columns or one, and fitted sines of less than one period."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ceql.choice.vetoes.case import Case, columns_of
from ceql.expression import node_count
from ceql.expression.oscillations import Oscillation, oscillations
from ceql.expression.symbolic import Expr

SLOW = "has a fitted frequency in"  # how the sentence about a sine that does not turn once begins
_SWITCH = 2  # values of a column that is on or off


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
        return (
            f"has {periods:.4g} periods of {oscillation.call} within the rows, but {values} different rows can show "
            f"at most {most:.4g}"
        )
    return _too_slow(case, oscillation, periods) or next(_along_columns(case, oscillation), None)


def _too_slow(case: Case, oscillation: Oscillation, periods: float) -> str | None:
    policy = case.policy
    least = policy.least_periods_of_tangent if oscillation.is_tangent else policy.least_periods
    if not oscillation.is_fitted or periods >= least:
        return None
    return f"{SLOW} {oscillation.call}, of which the rows cover only {periods:.2g} of a period"


def _along_columns(case: Case, oscillation: Oscillation) -> Iterator[str]:
    """Sentences about each column that shifts the phase independently of the other columns.

    If such a column has only five values, a hundred rows show no more of its frequency than five rows would: any other
    frequency with the same phases at these values fits as well. A column with two values is not examined, since nothing
    lies between them.
    """
    columns = _columns(case, oscillation)
    for place in columns if len(columns) > 1 else ():
        symbol = case.formula.symbols[place]
        values = np.unique(case.data.x[:, place])
        if len(values) <= _SWITCH or not _shifts_the_phase(oscillation.argument, symbol, case.policy.most_nodes):
            continue
        points = np.repeat(case.places.x[:1], len(values), axis=0)
        points[:, columns_of(case.formula).index(place)] = values
        periods = float(np.ptp(case.function(oscillation.argument)(points))) / oscillation.period
        most = (len(values) - 1) / case.policy.rows_per_period
        if periods > most:
            yield (
                f"has {periods:.4g} periods of {oscillation.call} along {symbol}, but its {len(values)} different "
                f"values can show at most {most:.4g}"
            )


def _shifts_the_phase(argument: Expr, symbol: Expr, most_nodes: int) -> bool:
    """Whether the argument changes with this column at a rate that does not depend on the others."""
    return node_count(argument) <= most_nodes and argument.diff(symbol).free_symbols <= {symbol}


def _columns(case: Case, oscillation: Oscillation) -> list[int]:
    symbols = case.formula.symbols
    return [k for k, symbol in enumerate(symbols) if symbol in oscillation.argument.free_symbols]
