"""Converts the law of a formula to plain data for model files and checkpoints and back, checking every field."""

from __future__ import annotations

import math
from typing import Any

from ceql.data import content
from ceql.data.content import ContentError
from ceql.formula import LawConstant, NamedLaw

_LEAST_KNOWN = 4  # the largest value of `known`, which says how widely a law is known


def written_law(law: NamedLaw | None) -> dict[str, Any] | None:
    """The law as plain data; None for a formula that is not a named law."""
    if law is None:
        return None
    constants = [
        {"name": c.name, "meaning": c.meaning, "value": c.value, "error": c.error, **_bounds(c)} for c in law.constants
    ]
    return {
        "name": law.name,
        "field": law.field,
        "formula": law.text,
        "constants": constants,
        "known": law.known,
        "others": list(law.others),
    }


def read_law(row: Any) -> NamedLaw | None:
    """The law in the field 'law' of a formula; None without one, as in older files."""
    kept = row.get("law")
    if kept is None:
        return None
    return NamedLaw(
        words(kept, "name"),
        words(kept, "field"),
        words(kept, "formula"),
        tuple(_constant(constant) for constant in content.rows(kept, "constants")),
        content.whole(kept, "known", _LEAST_KNOWN),
        content.names(kept, "others"),
    )


def _bounds(constant: LawConstant) -> dict[str, float]:
    """The finite bounds of a constant; infinite ones are left out, since JSON has no infinity."""
    bounds = {"low": constant.low, "high": constant.high}
    return {name: bound for name, bound in bounds.items() if math.isfinite(bound)}


def _constant(row: Any) -> LawConstant:
    value = content.number(row, "value")
    error = content.field(row, "error")
    known = math.nan if error != error else content.number(row, "error", least=0.0, infinite=True)
    low, high = (content.number(row, k) if k in row else bound for k, bound in (("low", -math.inf), ("high", math.inf)))
    if not low <= value <= high:
        raise ContentError(f"'value' is {value:g}, which is not within its bounds, {low:g} to {high:g}")
    return LawConstant(words(row, "name"), words(row, "meaning"), value, known, low, high)


def words(row: Any, name: str) -> str:
    """The text in a field; a ContentError if it is blank or not printable."""
    text = content.text(row, name)
    if not text.strip() or not content.is_text(text):
        raise ContentError(f"{name!r} is {content.shown(text)}, which cannot be read as words")
    return text
