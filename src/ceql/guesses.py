"""Formulas that are known before the search: fitted to the data, they compete with what it finds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable

import numpy as np

from ceql.data import Dataset
from ceql.errors import CeqlWarning, InputError
from ceql.expression import FormulaError, parse_formula, refit
from ceql.expression.loosen import loosened
from ceql.formula import Formula, make_symbols, mean_square, polish, sketch
from ceql.search import EXACT


def starting_formulas(guesses: Iterable[str], data: Dataset, deadline: float = np.inf) -> list[Formula]:
    """Each guess with its constants fitted to the data: as it is written, and with its whole numbers free.

    After the `deadline` (by time.monotonic) those that are left are fitted in haste. What is undefined on a row of the
    data is left out, and a warning says so.
    """
    symbols = make_symbols(data.names)
    exact = EXACT * mean_square(data.y, data.weight)
    formulas: list[Formula] = []
    undefined: list[str] = []
    for text in dict.fromkeys(guesses):
        is_late = bool(formulas) and time.monotonic() > deadline
        expression = _read(text, data.names)
        formula = (sketch if is_late else polish)(expression, data, symbols)
        if formula is None:
            undefined.append(text)
            continue
        formulas.append(formula)
        if not is_late and formula.loss > exact and (free := loosened(expression)) != expression:
            fitted = refit(free, symbols, data.x, data.y, data.weight).expr  # polish would make 1.0 a 1 at once
            formulas.extend(f for f in [polish(fitted, data, symbols)] if f is not None)
    if undefined:
        warnings.warn(
            f"Undefined on some rows of the data and left out of the search: {', '.join(undefined)}.",
            CeqlWarning,
            stacklevel=2,
        )
    return formulas


def _read(text: str, names: tuple[str, ...]):
    try:
        return parse_formula(text, names)
    except FormulaError as error:
        raise InputError(f"The formula {text!r} cannot be used to start from: {error}.") from None
