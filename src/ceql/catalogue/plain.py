"""Plain models of every column of a table that is too wide for the laws: a straight line and its exponential."""

from __future__ import annotations

import numpy as np

from ceql.catalogue.law import PLAIN, Column, Constant, Law, Start
from ceql.data.dataset import Dataset

_NARROW = 3  # columns up to which the catalogue has these models as data


def of_all_columns(data: Dataset, most: int) -> tuple[Law, ...]:
    """None for a table that is narrow, wider than `most`, or has too few rows to determine a constant per column."""
    count = data.x.shape[1]
    if not _NARROW < count <= most or 2 * (count + 1) >= len(data.y):
        return ()
    line = Law("straight line in all columns", PLAIN, _sum("a", count, "a0"), _columns(count), _constants("a", count))
    return (line, *_exponential(data, count))


def _exponential(data: Dataset, count: int) -> tuple[Law, ...]:
    """y = A exp(line), started from the straight line through log y."""
    if data.y.min() <= 0:
        return ()
    terms = np.column_stack([np.ones(len(data.y)), data.x])
    slopes = np.linalg.lstsq(terms, np.log(data.y), rcond=None)[0][1:]
    rates = tuple(
        Constant(f"k{k + 1}", f"rate of x{k + 1}", float(rate), Start("numbers", numbers=(float(rate),)))
        for k, rate in enumerate(slopes)
    )
    factor = Constant("A", "value at zero", 1.0)
    text = f"A*exp({_sum('k', count)})"
    return (Law("exponential in all columns", PLAIN, text, _columns(count), (factor, *rates)),)


def _sum(letter: str, count: int, first: str = "") -> str:
    terms = [f"{letter}{k + 1}*x{k + 1}" for k in range(count)]
    return " + ".join([first, *terms] if first else terms)


def _columns(count: int) -> tuple[Column, ...]:
    return tuple(Column(f"x{k + 1}", "column", 0.0, 1.0) for k in range(count))


def _constants(letter: str, count: int) -> tuple[Constant, ...]:
    slopes = (Constant(f"{letter}{k + 1}", f"slope of x{k + 1}", 1.0) for k in range(count))
    return Constant(f"{letter}0", "value at zero", 0.0), *slopes
