"""What a column's name states: the plain name, the unit in brackets, and whether it is a force or a time."""

from __future__ import annotations

import re
from collections.abc import Sequence

FREQUENCY = ("frequency", "freq", "f", "freq.", "frequenz", "fréquence", "hz", "omega", "frequencies", "frequenz f")
_TIME = ("time", "t", "zeit", "temps", "zeit t")
_FORCE = ("force", "input", "excitation", "hammer", "shaker", "kraft", "anregung", "impact")
_OF_FORCE = ("n", "kn", "mn", "lbf", "newton")
SECONDS = {"": 1.0, "s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "min": 60.0}
# A unit in square brackets, or in round ones that may hold one more pair: Real [(m/s²)/N], Real ((m/s²)/N).
_UNIT = re.compile(r"^(?P<name>.*?)[\s_]*(?:\[(?P<square>[^\[\]]*)\]|\((?P<round>(?:[^()]|\([^()]*\))*)\))\s*$")
_WRITTEN_IN_NAME = re.compile(r"^(?P<name>\w+?)_(?P<unit>db|deg|rad|k?hz|[mg]hz)$", re.IGNORECASE)


def name_and_unit(name: str) -> tuple[str, str]:
    """The name in lower case, and the unit as written."""
    match = _UNIT.fullmatch(name.strip())
    plain = match["name"] if match else name
    unit = "" if match is None else (match["square"] if match["square"] is not None else match["round"])
    written = _WRITTEN_IN_NAME.fullmatch(plain.strip())
    if written and not unit:
        plain, unit = written["name"], written["unit"]
    return plain.strip().lower(), unit.strip()


def without_unit(name: str) -> str:
    match = _UNIT.fullmatch(name.strip())
    return match["name"] if match else name


def numbered(name: str, number: int) -> str:
    """The name of a repeated column with its number: the second `Phase [deg]` becomes `Phase 2 [deg]`."""
    bare = without_unit(name).rstrip()
    return f"{bare} {number}{name[len(bare) :]}"


def told_apart(names: Sequence[str]) -> list[str]:
    """The names, with numbers added to repeated ones."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else numbered(name, seen[name]))
    return found


def is_force(name: str) -> bool:
    """Whether the column is a force, by its unit or its first word."""
    plain, unit = name_and_unit(name)
    words = re.findall(r"[^\W\d_]+", plain)
    return unit.lower() in _OF_FORCE or (not unit and plain in _FORCE) or bool(words and words[0] in _FORCE)


def is_frequency(name: str) -> bool:
    return name_and_unit(name)[0] in FREQUENCY and not is_force(name)  # F [N] is a force


def time_column(names: Sequence[str]) -> str | None:
    return next((name for name in names if name_and_unit(name)[0] in _TIME), None)
