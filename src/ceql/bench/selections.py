"""Parses what users type: names, with a suggestion for misspelt ones, ranges of seeds, and levels."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ceql.bench.errors import BenchError
from ceql.errors import nearest


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """A message that `name` is not one of `known`, with the nearest of them and the list."""
    known = list(known)
    return f"Unknown {kind} {name!r}.{nearest(name, known)} Known: {', '.join(known)}."


def split_names(text: str) -> tuple[str, ...]:
    """The names in a comma-separated list, in order, without blanks and repeats."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def parse_seeds(text: str) -> tuple[int, ...]:
    """The seeds in a text such as `0-4` or `0,3,7-9`."""
    seeds: dict[int, None] = {}
    for part in split_names(text):
        seeds.update(dict.fromkeys(_seed_range(part, text)))
    if not seeds:
        raise BenchError(f"No seeds in {text!r}. Write a range such as 0-4 or a list such as 0,3,7.")
    return tuple(seeds)


def parse_levels(text: str, kind: str = "levels of noise") -> tuple[float, ...]:
    """The fractions, such as noise levels, in a text such as `0.01` or `0,0.001,0.01`."""
    levels: dict[float, None] = {}
    for part in split_names(text):
        try:
            level = float(part)
        except ValueError:
            level = math.nan
        if not 0.0 <= level < math.inf:
            raise BenchError(f"Cannot read the {kind} {text!r}: {part!r} is not a fraction such as 0.01.")
        levels[level] = None
    if not levels:
        raise BenchError(f"No {kind} in {text!r}. Write one such as 0.01, or several such as 0,0.001,0.01.")
    return tuple(levels)


def _seed_range(part: str, whole: str) -> range:
    first, dash, last = part.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        raise BenchError(f"Cannot read the seeds {whole!r}: {part!r} is neither a number nor a range such as 0-4.")
    low, high = int(first), int(last or first)
    if high < low:
        raise BenchError(f"Cannot read the seeds {whole!r}: {part!r} runs backwards, write {high}-{low}.")
    return range(low, high + 1)
