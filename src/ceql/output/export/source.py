"""Shared by all languages: valid names for columns, the comment at the top, and folding of long lines."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Collection, Iterable, Sequence

from ceql import __version__
from ceql.expression.text.write import write_formula
from ceql.formula import Formula

WIDTH = 100
_LONGEST = 40  # Fortran allows 63 letters
_GREEK = re.compile(r"GREEK (SMALL|CAPITAL) LETTER (\w+)")


def safe_name(name: str, taken: Collection[str], any_case: bool = False) -> str:
    """The name in ASCII letters, with an underscore or a number added if it is already taken."""
    plain = _plain(name)
    refused = {word.lower() for word in taken} if any_case else set(taken)

    def is_free(candidate: str) -> bool:
        return (candidate.lower() if any_case else candidate) not in refused

    candidates = (plain, f"{plain}_", *(f"{plain}_{k}" for k in range(2, len(refused) + 4)))
    return next(candidate for candidate in candidates if is_free(candidate))


def safe_names(names: Iterable[str], reserved: Collection[str], any_case: bool = False) -> tuple[str, ...]:
    """A different valid name for each name. Names that are already valid are kept, whatever comes before them."""
    names = tuple(names)
    taken = set(reserved)
    chosen: dict[int, str] = {}
    for k in sorted(range(len(names)), key=lambda k: _plain(names[k]) != names[k]):
        chosen[k] = safe_name(names[k], taken, any_case)
        taken.add(chosen[k])
    return tuple(chosen[k] for k in range(len(names)))


def _plain(name: str) -> str:
    """The name in ASCII letters, digits and underscores, beginning with a letter: `α` is alpha, `Ø 1 (m)` is O_1_m."""
    letters = "".join(_in_ascii(character) for character in name)
    words = re.sub(r"\W+", "_", letters, flags=re.ASCII).strip("_")[:_LONGEST]
    return words if words[:1].isalpha() else f"x{words}" if words[:1].isdigit() else "x"


def _in_ascii(character: str) -> str:
    if character.isascii():
        return character
    decomposed = unicodedata.normalize("NFKD", character)
    greek = _GREEK.match(unicodedata.name(decomposed[0], ""))
    if greek:
        return greek[2].lower() if greek[1] == "SMALL" else greek[2].capitalize()
    return "".join(part for part in decomposed if part.isascii()) or " "


def quoted(name: str) -> str:
    """The name in quotes on one line, for a comment in any language."""
    return '"' + printable(name.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def header(
    formula: Formula,
    names: Sequence[str],
    arguments: Sequence[str],
    target: str | None,
    mark: str,
    notes: Sequence[str] = (),
    inputs: str = "Inputs",
) -> str:
    """The comment at the top: what is computed from which inputs, how good it is, and which ceql found it."""
    known_as = "value" if target is None else target if target.isidentifier() else quoted(target)
    lines = [
        f"{known_as} = {printable(write_formula(formula.expression))}",
        f"{inputs}: {known_names(names, arguments)}.",
        f"Mean squared error on the training data: {formula.loss:.6g}. Found by ceql {__version__}.",
        *notes,
    ]
    return comment(lines, mark)


def known_names(names: Sequence[str], arguments: Sequence[str]) -> str:
    """The arguments of a function, each with the name of its column if that is different."""
    pairs = zip(arguments, names, strict=True)
    return ", ".join(a if a == name else f"{a} (column {quoted(name)})" for a, name in pairs)


def comment(lines: Iterable[str], mark: str) -> str:
    """The lines as a comment, with long lines wrapped."""
    parts = [part for line in lines for part in _wrapped(line, WIDTH - len(mark) - 1, "  ")]
    return "".join(f"{mark} {part}".rstrip() + "\n" for part in parts)


def folded(text: str, indent: str, more: str = "") -> str:
    """A long expression wrapped at blanks over several lines; `more` ends each line that is continued."""
    lines = _wrapped(text, WIDTH - len(indent) - len(more), "")
    return f"{more}\n".join(indent + line for line in lines)


def is_long(text: str) -> bool:
    return len(text) > WIDTH - 20


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, expand_tabs=False
    ) or [""]
