"""A formula as a function of its constants, for sliders; they have the names of its law, or c1, c2 and so on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ceql.data.dataset import Dataset
from ceql.dimensions import Dimensions
from ceql.dimensions.constants import ConstantUnit
from ceql.discovery import constant_units
from ceql.expression.constants.named import NamedForm
from ceql.expression.constants.parametrise import with_named_constants
from ceql.formula import Formula, NamedLaw, constants_of, make_symbols
from ceql.groups.grouped_formula import GroupedFormula
from ceql.operators.program import ProgramBuilder, UnsupportedExpression, run

_ROWS = 200  # on which the text of a law is compared with the fitted formula
_SAME = 1e-6  # relative
_NO_UNIT = ConstantUnit("")


@dataclass(frozen=True, eq=False)
class Adjustable:
    """A formula with named constants, their values, and its instructions; `program` is None if there are none."""

    named: Any
    constants: tuple[dict[str, Any], ...]
    program: list[list[Any]] | None


def adjustable(formula: Formula, data: Dataset, units: Dimensions | None = None) -> Adjustable:
    if isinstance(formula, GroupedFormula):
        return _of_groups(formula)
    law = formula.law
    if law is not None and (form := _form_of(law, formula, data)) is not None:
        carried = constant_units(formula, units)
        constants = [
            _constant(c.name, c.value, c.error, c.remark, unit) for c, unit in zip(law.constants, carried, strict=True)
        ]
        return Adjustable(form.named, tuple(constants), program_of(form.expr, formula.symbols, form.symbols))
    named, names = with_named_constants(formula.expression)
    pairs = formula.constants or constants_of(formula.form, formula.symbols, data)
    if len(pairs) != len(names):
        pairs = [(float(value), math.nan) for value in formula.form.values]
    if len(pairs) != len(names):
        return Adjustable(formula.expression, (), program_of(formula.expression, formula.symbols))
    carried = constant_units(replace(formula, law=None, constants=tuple(pairs)), units)
    constants = [_constant(name, *pair, unit=unit) for name, pair, unit in zip(names, pairs, carried, strict=True)]
    symbols = [symbol for name in names for symbol in named.free_symbols if symbol.name == name]
    if len(symbols) != len(names):  # two constants have cancelled
        return Adjustable(formula.expression, (), program_of(formula.expression, formula.symbols))
    return Adjustable(named, tuple(constants), program_of(named, formula.symbols, symbols))


def _of_groups(formula: GroupedFormula) -> Adjustable:
    """A formula of groups; its constants are the shared ones, and the program takes these, then those of the row's
    group.
    """
    parts = formula.parts
    constants = [_constant(name, *pair) for name, pair in zip(parts.shared, formula.constants, strict=False)]
    symbols = make_symbols((*parts.shared, *parts.own))
    return Adjustable(formula.named, tuple(constants), program_of(formula.structure, formula.symbols[:-1], symbols))


def own_constants(formula: GroupedFormula) -> dict[str, Any]:
    """The constants of each group: a row of values and errors for each label."""
    parts = formula.parts
    values, errors = (parts.table([pair[k] for pair in formula.constants]) for k in (0, 1))
    return {
        "column": formula.column,
        "index": len(formula.symbols) - 1,
        "labels": list(parts.labels),
        "own": list(parts.own),
        "values": values.tolist(),
        "errors": [[_finite(error) for error in row] for row in errors.tolist()],
    }


def program_of(expression: Any, inputs: Sequence[Any], parameters: Sequence[Any] = ()) -> list[list[Any]] | None:
    """Steps [operation, operands, payload], each writing one slot; None if the expression cannot be compiled."""
    try:
        steps = ProgramBuilder(inputs, parameters).instructions(expression)
    except UnsupportedExpression:
        return None
    if any(isinstance(step.payload, float) and not math.isfinite(step.payload) for step in steps):
        return None
    return [[step.operation, list(step.operands), step.payload] for step in steps]


def _form_of(law: NamedLaw, formula: Formula, data: Dataset) -> NamedForm | None:
    """The form given by the text of a law, if it has the same values as the formula; otherwise None."""
    try:
        form = law.form([symbol.name for symbol in formula.symbols])
        steps = ProgramBuilder(formula.symbols, form.symbols).instructions(form.expr)
    except ValueError:  # its text cannot be read here
        return None
    few = data.thinned(_ROWS)
    values, own = np.broadcast_to(run(steps, few.x, form.values), len(few.y)), formula(few.x)
    return form if np.allclose(values, own, rtol=_SAME, atol=_SAME * float(np.ptp(few.y))) else None


def _constant(
    name: str, value: float, error: float, meaning: str = "", unit: ConstantUnit = _NO_UNIT
) -> dict[str, Any]:
    carried = {"unit": unit.unit, "made_of": unit.made_of}
    return {"name": name, "value": float(value), "error": _finite(error), "meaning": meaning, **carried}


def _finite(error: float) -> float | None:
    return float(error) if math.isfinite(error) else None
