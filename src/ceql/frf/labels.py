"""The condition and the repetition of a measurement, read from the name of its file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from ceql.data.formats.delimited import is_number
from ceql.errors import InputError

VARIABLE = "d"
REPETITION = "repetition"
POINT = "point"
# Folders of an undamaged structure rarely contain a number.
ZERO_WORDS = ("healthy", "intact", "undamaged", "baseline", "reference", "pristine")
_NUMBER = r"(?<![\d.])\d+(?:\.\d+)?"
# A number followed by a unit, or preceded by the name of a quantity, is a condition and not a count.
_CONDITION = re.compile(
    r"\d\s?(?:k?N|Nm|[mck]?m|k?g|m?V|K|°?C|deg\w*|bar|%|pct|percent)(?![A-Za-z])|(?:amp|amplitude|force|load|preload|level|"
    r"temp|temperature|damage|volt|voltage|kraft|stufe|loss|length|mass|torque)[\W_]*\d",
    re.IGNORECASE,
)
POINT_WORDS = re.compile(
    r"(?<![a-z])(?:point|pt|node|dof|pos|position|sensor|acc|mic|messpunkt|punkt)(?:\s(?:index|id|nr|no|number))?[\W_]*\d",
    re.I,
)
_PIECES = re.compile(r"(\{\w+\}|\*)")
_FORBIDDEN = {"w"}  # the formula's own name for the frequency


@dataclass(frozen=True)
class Label:
    """What a file name states; `repetition` is None if the name does not number it."""

    conditions: Mapping[str, float] = field(default_factory=dict)
    repetition: int | None = None
    point: str = ""


def by_pattern(names: Sequence[str], pattern: str, words: Mapping[str, float]) -> list[Label]:
    """Labels by a pattern such as `damage_{d}/P-{repetition}-*.txt`; `*` matches anything within a name."""
    expression = _compiled(pattern)
    labels = []
    for name in names:
        match = expression.fullmatch(name) or expression.fullmatch(str(PurePosixPath(name).with_suffix("")))
        if match is None:
            raise InputError(
                f"{name} does not fit the pattern {pattern!r}, so its condition is missing. Change the pattern, leave "
                "the file out, or list the conditions in a table with the column 'file' (--conditions)."
            )
        found = match.groupdict()
        repetition = found.pop(REPETITION, None)
        point = found.pop(POINT, None) or ""
        conditions = {
            key: float(text) if is_number(text) else _from_words(text, name, words) for key, text in found.items()
        }
        labels.append(Label(conditions, None if repetition is None else int(repetition), point))
    return labels


def by_name(names: Sequence[str], top: str, words: Mapping[str, float]) -> tuple[list[Label], list[str]]:
    """Labels without a pattern, and notes on what was assumed: one folder per condition, or one number per file name.

    `top` is the name of the folder that all names are relative to.
    """
    folders = [PurePosixPath(name).parent.name for name in names]
    stems = [PurePosixPath(name).stem for name in names]
    if any(folders):
        levels = [
            _from_words(folder or stem, name, words) for folder, stem, name in zip(folders, stems, names, strict=True)
        ]
        note = f"The condition {VARIABLE} is the number in the name of each folder."
        counted = [re.search(r"\d+", stem) for stem in stems]
        numbered = [int(found[0]) if found else None for found in counted]
        return [Label({VARIABLE: d}, k) for d, k in zip(levels, numbered, strict=True)], [note]
    numbers = [re.findall(_NUMBER, stem) for stem in stems]
    if len(names) == 1:
        return [Label()], []
    if any(len(found) > 1 for found in numbers):
        example = next(stem for stem, found in zip(stems, numbers, strict=True) if len(found) > 1)
        raise InputError(
            f"The name {example!r} holds several numbers, so the condition is unclear. Show where it stands with "
            "--pattern 'name_{d}_{repetition}.txt', or list the conditions in a table with the column 'file' "
            "(--conditions)."
        )
    whole = sorted(int(found[0]) for found in numbers if found and found[0].isdecimal())
    if len(names) >= 3 and whole == list(range(1, len(names) + 1)) and not all(map(_CONDITION.search, stems)):
        note = f"The files are numbered 1 to {len(names)}: these numbers are not conditions."
        level = _level_in(top, words)
        conditions = {} if level is None else {VARIABLE: level}
        return [Label(conditions, int(found[0])) for found in numbers], [note]
    levels = [_from_words(stem, name, words) for stem, name in zip(stems, names, strict=True)]
    return [Label({VARIABLE: d}) for d in levels], [f"The condition {VARIABLE} is the number in the name of each file."]


def check_names(names: Sequence[str]) -> None:
    """Raises `InputError` for names that cannot be used in a formula."""
    for name in names:
        if not name.isidentifier() or name in _FORBIDDEN:
            raise InputError(f"A condition cannot be called {name!r}: use letters, and not w, which is the frequency.")


def parse_words(texts: Sequence[str]) -> dict[str, float]:
    """The levels that words stand for, from texts such as `healthy=0`; words are in lower case."""
    words: dict[str, float] = dict.fromkeys(ZERO_WORDS, 0.0)
    for text in texts:
        word, _, value = text.partition("=")
        try:
            words[word.strip().lower()] = float(value)
        except ValueError:
            raise InputError(f"{text!r} is not a level: write WORD=NUMBER, such as healthy=0.") from None
    return words


def natural_order(name: str) -> list[tuple[int, float, str]]:
    """A key that sorts P-2 before P-10."""
    pieces = re.split(rf"({_NUMBER})", name)
    return [(1, float(p), "") if k % 2 else (0, 0.0, p) for k, p in enumerate(pieces)]


def _compiled(pattern: str) -> re.Pattern[str]:
    def piece(text: str) -> str:
        if text == "*":
            return "[^/]*?"  # non-greedy, so that all digits belong to the number after it
        if text == "{" + REPETITION + "}":
            return rf"(?P<{REPETITION}>\d+)"
        if text == "{" + POINT + "}":
            return rf"(?P<{POINT}>[^/]+?)"
        if _PIECES.fullmatch(text):
            return rf"(?P<{text[1:-1]}>[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|[A-Za-z]+)"
        return re.escape(text)

    names = re.findall(r"\{(\w+)\}", pattern)
    if not names or len(set(names)) != len(names):
        raise InputError(
            f"The pattern {pattern!r} needs a name in braces for each condition, such as {{d}}, each once."
        )
    check_names(names)
    return re.compile("(?:.*/)?" + "".join(map(piece, _PIECES.split(pattern))))


def _level_in(text: str, words: Mapping[str, float]) -> float | None:
    """The last number in a text, or the level of the first known word in it; None if there is neither."""
    numbers = re.findall(_NUMBER, text)
    if numbers:
        return float(numbers[-1])
    return next((words[word] for word in re.findall(r"[a-z]+", text.lower()) if word in words), None)


def _from_words(text: str, name: str, words: Mapping[str, float]) -> float:
    level = _level_in(text, words)
    if level is not None:
        return level
    raise InputError(
        f"{name}: its condition is missing, as {text!r} holds no number and no known word. Use --level WORD=NUMBER, "
        "show with --pattern where the condition stands, or list the conditions in a table (--conditions)."
    )
