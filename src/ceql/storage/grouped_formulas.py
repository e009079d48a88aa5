"""Converts formulas with constants of groups to plain data for model files and back, checking every field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ceql.data import content as fields
from ceql.data.content import ContentError
from ceql.expression import parse_formula
from ceql.expression.text.write import write_formula
from ceql.formula import Formula, make_symbols
from ceql.groups.grouped_formula import Constants, GroupedFormula
from ceql.storage.named_laws import read_law


def written_groups(formula: Formula) -> dict[str, Any]:
    """The field 'groups' of a formula; empty for a formula whose constants are all shared."""
    if not isinstance(formula, GroupedFormula):
        return {}
    kept = {
        "structure": write_formula(formula.structure),
        "shared": list(formula.parts.shared),
        "own": list(formula.parts.own),
    }
    bounds = [[low if np.isfinite(low) else None, high if np.isfinite(high) else None] for low, high in formula.bounds]
    return {"groups": {**kept, **({"bounds": bounds} if bounds else {})}}


def read_grouped(
    row: Mapping[str, Any], names: tuple[str, ...], labels: tuple[str, ...], costs: Mapping[str, int]
) -> GroupedFormula:
    """The formula in a row of a model file; the last of `names` is the column of groups, `labels` are its labels."""
    kept = fields.field(row, "groups")
    if not labels:
        raise ContentError("a formula has constants of groups, but the file names no groups")
    parts = Constants(fields.names(kept, "shared"), fields.names(kept, "own"), labels)
    constants = (*parts.shared, *parts.own)
    if len({*constants, *names}) < len(constants) + len(names):
        raise ContentError("a constant of a formula has the name of another one or of a column")
    structure = parse_formula(fields.text(kept, "structure"), (*names[:-1], *constants), as_written=True)
    pairs = fields.pairs(row, "constants")
    if len(pairs) != parts.count:
        raise ContentError(f"a formula has {len(pairs)} constants, but its groups have {parts.count}")
    values, errors = np.array(pairs, float).reshape(-1, 2).T
    return GroupedFormula.of(
        structure,
        make_symbols(names),
        parts,
        values,
        errors,
        fields.number(row, "loss", least=0.0),
        costs=costs,
        law=read_law(row),
        bounds=_bounds(kept, len(constants)),
    )


def _bounds(kept: Mapping[str, Any], count: int) -> tuple[tuple[float, float], ...]:
    if "bounds" not in kept:
        return ()
    pairs = fields.rows(kept, "bounds")
    is_pair = [isinstance(pair, list) and len(pair) == 2 for pair in pairs]
    if len(pairs) != count or not all(is_pair):
        raise ContentError(f"'bounds' must hold {count} pairs")
    ends = [[-np.inf if low is None else low, np.inf if high is None else high] for low, high in pairs]
    if not all(isinstance(end, int | float) for pair in ends for end in pair):
        raise ContentError("'bounds' must hold numbers or null")
    return tuple((float(low), float(high)) for low, high in ends)
