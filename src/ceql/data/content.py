"""Fields of a file that anybody may have written, each checked: an error names the field and what is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

Kind = TypeVar("Kind")
_SHOWN = 40  # characters of a wrong value


class ContentError(ValueError):
    """A file holds something that cannot be right."""


def field(content: Any, name: str) -> Any:
    if not isinstance(content, Mapping):
        raise ContentError(f"{shown(content)} stands where a table with the field {name!r} belongs")
    if name not in content:
        raise ContentError(f"the field {name!r} is missing")
    return content[name]


def number(content: Any, name: str, least: float = -math.inf, infinite: bool = False) -> float:
    """A number that is not below `least`; infinity only where it has a meaning."""
    value = field(content, name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ContentError(f"{name!r} is {shown(value)} and no number")
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if math.isnan(value) or value < least or (math.isinf(value) and not infinite):
        bound = "" if least == -math.inf else f" of at least {least:g}"
        raise ContentError(f"{name!r} is {value}, which is no {'' if infinite else 'finite '}number{bound}")
    return value


def whole(content: Any, name: str, most: float = math.inf) -> int:
    """A whole number, 0 or above."""
    value = field(content, name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        bound = "from 0 on" if most == math.inf else f"from 0 to {most:.0f}"
        raise ContentError(f"{name!r} is {shown(value)}, which is no whole number {bound}")
    return value


def _reader(kind: type[Kind], otherwise: str) -> Callable[[Any, str], Kind]:
    """What reads a field of this kind; a value of another one is an error that ends in these words."""

    def read(content: Any, name: str) -> Kind:
        value = field(content, name)
        if not isinstance(value, kind):
            raise ContentError(f"{name!r} is {shown(value)}{otherwise}")
        return value

    return read


flag = _reader(bool, ", which is neither true nor false")
text = _reader(str, " and no text")
rows = _reader(list, " and no list")


def names(content: Any, name: str, blank: bool = False) -> tuple[str, ...]:
    """Names, each a text that can be written to a file."""
    for value in rows(content, name):
        if not isinstance(value, str) or not (blank or value.strip()) or not is_text(value):
            raise ContentError(f"{name!r} holds {shown(value)}, which is no name")
    return tuple(content[name])


def numbers(content: Any, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """Finite numbers in that shape; None stands for any length."""
    listed = rows(content, name)
    try:
        values = np.array(listed, float)
    except (TypeError, ValueError, OverflowError):
        raise ContentError(f"{name!r} is no table of numbers") from None
    if len(values.shape) != len(shape) or any(w not in (None, n) for n, w in zip(values.shape, shape, strict=True)):
        wanted = " by ".join("any" if n is None else str(n) for n in shape)
        raise ContentError(f"{name!r} has {' by '.join(map(str, values.shape))} numbers in place of {wanted}")
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        place = tuple(bad[0].tolist())
        raise ContentError(f"{name!r} holds {values[place]} in row {place[0]}, which is no finite number")
    return values


def pairs(content: Any, name: str) -> tuple[tuple[float, float], ...]:
    """Constants, each a finite value and its error, which is infinite or NaN where the data do not determine it."""
    found = []
    for row in rows(content, name):
        if not isinstance(row, list) or len(row) != 2:
            raise ContentError(f"{name!r} holds {shown(row)} and no value with its error")
        value, error = (number({name: part}, name, infinite=True) if part == part else math.nan for part in row)
        if not math.isfinite(value) or error < 0.0:
            raise ContentError(f"{name!r} holds {value} ± {error}, which is no constant")
        found.append((value, error))
    return tuple(found)


def is_text(name: str) -> bool:
    """Whether it can be written: half a character, as a file with a wrong encoding may leave behind, cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def shown(value: Any) -> str:
    """The value in short, in letters that can be printed anywhere."""
    words = ascii(value)
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN - 3]}..."
