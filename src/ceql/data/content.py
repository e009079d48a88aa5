"""Checked reading of fields from untrusted files; errors name the field and what is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

Kind = TypeVar("Kind")
_SHOWN = 40  # characters of a wrong value that are shown


class ContentError(ValueError):
    """A file has invalid content."""


def field(content: Any, name: str) -> Any:
    if not isinstance(content, Mapping):
        raise ContentError(f"{shown(content)} is not a table with the field {name!r}")
    if name not in content:
        raise ContentError(f"the field {name!r} is missing")
    return content[name]


def number(content: Any, name: str, least: float = -math.inf, infinite: bool = False) -> float:
    """Return a number of at least `least`, which may be infinite only if `infinite` is set."""
    value = field(content, name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ContentError(f"{name!r} is {shown(value)}, which is not a number")
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if math.isnan(value) or value < least or (math.isinf(value) and not infinite):
        bound = "" if least == -math.inf else f" of at least {least:g}"
        raise ContentError(f"{name!r} is {value}, which is not a {'' if infinite else 'finite '}number{bound}")
    return value


def whole(content: Any, name: str, most: float = math.inf) -> int:
    """Return a whole number from 0 to `most`."""
    value = field(content, name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        bound = "of at least 0" if most == math.inf else f"from 0 to {most:.0f}"
        raise ContentError(f"{name!r} is {shown(value)}, which is not a whole number {bound}")
    return value


def _reader(kind: type[Kind], otherwise: str) -> Callable[[Any, str], Kind]:
    """Return a function that reads a field of this type; for other types the error ends with these words."""

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
    """Return names, each a text that can be written to a file."""
    for value in rows(content, name):
        if not isinstance(value, str) or not (blank or value.strip()) or not is_text(value):
            raise ContentError(f"{name!r} holds {shown(value)}, which is not a name")
    return tuple(content[name])


def numbers(content: Any, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return finite numbers of that shape, where None stands for any length."""
    listed = rows(content, name)
    try:
        values = np.array(listed, float)
    except (TypeError, ValueError, OverflowError):
        raise ContentError(f"{name!r} is not a table of numbers") from None
    if len(values.shape) != len(shape) or any(w not in (None, n) for n, w in zip(values.shape, shape, strict=True)):
        wanted = " by ".join("any" if n is None else str(n) for n in shape)
        raise ContentError(f"{name!r} has {' by '.join(map(str, values.shape))} numbers in place of {wanted}")
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        place = tuple(bad[0].tolist())
        raise ContentError(f"{name!r} holds {values[place]} in row {place[0]}, which is not a finite number")
    return values


def pairs(content: Any, name: str) -> tuple[tuple[float, float], ...]:
    """Return constants, each a finite value and its error, which is infinite or NaN if the data do not determine it."""
    found = []
    for row in rows(content, name):
        if not isinstance(row, list) or len(row) != 2:
            raise ContentError(f"{name!r} holds {shown(row)}, which is not a value with its error")
        value, error = (number({name: part}, name, infinite=True) if part == part else math.nan for part in row)
        if not math.isfinite(value) or error < 0.0:
            raise ContentError(f"{name!r} holds {value} ± {error}, which is not a constant")
        found.append((value, error))
    return tuple(found)


def is_text(name: str) -> bool:
    """Return whether the text can be written to a file: not if it has lone surrogates, left by a wrong encoding."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def shown(value: Any) -> str:
    """Return the value as short ASCII text."""
    words = ascii(value)
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN - 3]}..."
