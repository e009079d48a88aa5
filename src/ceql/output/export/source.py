"""What all languages share: the comment on top, and long lines in pieces."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ceql import __version__
from ceql.expression.text.write import write_formula
from ceql.formula import Formula
from ceql.output.export.identifiers import printable, quoted

WIDTH = 100


def header(
    formula: Formula,
    names: Sequence[str],
    arguments: Sequence[str],
    target: str | None,
    mark: str,
    notes: Sequence[str] = (),
    inputs: str = "Inputs",
) -> str:
    """The comment on top: what is computed, from what, how good it is and by which ceql it was found."""
    known = [a if a == name else f"{a} (column {quoted(name)})" for a, name in zip(arguments, names, strict=True)]
    known_as = "value" if target is None else target if target.isidentifier() else quoted(target)
    lines = [
        f"{known_as} = {printable(write_formula(formula.expression))}",
        f"{inputs}: {', '.join(known)}.",
        f"Mean squared error on the training data: {formula.loss:.6g}. Found by ceql {__version__}.",
        *notes,
    ]
    parts = [part for line in lines for part in _wrapped(line, WIDTH - len(mark) - 1, "  ")]
    return "".join(f"{mark} {part}".rstrip() + "\n" for part in parts)


def folded(text: str, indent: str, more: str = "") -> str:
    """A long expression over several lines, broken where blanks are; `more` ends each line that goes on."""
    lines = _wrapped(text, WIDTH - len(indent) - len(more), "")
    return f"{more}\n".join(indent + line for line in lines)


def is_long(text: str) -> bool:
    return len(text) > WIDTH - 20


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, expand_tabs=False
    ) or [""]
