"""Reads units from the headers of a table, such as ``distance [mm]`` or ``distance (mm)``."""

from __future__ import annotations

import re

_IN_BRACKETS = re.compile(r"^\s*(?P<name>.*?\S)\s*(?:\[(?P<square>[^\[\]]+)\]|\((?P<round>[^()]+)\))\s*$")


def unit_in_header(header: str) -> tuple[str, str] | None:
    """Return the name and the text in brackets after it; None if there are no brackets."""
    match = _IN_BRACKETS.match(header)
    return None if match is None else (match["name"], (match["square"] or match["round"]).strip())
