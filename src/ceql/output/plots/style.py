"""Colours that colour-blind readers can tell apart, always combined with a marker for printing in grey."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# The palette of Okabe and Ito.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = (
    "#000000", "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7",
)  # fmt: skip
GREY = "0.55"
# Poles, log singularities and edges of the domain: colour, dashes and marker, as in a report.
BORDERS = {"pole": (RED, "--", "X"), "log singularity": (RED, "-.", "D"), "edge of the domain": (GREEN, ":", "s")}


@dataclass(frozen=True)
class Look:
    """How a method is drawn, the same in every figure."""

    colour: str
    marker: str


_KNOWN = {
    "ceql": Look(BLUE, "o"),
    "ceql-paper": Look(SKY, "s"),
    "ceql-real": Look(PINK, "D"),
    "eql-div": Look(ORANGE, "v"),
    "sindy": Look(GREEN, "^"),
    "operon": Look(RED, "P"),
    "pysr": Look(YELLOW, "*"),
    "gplearn": Look(GREY, "X"),
    "aaa": Look(BLACK, "+"),
}
_SPARE = (Look(GREEN, "<"), Look(ORANGE, ">"), Look(RED, "p"), Look(PINK, "h"), Look(BLACK, "d"), Look(SKY, "8"))


def looks(methods: Iterable[str]) -> dict[str, Look]:
    """A look for every method; unknown methods share the spare ones."""
    ordered = sorted(set(methods), key=lambda name: (list(_KNOWN).index(name) if name in _KNOWN else len(_KNOWN), name))
    strangers = [name for name in ordered if name not in _KNOWN]
    return {name: _KNOWN.get(name) or _SPARE[strangers.index(name) % len(_SPARE)] for name in ordered}
