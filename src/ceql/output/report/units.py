"""Units on a page: those of the columns and of the constants."""

from __future__ import annotations

from ceql.dimensions import Dimensions
from ceql.dimensions.constants import ConstantUnit
from ceql.output.report.markup import escape


def unit_heads(units: Dimensions | None) -> tuple[str, ...]:
    """The headings of the columns for units in a table of constants."""
    if units is None:
        return ()
    return ("unit", "made of") if units.constants else ("unit",)


def unit_cells(own: ConstantUnit, units: Dimensions | None) -> tuple[str, ...]:
    """The cells for the unit of a constant, one for each of `unit_heads`."""
    return tuple(map(escape, (own.unit, own.made_of)[: len(unit_heads(units))]))


def in_words(units: Dimensions) -> str:
    """The units of the columns, and which units constants may have, in words."""
    known = [q for q in (*units.columns, units.target) if q.dimension is not None]
    columns = ", ".join(f"{q.name} in {q.text}" if q.dimension or q.text != "1" else f"{q.name} without" for q in known)
    if units.free_constants:
        return f"{columns}; constants may carry any"
    named = ", ".join(constant.name for constant in units.constants)
    return f"{columns}; constants carry none" + (f", but for {named}" if named else "")
