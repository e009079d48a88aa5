"""Splits the text of a formula into tokens, each with its position."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ceql.expression.text.syntax_errors import FormulaError

LONGEST_NUMBER = 40

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NAME = re.compile(r"[^\W\d]\w*")
_QUOTED = re.compile(r"`((?:[^`]|``)*)`(?!`)")
_OPERATORS = ("**", "+", "-", "*", "/", "(", ")", ",")


@dataclass(frozen=True)
class Token:
    kind: str  # "number", "name", "quoted", "operator" or "end"
    text: str
    position: int


def written_name(name: str) -> str:
    """The name as it stands in a formula: bare if it is a plain word, otherwise in backticks."""
    return name if _NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def tokenise(text: str) -> list[Token]:
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        token, position = _next_token(text, position)
        tokens.append(token)
    return [*tokens, Token("end", "", len(text))]


def _next_token(text: str, position: int) -> tuple[Token, int]:
    if text[position] == "`":
        return _quoted(text, position)
    number = _NUMBER.match(text, position)
    if number:
        return _number(text, number)
    name = _NAME.match(text, position)
    if name:
        return Token("name", name.group(), position), name.end()
    for operator in _OPERATORS:
        if text.startswith(operator, position):
            return Token("operator", operator, position), position + len(operator)
    raise FormulaError(_unexpected(text[position]), position)


def _number(text: str, number: re.Match[str]) -> tuple[Token, int]:
    if len(number.group()) > LONGEST_NUMBER:
        raise FormulaError(f"a number has more than {LONGEST_NUMBER} characters", number.start())
    if number.end() < len(text) and (text[number.end()].isalpha() or text[number.end()] in "_`"):
        raise FormulaError("a number is followed by a name; write * between them", number.end())
    return Token("number", number.group(), number.start()), number.end()


def _quoted(text: str, position: int) -> tuple[Token, int]:
    """A name in backticks; a backtick within it is written twice."""
    quoted = _QUOTED.match(text, position)
    if not quoted:
        raise FormulaError("a backtick opens a column name but none closes it", position)
    return Token("quoted", quoted.group(1).replace("``", "`"), position), quoted.end()


def _unexpected(character: str) -> str:
    if character == "^":
        return "'^' is not the power sign here; write ** instead, as in x**2"
    if character in "[{":
        return f"{character!r} is not used in formulas; write ( instead"
    if character in "=<>":
        return f"{character!r} is not used in formulas; give only the right-hand side"
    return f"the character {character!r} has no meaning in a formula; remove it"
