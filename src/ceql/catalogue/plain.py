"""Plain models in many columns, for tables too wide for the laws: straight lines and the exponential of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ceql.catalogue.law import PLAIN, Column, Constant, Law, Start
from ceql.choice.shrunk_formula import shrunk_formula
from ceql.choice.shrunk_line import shrunk_line
from ceql.data.dataset import Dataset
from ceql.formula import Formula, LawConstant, NamedLaw

_FAMILIAR = 2  # how well known a straight line in many columns is, as `known` of a law
_NOTHING_LEFT = 1e-9  # share of a column's length below which nothing new is left of it beside the chosen ones
_FEW_RATES = 12  # most columns for which the exponential of a straight line is fitted
_NARROW = 3  # up to this many columns, the catalogue has these models as data


def of_all_columns(data: Dataset, most: int) -> tuple[Law, ...]:
    """The straight line and the exponential in all columns.

    Nothing for a table that is narrow, wider than `most`, or has too few rows to determine a constant per column.
    """
    count = data.x.shape[1]
    if not _NARROW < count <= most or 2 * (count + 1) >= len(data.y):
        return ()
    line = Law(
        "straight line in all columns",
        PLAIN,
        _sum("a", count, "a0"),
        _columns(count),
        _constants("a", count),
        known=_FAMILIAR,
    )
    return (line, *_exponential(data, count))


def of_some_columns(data: Dataset, sizes: Sequence[int]) -> Iterator[tuple[Law, tuple[int, ...], np.ndarray]]:
    """Straight lines in the most telling columns, one for each of these numbers of columns, with fitted constants.

    At each step the column is added that explains most of what the earlier ones leave.
    """
    changing = [k for k in range(data.x.shape[1]) if np.ptp(data.x[:, k]) > 0]
    root = np.sqrt(data.weight)
    scaled = data.x[:, changing] - np.average(data.x[:, changing], axis=0, weights=data.weight)
    left = scaled * root[:, None]
    rest = (data.y - np.average(data.y, weights=data.weight)) * root
    sizes = [size for size in sizes if size <= len(changing) and 2 * (size + 1) < len(data.y)]
    chosen: list[int] = []
    while len(chosen) < max(sizes, default=0):
        lengths = np.linalg.norm(left, axis=0)
        lengths[lengths <= _NOTHING_LEFT * np.linalg.norm(scaled * root[:, None], axis=0)] = np.inf
        gain = np.abs(left.T @ rest) / lengths
        gain[chosen] = -1.0
        best = int(np.argmax(gain))
        if not gain[best] > 0.0:
            return
        chosen.append(best)
        direction = left[:, best] / lengths[best]
        rest = rest - direction * (direction @ rest)
        left = left - np.outer(direction, direction @ left)
        if len(chosen) in sizes:
            places = tuple(changing[k] for k in chosen)
            yield _line(places), places, _fitted_line(data, places)


def shrunk(data: Dataset) -> Formula | None:
    """The ridge-like straight line in all columns; None if there are few columns or too few rows."""
    places = [k for k in range(data.x.shape[1]) if np.ptp(data.x[:, k]) > 0]
    if len(places) <= _NARROW or 2 * (len(places) + 1) >= len(data.y):
        return None
    line = shrunk_line(data.x[:, places], data.y, data.weight)
    law, values, columns = _line(places, ", shrunk together"), line.rounded, tuple(data.names[k] for k in places)
    constants = tuple(
        LawConstant(name, constant.meaning, float(value), float(error))
        for name, constant, value, error in zip(
            law.names_beside(data.names), law.constants, values, line.errors, strict=True
        )
    )
    named = NamedLaw(law.name, law.field, law.text(columns, data.names), constants, law.known)
    return replace(shrunk_formula(law.with_numbers(values, columns), line, data), law=named)


def _line(places: Sequence[int], how: str = "") -> Law:
    count = len(places)
    name = f"straight line in {count} column{'s' if count > 1 else ''}{how}"
    return Law(name, PLAIN, _sum("a", count, "a0"), _columns(count), _constants("a", count), known=_FAMILIAR)


def _fitted_line(data: Dataset, places: Sequence[int]) -> np.ndarray:
    terms = np.column_stack([np.ones(len(data.y)), data.x[:, list(places)]]) * np.sqrt(data.weight)[:, None]
    scale = np.linalg.norm(terms, axis=0)
    return np.linalg.lstsq(terms / scale, data.y * np.sqrt(data.weight), rcond=None)[0] / scale


def _exponential(data: Dataset, count: int) -> tuple[Law, ...]:
    """y = A exp(line), started from the straight line through log(y)."""
    if data.y.min() <= 0 or count > _FEW_RATES:
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
