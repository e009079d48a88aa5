"""Formulas that the user suspects: read, fitted to the data, and used as parents in the search.

Design. A guess is text in the grammar of formulas. Names that are not columns are unknown constants, for which many
starting values are tried; numbers are starting values. The best fit of each guess becomes a formula that competes for
the front. A guess with many constants is fitted with less effort, since it would take the time of the search. Beyond a
limit it is used unfitted, or left out if constants have no value yet, with a warning.

If the guess can be expressed by the network, it is also embedded there (`expression.embedding`): it is in the archive
before the first round and stays a parent until the end of the search, however badly it fits.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import numpy as np

from ceql.choice.exactness import EXACT
from ceql.constraints import NONE, Constraints
from ceql.data.dataset import Dataset
from ceql.errors import CeqlWarning, InputError
from ceql.expression import FormulaError, node_count, parametrise, parse_formula
from ceql.expression.constants.refit import best_of_starts
from ceql.expression.constants.rewrites import loosened
from ceql.expression.text.formula_values import NAMED_CONSTANTS
from ceql.expression.text.tokens import tokenise
from ceql.formula import Formula, as_it_stands, make_symbols, mean_square, polish, refitted, sketch
from ceql.operators import functions
from ceql.search.policy import FinishingPolicy, GuessPolicy

_SHOWN = 60  # characters of a guess in a warning
_LIKE_A_COLUMN = 0.8  # similarity from which a name is taken for a misspelt column


def starting_formulas(
    guesses: Iterable[str],
    data: Dataset,
    constraints: Constraints = NONE,
    sketches: int = FinishingPolicy().levels[0],
    policy: GuessPolicy = GuessPolicy(),
) -> list[Formula]:
    """Each guess with its constants fitted to the data: as written, and with its whole numbers free.

    All guesses together may cost as much as `sketches` sketches of a formula. Further guesses are fitted in haste, or
    left out if their constants are unknown. Guesses that are undefined in a row or not allowed are left out; a warning
    says so.
    """
    found: dict[str, list[Formula]] = {}
    too_long: list[str] = []
    too_many: list[str] = []
    for k, text in enumerate(dict.fromkeys(guesses)):
        in_haste = k > 0 and (k + 1) * policy.sketches_a_guess > sketches
        expression, unknown = read_guess(text, data.names)
        if in_haste and unknown:
            too_many.append(text)
            continue
        if _constants(expression, unknown) > policy.most_constants:
            too_long.append(text)
        found[text] = _formulas(expression, unknown, data, constraints, in_haste, policy)
    _warn_of_long(too_long, policy.most_constants)
    _warn_of_left_out("The time limit does not allow for finding the constants of all guesses; left out", too_many)
    useless = [text for text, formulas in found.items() if not formulas and text not in too_long]
    _warn_of_left_out("Undefined on some rows of the data, or not allowed, and left out of the search", useless)
    return [formula for formulas in found.values() for formula in formulas]


def _formulas(
    expression: Any,
    unknown: tuple[str, ...],
    data: Dataset,
    constraints: Constraints,
    in_haste: bool,
    policy: GuessPolicy,
) -> list[Formula]:
    """The guess as written, and with its whole numbers free if that is not exact."""
    symbols = make_symbols(data.names)

    def finished(guess: Any) -> Formula | None:
        many = _constants(guess, ()) > policy.finished_constants
        is_long = many or node_count(guess) > policy.finished_nodes
        finish = refitted if is_long else sketch if in_haste else polish
        return finish(guess, data, symbols, constraints)

    if _constants(expression, unknown) > policy.most_constants:
        found = [] if unknown else [as_it_stands(expression, data, symbols, constraints)]
        return [formula for formula in found if formula is not None]
    exact = EXACT.hit * mean_square(data.y, data.weight)
    found = [] if unknown else [finished(expression)]
    if not in_haste and not any(formula is not None and formula.loss <= exact for formula in found):
        free = loosened(expression)
        free = free if _constants(free, unknown) <= policy.most_constants else expression
        fitted = _fitted(free, unknown, data, policy)
        found += [] if fitted is None else [finished(fitted)]
    return [formula for formula in found if formula is not None]


def _constants(expression: Any, unknown: tuple[str, ...]) -> int:
    return len(parametrise(expression).symbols) + len(unknown)


def _warn_of_long(texts: Sequence[str], most: int) -> None:
    for text in texts:
        warnings.warn(
            f"The guess {_short(text)} has more than {most} constants, too many to fit before the search. It is used "
            "unchanged if all of them are numbers, and otherwise left out: give only its main terms.",
            CeqlWarning,
            stacklevel=3,
        )


def _warn_of_left_out(reason: str, texts: Sequence[str]) -> None:
    if texts:
        warnings.warn(f"{reason}: {', '.join(map(_short, texts))}.", CeqlWarning, stacklevel=3)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def read_guess(text: Any, columns: Sequence[str]) -> tuple[Any, tuple[str, ...]]:
    """The formula, and the names in it that stand for constants."""
    expression, unknown = read_with_unknown(text, columns, "guess")
    if unknown and not {str(symbol) for symbol in expression.free_symbols} & {*columns}:
        raise InputError(
            f"The guess {text!r} has no column in it, so it would be a constant: {', '.join(unknown)} would be found "
            f"as {'numbers' if len(unknown) > 1 else 'a number'}. Write it with a column: {', '.join(columns)}."
        )
    return expression, unknown


def read_with_unknown(text: Any, names: Sequence[str], what: str) -> tuple[Any, tuple[str, ...]]:
    """A formula in these names and others, and the others; errors call it `what`."""
    if not isinstance(text, str):
        raise InputError(f"guesses are formulas as text, such as 'a*sin(b*x1)', not {text!r}.")
    try:
        unknown = _unknown_names(text, names)
        expression = parse_formula(text, [*names, *unknown])
    except FormulaError as error:
        raise InputError(f"The {what} {text!r} cannot be read: {error}.") from error
    for name in unknown:
        _refuse_misspelt(name, text, names, what)
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


def _refuse_misspelt(name: str, text: str, names: Sequence[str], what: str) -> None:
    alike = [column for column in names if column.lower() == name.lower()]
    if not alike and len(name) > 3:
        alike = get_close_matches(name, names, n=1, cutoff=_LIKE_A_COLUMN)
    if alike:
        raise InputError(
            f"{name!r} in the {what} {text!r} is not a column, so it would be a constant to be found. Did you mean "
            f"the column {alike[0]!r}? If not, give it a less similar name."
        )


def _fitted(expression: Any, unknown: tuple[str, ...], data: Dataset, policy: GuessPolicy) -> Any:
    """The best of the fits from many starts; None if the guess is undefined in a row."""
    few = data.thinned(policy.rows)
    rng = np.random.default_rng(0)
    share = min(1.0, (policy.few_constants / max(_constants(expression, unknown), 1)) ** 3)
    count = max(int(share * policy.starts), policy.fewest_starts)
    iterations = max(int(share * policy.iterations), policy.fewest_iterations)
    sizes = 10.0 ** rng.uniform(-policy.decades, policy.decades, (count, len(unknown)))
    starts = np.where(rng.random(sizes.shape) < 0.5, -sizes, sizes)
    starts[::2] = rng.normal(0.0, 1.0, starts[::2].shape)
    symbols, table = make_symbols(data.names), (few.x, few.y, few.weight)
    starts = starts if unknown else starts[:1]
    fitted, misfit = best_of_starts(expression, make_symbols(unknown), starts, symbols, *table, iterations)
    return fitted if np.isfinite(misfit) else None
