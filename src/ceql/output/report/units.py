"""Units on a page: those of the columns, and those of the constants beside them."""

from __future__ import annotations

from ceql.dimensions import Dimensions
from ceql.dimensions.constants import ConstantUnit
from ceql.output.report.markup import escape


def unit_heads(units: Dimensions | None) -> tuple[str, ...]:
    """The heads of what stands beside constants."""
    if units is None:
        return ()
    return ("unit", "made of") if units.constants else ("unit",)


def unit_cells(own: ConstantUnit, units: Dimensions | None) -> tuple[str, ...]:
    """What stands under these heads."""
    return tuple(map(escape, (own.unit, own.made_of)[: len(unit_heads(units))]))


def in_words(units: Dimensions) -> str:
    """The units of the columns, and what numbers may carry."""
    known = [q for q in (*units.columns, units.target) if q.dimension is not None]
    columns = ", ".join(f"{q.name} in {q.text}" if q.dimension or q.text != "1" else f"{q.name} without" for q in known)
    if units.free_constants:
        return f"{columns}; constants may carry any"
    named = ", ".join(constant.name for constant in units.constants)
    return f"{columns}; constants carry none" + (f", but for {named}" if named else "")
