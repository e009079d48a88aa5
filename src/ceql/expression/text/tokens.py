"""Splits the text of a formula into tokens, each with its position."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST_NUMBER = 40

_NAME = r"[^\W\d]\w*"
_TOKEN = re.compile(
    r"`(?P<quoted>(?:[^`]|``)*)`(?!`)"  # a backtick within a quoted name is written twice
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    rf"|(?P<name>{_NAME})"
    r"|(?P<operator>\*\*|[-+*/(),])"
    r"|(?P<blank>\s+)"
)


class FormulaError(ValueError):
    """A formula text cannot be read; ``position`` counts characters from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} (at character {position + 1})")
        self.position = position


@dataclass(frozen=True)
class Token:
    kind: str  # "number", "name", "quoted", "operator" or "end"
    text: str
    position: int


def written_name(name: str) -> str:
    """Return the name as written in a formula: bare if it is a plain word, otherwise in backticks."""
    return name if re.fullmatch(_NAME, name) else "`" + name.replace("`", "``") + "`"


def tokenise(text: str) -> list[Token]:
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise FormulaError(_unexpected(text[position]), position)
        kind = str(found.lastgroup)
        if kind == "number":
            _check_number(text, found)
        if kind != "blank":
            tokens.append(Token(kind, found[kind].replace("``", "`"), position))
        position = found.end()
    return [*tokens, Token("end", "", len(text))]


def _check_number(text: str, number: re.Match[str]) -> None:
    if len(number[0]) > LONGEST_NUMBER:
        raise FormulaError(f"a number has more than {LONGEST_NUMBER} characters", number.start())
    following = text[number.end() : number.end() + 1]
    if following.isalpha() or following in ("_", "`"):
        raise FormulaError("a number is followed by a name; write * between them", number.end())


def _unexpected(character: str) -> str:
    if character == "`":
        return "a backtick opens a column name but none closes it"
    if character == "^":
        return "'^' is not the power sign here; write ** instead, as in x**2"
    if character in "[{":
        return f"{character!r} is not used in formulas; write ( instead"
    if character in "=<>":
        return f"{character!r} is not used in formulas; give only the right-hand side"
    return f"the character {character!r} has no meaning in a formula; remove it"
