"""Writes a fitted formula as source text in another language: the program that `predict` runs.

Every programming language is a translation of the same list of instructions (``expression.compile``), so that the
exported code computes what the model predicts, operation by operation. A language consists of a `Dialect` (numbers,
functions, powers) and a frame (a function with its arguments and comments). Only LaTeX is made from the SymPy
expression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ceql.errors import InputError, unknown_name
from ceql.expression import UnsupportedExpression
from ceql.formula import Formula
from ceql.output.export import excel, languages, latex

__all__ = ["LANGUAGES", "write"]

_WRITERS: Mapping[str, Callable[[Formula, Sequence[str], str | None], str]] = {
    **{name: partial(languages.write, name) for name in languages.LANGUAGES},
    "excel": excel.write,
    "latex": latex.write,
}
LANGUAGES = tuple(_WRITERS)


def write(formula: Formula, names: Sequence[str], to: str, target_name: str | None = None) -> str:
    """The formula as text in the language `to`; `names` are its columns, `target_name` is the name of the result."""
    if to not in _WRITERS:
        raise unknown_name("language to export to", to, LANGUAGES)
    try:
        return _WRITERS[to](formula, names, target_name)
    except UnsupportedExpression as error:
        raise InputError(f"The formula cannot be exported: {error}.") from error
