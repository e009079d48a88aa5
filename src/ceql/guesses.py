"""Formulas that the user suspects: read, fitted to the data, and handed to the search as parents.

Design. A guess is text in the grammar of formulas. Names that are no columns are constants to be found, for which many
starting values are tried; numbers are starting values. The best fit of each guess becomes a formula that competes in
the front. Where it fits into the library it is also embedded in the network (`expression.embedding`), stands in the
archive before the first round, and stays a parent of the search until its end, however badly it fits.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import numpy as np

from ceql.constraints import NONE, Constraints
from ceql.data import Dataset
from ceql.errors import CeqlWarning, InputError
from ceql.expression import FormulaError, parse_formula
from ceql.expression.formula_values import NAMED_CONSTANTS
from ceql.expression.loosen import loosened
from ceql.expression.refit import best_of_starts
from ceql.expression.tokens import tokenise
from ceql.formula import Formula, make_symbols, mean_square, polish, sketch
from ceql.operators import functions
from ceql.search import EXACT

_STARTS = 60  # values tried for constants without one
_DECADES = 2.0  # up and down that they span
_ROWS = 400  # on which the starts are compared
_LIKE_A_COLUMN = 0.8  # similarity from which a name is taken for a misspelt column


def starting_formulas(
    guesses: Iterable[str], data: Dataset, constraints: Constraints = NONE, deadline: float = np.inf
) -> list[Formula]:
    """Each guess with its constants fitted to the data: as it is written, and with its whole numbers free.

    After the `deadline` (by time.monotonic) those that are left are fitted in haste. What is undefined on a row of the
    data, or not allowed, is left out, and a warning says so.
    """
    symbols = make_symbols(data.names)
    exact = EXACT * mean_square(data.y, data.weight)
    formulas: list[Formula] = []
    useless: list[str] = []
    for text in dict.fromkeys(guesses):
        is_late = bool(formulas) and time.monotonic() > deadline
        expression, unknown = read_guess(text, data.names)
        found = [] if unknown else [(sketch if is_late else polish)(expression, data, symbols, constraints)]
        if not is_late and not any(formula is not None and formula.loss <= exact for formula in found):
            fitted = _fitted(loosened(expression), unknown, data)
            found += [] if fitted is None else [polish(fitted, data, symbols, constraints)]
        usable = [formula for formula in found if formula is not None]
        formulas += usable
        useless += [] if usable else [text]
    if useless:
        warnings.warn(
            f"Undefined on some rows of the data, or not allowed, and left out of the search: {', '.join(useless)}.",
            CeqlWarning,
            stacklevel=2,
        )
    return formulas


def read_guess(text: Any, names: Sequence[str]) -> tuple[Any, tuple[str, ...]]:
    """The formula, and the names in it that stand for constants."""
    if not isinstance(text, str):
        raise InputError(f"guesses are formulas as text, such as 'a*sin(b*x1)', not {text!r}.")
    try:
        unknown = _unknown_names(text, names)
        expression = parse_formula(text, [*names, *unknown])
    except FormulaError as error:
        raise InputError(f"The guess {text!r} cannot be read: {error}.") from error
    for name in unknown:
        _refuse_misspelt(name, text, names)
    return expression, unknown


def _unknown_names(text: str, names: Sequence[str]) -> tuple[str, ...]:
    tokens = tokenise(text)
    found: dict[str, None] = {}
    for token, after in pairwise(tokens):
        called = after.kind == "operator" and after.text == "("
        meant = token.text in names or token.text in NAMED_CONSTANTS or token.text in functions.spellings()
        if token.kind == "name" and not called and not meant:
            found[token.text] = None
    return tuple(found)


def _refuse_misspelt(name: str, text: str, names: Sequence[str]) -> None:
    alike = [column for column in names if column.lower() == name.lower()]
    if not alike and len(name) > 3:
        alike = get_close_matches(name, names, n=1, cutoff=_LIKE_A_COLUMN)
    if alike:
        raise InputError(
            f"{name!r} in the guess {text!r} is no column and would be a constant to be found. Did you mean the column "
            f"{alike[0]!r}? Otherwise call it something less alike."
        )


def _fitted(expression: Any, unknown: tuple[str, ...], data: Dataset) -> Any:
    """The best of the fits from many starts; None where the guess has no value on the data."""
    few = data.thinned(_ROWS)
    rng = np.random.default_rng(0)
    sizes = 10.0 ** rng.uniform(-_DECADES, _DECADES, (_STARTS, len(unknown)))
    starts = np.where(rng.random(sizes.shape) < 0.5, -sizes, sizes)
    starts[::2] = rng.normal(0.0, 1.0, starts[::2].shape)
    symbols, table = make_symbols(data.names), (few.x, few.y, few.weight)
    starts = starts if unknown else starts[:1]
    fitted, misfit = best_of_starts(expression, make_symbols(unknown), starts, symbols, *table)
    return fitted if np.isfinite(misfit) else None
