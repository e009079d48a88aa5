"""Reads the scripts and style sheets shipped with the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

# In this order: each uses those before it.
COMPONENTS = ("dom.js", "program.js", "axis.js", "chart.js", "groups.js", "constants.js", "details.js", "front.js")
REPORT = (*COMPONENTS, "report.js")
APP = (*COMPONENTS, "table.js", "predictions.js", "app.js")
STYLES = ("style.css", "live.css")
APP_STYLES = (*STYLES, "app.css")


@cache
def asset(name: str) -> str:
    """The text of one asset file."""
    return (files("ceql.output.web") / "assets" / name).read_text(encoding="utf-8")


def joined(names: tuple[str, ...]) -> str:
    """Several scripts or style sheets joined to one text."""
    return "\n".join(asset(name) for name in names)
