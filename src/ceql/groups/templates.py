"""Turns a template into a structure whose constants may be shared or fitted per group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy

from ceql.catalogue.law import Column, Constant, Law, Start
from ceql.errors import InputError, unknown_name
from ceql.expression.text.write import write_formula
from ceql.formula import TEMPLATE
from ceql.groups.policy import GroupPolicy
from ceql.groups.rows import GroupedRows
from ceql.groups.screening import improved, look_at, spread
from ceql.groups.splitting import Structure
from ceql.groups.structures import linear_places
from ceql.templates import Parameter, Template
from ceql.templates.reading import read_frame, symbol
from ceql.templates.sizes import SizePolicy, drawn_values


def template_structure(
    template: Template, rows: GroupedRows, names: Sequence[str], number: int | None, seed: int, policy: GroupPolicy
) -> Structure:
    """The template as a structure, with starting constants for every group; `names` are the per-group parameters."""
    found = {name: p for name, p in template.parameters.items() if p.value is None}
    for name in names:
        if name not in found:
            raise unknown_name("parameter to be found in the template", name, list(found))
    if number is not None and number > len(found):
        raise InputError(f"per_group is {number}, but the template has only {len(found)} parameters to be found.")
    columns = rows.data.names
    frame = read_frame(template, columns)
    law, places = _law(frame, found, template, columns)
    few = rows.thinned(policy.screened_rows, policy.least_rows)
    rng = np.random.default_rng(seed)
    table = dict(zip(columns, few.data.x.T, strict=True))
    drawn = drawn_values(frame, template.parameters, table, few.data.y, policy.template_starts, rng, SizePolicy())
    order = [list(template.parameters).index(name) for name in law.names]
    tried = look_at(law, places, few, drawn[:, order][:, law.nonlinear], policy)
    tried = spread(improved(tried, few, policy.last_steps), few, policy.last_steps)
    if not np.isfinite(tried.misfit.min(axis=0)).all():
        raise InputError(
            "For all values of its parameters that were tried, the template is undefined on some row: check its "
            "logarithms, roots and divisions, or give a parameter bounds."
        )
    low, high = (np.array([getattr(found[name], end) for name in law.names]) for end in ("low", "high"))
    given = tuple(name in names for name in law.names) if names else None
    return Structure(law, places, np.clip(tried.best, low, high), low, high, given, number)


def _law(
    frame: Any, found: dict[str, Parameter], template: Template, columns: Sequence[str]
) -> tuple[Law, tuple[int, ...]]:
    known = {symbol(name): sympy.Float(p.value) for name, p in template.parameters.items() if p.value is not None}
    frame = frame.xreplace(known)
    places = tuple(k for k, name in enumerate(columns) if symbol(name) in frame.free_symbols)
    inner = [f"x{k + 1}" for k in range(len(places))]
    taken = [name for name in inner if name in found]
    if taken:
        raise InputError(
            f"The template has a parameter {taken[0]!r}: with groups give it another name than x1, x2, ..."
        )
    text = write_formula(frame.xreplace({symbol(columns[k]): symbol(x) for k, x in zip(places, inner, strict=True)}))
    linear = linear_places(text, inner, list(found))
    constants = tuple(
        Constant(
            name,
            "parameter",
            p.size,
            None if k in linear and p.sign is None else Start("numbers", numbers=(p.size,)),
            0.0 if p.sign == "+" else None,
            0.0 if p.sign == "-" else None,
        )
        for k, (name, p) in enumerate(found.items())
    )
    law = Law(TEMPLATE, "the user", text, tuple(Column(x, "column", 0.0, 1.0) for x in inner), constants, known=0)
    return law, places
