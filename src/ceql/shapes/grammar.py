"""Reads what is asked of the shape of a formula.

    shape  = claim [ "for" range { "and" range } ]
    claim  = "positive" | "negative" | "f" ( ">" | ">=" | "<" | "<=" ) NUMBER
           | ( "increasing" | "decreasing" | "convex" | "concave" | "even" | "odd" ) "in" COLUMN
           | "symmetric" "in" COLUMN "and" COLUMN
           | "f" "->" ( NUMBER | "finite" ) "as" COLUMN "->" NUMBER
           | "f" "(" COLUMN "=" NUMBER { "," COLUMN "=" NUMBER } ")" "=" NUMBER
           | "pole" "at" COLUMN "=" NUMBER
           | "no" "poles"
    range  = COLUMN "in" "[" NUMBER "," NUMBER "]"

A NUMBER may be inf or -inf as a limit or where one is. A COLUMN that is no plain word stands in double quotes. The text
is cut into words and read from left to right; nothing of it is run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ceql.errors import InputError, nearest
from ceql.shapes.shape import FINITE, IN_A_COLUMN, Kind, Shape

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|-inf"
_WORD = re.compile(rf'\s*(?:"[^"]*"|->|>=|<=|[][()=,<>]|{_NUMBER}|[^\W\d]\w*)')
_LONGEST = 1000  # letters
_FIRST_WORDS = ("positive", "negative", "f", *(kind.value for kind in IN_A_COLUMN), "symmetric", "pole", "no")
_EXAMPLES = "'increasing in x', 'f -> 0 as x -> inf', 'f(x=0) = 1', 'positive for x in [0, 10]'"


def read_shape(text: str) -> Shape:
    """Parses the text of a shape; error messages say where it stops making sense."""
    if not isinstance(text, str):
        raise InputError(f"A shape is a text, such as {_EXAMPLES}, not {text!r}.")
    if len(text) > _LONGEST:
        raise InputError(
            f"A shape of {len(text)} characters is too long: state one property at a time, such as {_EXAMPLES}."
        )
    reader = _Reader(text, _words(text))
    shape = reader.claim()
    shape = Shape(**{**vars(shape), "ranges": reader.ranges()})
    reader.end()
    return _checked(shape, text)


def _words(text: str) -> list[str]:
    words, place = [], 0
    while text[place:].strip():
        match = _WORD.match(text, place)
        if match is None:
            raise InputError(f"The shape {text!r} cannot be read from {text[place:].strip()!r} on. {_hint()}")
        words.append(match.group().strip())
        place = match.end()
    return words


def _hint() -> str:
    return f"Shapes are such as {_EXAMPLES}."


class _Reader:
    """Parses the words of a text from left to right."""

    def __init__(self, text: str, words: Sequence[str]) -> None:
        self._text, self._words, self._place = text, words, 0

    @property
    def _next(self) -> str:
        return self._words[self._place] if self._place < len(self._words) else ""

    def _take(self) -> str:
        word = self._next
        self._place += 1
        return word

    def _wrong(self, wanted: str) -> InputError:
        found = f"{self._next!r} stands where" if self._next else "it ends where"
        return InputError(f"The shape {self._text!r} cannot be read: {found} {wanted} should be. {_hint()}")

    def _expect(self, *words: str) -> str:
        if self._next not in words:
            raise self._wrong(" or ".join(map(repr, words)))
        return self._take()

    def _number(self, wanted: str = "a number") -> float:
        word = self._next
        if word not in ("inf", "-inf") and not re.match(r"[+-]?[\d.]", word):
            raise self._wrong(wanted)
        return float(self._take())

    def _column(self) -> str:
        word = self._next
        if word.startswith('"') and len(word) > 2:
            return self._take()[1:-1]
        if not word.isidentifier():
            raise self._wrong("the name of a column")
        return self._take()

    def claim(self) -> Shape:
        first = self._next
        if first not in _FIRST_WORDS:
            near = nearest(first, _FIRST_WORDS)
            raise InputError(
                f"The shape {self._text!r} begins with {first!r}, which no shape begins with.{near} {_hint()}"
            )
        self._take()
        if first in ("positive", "negative"):
            return Shape(Kind.ABOVE if first == "positive" else Kind.BELOW, strict=True)
        if first == "no":
            self._expect("poles")
            return Shape(Kind.NO_POLES)
        if first == "pole":
            self._expect("at")
            column = self._column()
            self._expect("=")
            return Shape(Kind.POLE, (column,), place=self._number())
        if first == "f":
            return self._of_values()
        self._expect("in")
        column = self._column()
        if first != "symmetric":
            return Shape(Kind(first), (column,))
        self._expect("and")
        return Shape(Kind.SYMMETRIC, (column, self._column()))

    def _of_values(self) -> Shape:
        sign = self._expect(">", ">=", "<", "<=", "->", "(")
        if sign == "->":
            value = FINITE if self._next == "finite" and self._take() else self._number("a number or 'finite'")
            self._expect("as")
            column = self._column()
            self._expect("->")
            return Shape(Kind.LIMIT, (column,), value, self._number())
        if sign != "(":
            return Shape(Kind.ABOVE if ">" in sign else Kind.BELOW, value=self._number(), strict="=" not in sign)
        point: list[tuple[str, float]] = []
        while True:
            column = self._column()
            self._expect("=")
            point.append((column, self._number()))
            if self._expect(",", ")") == ")":
                break
        self._expect("=")
        return Shape(Kind.POINT, value=self._number(), point=tuple(point))

    def ranges(self) -> tuple[tuple[str, float, float], ...]:
        found: list[tuple[str, float, float]] = []
        word = "for"
        while self._next == word:
            self._take()
            column = self._column()
            self._expect("in")
            self._expect("[")
            low = self._number()
            self._expect(",")
            high = self._number()
            self._expect("]")
            found.append((column, low, high))
            word = "and"
        return tuple(found)

    def end(self) -> None:
        if self._next:
            raise self._wrong("its end")


def _checked(shape: Shape, text: str) -> Shape:
    """The shape, after checks that raise `InputError` for what cannot be meant."""
    for name, low, high in shape.ranges:
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise InputError(f"The shape {text!r}: a range of {name!r} has two finite ends, the lower first.")
    ranged = [name for name, *_ in shape.ranges]
    pointed = [name for name, _ in shape.point]
    if len(set(ranged)) < len(ranged) or len(set(pointed)) < len(pointed) or set(ranged) & set(pointed):
        raise InputError(f"The shape {text!r} names a column twice.")
    if len(set(shape.columns)) < len(shape.columns):
        raise InputError(f"The shape {text!r}: name two different columns.")
    numbers = [number for _, number in shape.point]
    if shape.kind in (Kind.ABOVE, Kind.BELOW, Kind.POINT, Kind.POLE):
        numbers += [shape.value, shape.place]
    if not all(map(math.isfinite, numbers)):
        raise InputError(f"The shape {text!r}: infinity may stand in a limit alone.")
    if shape.kind in (Kind.EVEN, Kind.ODD):
        for name, low, high in shape.ranges:
            if name in shape.columns and low != -high:
                raise InputError(f"The shape {text!r}: the range of {name!r} must reach as far down as up.")
    if shape.kind in (Kind.LIMIT, Kind.POLE) and set(shape.columns) & set(ranged):
        raise InputError(f"The shape {text!r}: {shape.columns[0]!r} goes to a limit, so it cannot have a range.")
    return shape
