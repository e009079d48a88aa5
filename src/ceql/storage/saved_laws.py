"""The law that a formula is, as a model file holds it: its names, its text and its constants with their errors."""

from __future__ import annotations

from typing import Any

from ceql.data import content as fields
from ceql.data.content import ContentError
from ceql.formula import LawConstant, NamedLaw

_LEAST_KNOWN = 3  # of the numbers for how widely a law is known


def written_law(law: NamedLaw) -> dict[str, Any]:
    return {
        "names": [law.name, *law.others],
        "field": law.field,
        "text": law.text,
        "known": law.known,
        "symbols": [constant.name for constant in law.constants],
        "meanings": [constant.meaning for constant in law.constants],
        "constants": [[constant.value, constant.error] for constant in law.constants],
    }


def read_law(content: Any) -> NamedLaw:
    """A ContentError for what is no law."""
    names = fields.names(content, "names")
    if not names:
        raise ContentError("'names' of a law is empty")
    name, *others = names
    symbols, meanings = fields.names(content, "symbols"), fields.names(content, "meanings", blank=True)
    pairs = fields.pairs(content, "constants")
    if not len(symbols) == len(meanings) == len(pairs):
        raise ContentError(f"the law {name} has {len(pairs)} constants, but {len(symbols)} symbols")
    constants = tuple(
        LawConstant(symbol, meaning, *pair) for symbol, meaning, pair in zip(symbols, meanings, pairs, strict=True)
    )
    known = fields.whole(content, "known", _LEAST_KNOWN)
    return NamedLaw(name, _text(content, "field"), _text(content, "text"), constants, known, tuple(others))


def _text(content: Any, name: str) -> str:
    """One that can be written to a file."""
    return fields.names({name: [fields.text(content, name)]}, name)[0]
