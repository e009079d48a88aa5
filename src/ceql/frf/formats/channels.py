"""Assigns the columns of a table with several channels to channels, by what their names contain besides the role."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ceql.frf.formats.column_names import without_unit

_WORDS = {
    "real": ("real", "re", "realpart", "realteil"),
    "imag": ("imag", "im", "imaginary", "imaginarypart", "imaginärteil", "imaginaerteil"),
    "magnitude": ("magnitude", "mag", "amplitude", "amp", "abs", "modulus", "betrag"),
    "phase": ("phase", "angle", "arg", "ang"),
    "coherence": ("coherence", "coh", "gamma2", "kohärenz", "kohaerenz"),
}
_ROLE_OF = {word: role for role, words in _WORDS.items() for word in words}
_INNER = re.compile(r"\s*([^\W\d_]+)\s*[\(\[]\s*([\w ./:+-]+)\s*[\)\]]\s*")
_BARS = re.compile(r"\s*\|\s*([\w ./:+-]+)\s*\|\s*")
_PIECE = re.compile(r"[^\W\d_]+2?|\d+")


def role_and_channel(name: str) -> tuple[str, str] | None:
    """The role and the channel in a column's name: `Re(H12)` is the real part of H12. None if there is no role."""
    bare = without_unit(name)
    for text in (name, bare):
        inner, bars = _INNER.fullmatch(text), _BARS.fullmatch(text)
        if inner and inner[1].lower() in ("re", "im", "real", "imag", "abs", "arg"):
            return _ROLE_OF[inner[1].lower()], inner[2].strip()
        if bars:
            return "magnitude", bars[1].strip()
    pieces = _PIECE.findall(bare)
    places = [k for k, piece in enumerate(pieces) if piece.lower() in _ROLE_OF]
    if not places:
        return None
    role = _ROLE_OF[pieces[places[-1]].lower()]
    left = [piece for k, piece in enumerate(pieces) if k != places[-1] and piece.lower() not in ("part", "of")]
    return role, " ".join(left)


def channels_of(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The columns of each channel by role, leaving out channels without a complete response."""
    found: dict[str, dict[str, str]] = {}
    for name in names:
        known = role_and_channel(name)
        if known is not None:
            found.setdefault(known[1], {}).setdefault(known[0], name)
    whole = {c: r for c, r in found.items() if "magnitude" in r or {"real", "imag"} <= set(r)}
    loose = [roles["coherence"] for c, roles in found.items() if c not in whole and "coherence" in roles]
    if len(whole) == 1 and len(loose) == 1:
        next(iter(whole.values())).setdefault("coherence", loose[0])
    return {channel or "1": roles for channel, roles in whole.items()} if len(whole) > 1 else whole
