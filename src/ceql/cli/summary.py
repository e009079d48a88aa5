"""Describes a formula and its search in words and as JSON, for `ceql fit` and `ceql show`."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ceql.choice.chi_square import chi_square
from ceql.choice.criterion import description
from ceql.choice.evidence import EVIDENCE, errors_seem_to_grow, sentence
from ceql.cli.fit_command import fit
from ceql.cli.flags import flags_of
from ceql.cli.front_table import front_table
from ceql.data.censoring import in_words as censored_in_words
from ceql.dimensions import Dimensions
from ceql.dimensions.constants import ConstantUnit
from ceql.discovery import Discovery, constant_units, poles_of
from ceql.errors import in_terms_of
from ceql.estimator.model import Model
from ceql.estimator.results import Finding
from ceql.expression.evaluate.poles import count_overlooked
from ceql.formula import POLISH, Formula, NamedLaw, in_readable_form
from ceql.groups.grouped_formula import GroupedFormula

_BESIDE = 5  # formulas beside the front that are printed by default
_OTHER_NAMES = 3  # names of a law that are printed; some have a dozen
_LONGEST_NAME = 30  # characters of a law's name in the table; the law of the formula is printed in full above it


def in_words(found: Finding, more: int | None = None, struck: bool = False, width: int | None = None) -> str:
    """The formula, its law, the front, the poles, the uncertain constants, and how the search ended, as text.

    Of the formulas beside the front, likely ones are shown, or the first `more`; with `struck` also those that may not
    be chosen, each with the reason. `width` is the width of the terminal, or None.
    """
    formula, discovery = found.formula, found.discovery
    law = [] if formula.law is None else law_in_words(formula.law, constant_units(formula, discovery.units))
    law = groups_in_words(formula) if isinstance(formula, GroupedFormula) else law
    lines = [f"{found.name} = {formula}", *law, "", _table(found, more, width), *_poles_and_constants(found)]
    lines += [*(f"shape: {one}" for one in found.verdicts), ""]
    lines += [*_evidence(found), *_struck(discovery, struck)]
    if found.data.censored is not None:
        lines += ["", censored_in_words(found.data.censored)]
    searched, rows = discovery.rows_searched, len(found.data.y)
    if searched < rows:
        lines += ["", f"The search looked at {searched:,} of {rows:,} rows; the constants are fitted to all of them."]
    searched, columns = discovery.columns_searched, len(found.data.names)
    if 0 < searched < columns:
        lines += ["", f"The search looked at {searched:,} of {columns:,} columns, those that seem to matter most."]
    return "\n".join([*lines, "", f"{in_terms_of(discovery.outcome.value, flags_of(fit))} ({discovery.seconds:.1f} s)"])


def law_in_words(law: NamedLaw, units: Sequence[ConstantUnit] = ()) -> list[str]:
    """The lines for a law: its name and formula, a line for each constant, and its other names."""
    width = max((len(constant.name) for constant in law.constants), default=0)
    known = units or [ConstantUnit("")] * len(law.constants)
    constants = [
        f"  {c.name:{width}} = {_with_error(c.value, c.error)}{_unit(own)} ({c.remark})"
        for c, own in zip(law.constants, known, strict=True)
    ]
    others = ", ".join(law.others[:_OTHER_NAMES])
    left = len(law.others) - _OTHER_NAMES
    also = [f"  also known as {others}{f' and {left} more' if left > 0 else ''}"] if others else []
    return [f"{law.name}: {law.text}", *constants, *also]


def groups_in_words(formula: Formula) -> list[str]:
    """The lines for a formula with constants of groups: its law, the shared constants, and a table of the others."""
    if not isinstance(formula, GroupedFormula):
        return []
    parts, law = formula.parts, formula.law
    lines = [] if law is None else [f"{law.name}: {law.text}"]
    pairs = zip(parts.shared, formula.constants, strict=False)
    lines += [f"  {name} = {_with_error(value, error)} (shared)" for name, (value, error) in pairs]
    if not parts.own:
        return [*lines, f"  All groups of {formula.column} share all constants."]
    values, errors = (parts.table([pair[k] for pair in formula.constants]) for k in (0, 1))
    cells = [[_with_error(v, e) for v, e in zip(*row, strict=True)] for row in zip(values, errors, strict=True)]
    table = [[formula.column, *parts.own], *([label, *row] for label, row in zip(parts.labels, cells, strict=True))]
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    return [*lines, *("  " + "  ".join(f"{c:{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in table)]


def _with_error(value: float, error: float) -> str:
    if not math.isfinite(error):
        return f"{value:.15g}, which the rows do not determine"
    return f"{value:.15g} ± {error:.2g}" if error > POLISH.certain * abs(value) else f"{value:.15g}"


def _table(found: Finding, more: int | None, width: int | None) -> str:
    """The table of the front, and of the formulas beside it under a line of its own."""
    discovery = found.discovery
    front, all_rows = len(discovery.front), len(discovery.formulas)
    beside = _shown_beside(found, more)
    rows = [*range(front), *beside]
    laws = [_shortened(law.name) if (law := discovery.formulas[row].law) else "" for row in rows]
    shown = front_table(discovery, rows, laws, width)
    lines = [*shown[: front + 1], *(["beside the front:"] if beside else []), *shown[front + 1 :]]
    left = all_rows - front - len(beside)
    if left:
        see = "is less likely; see it" if left == 1 else "are less likely; see them"
        lines.append(f"{left} more beside the front {see} with --more {all_rows - front}.")
    return "\n".join(lines)


def _shown_beside(found: Finding, more: int | None) -> list[int]:
    """The rows beside the front to show: the first `more`, or likely ones; always the chosen and the current row."""
    discovery = found.discovery
    rows = list(range(len(discovery.front), len(discovery.formulas)))
    if more is None:
        shares = discovery.weights or (1.0,) * len(discovery.formulas)
        likely = [row for row in rows if shares[row] >= EVIDENCE.competes][:_BESIDE]
    else:
        likely = rows[:more]
    return [row for row in rows if row in (*likely, discovery.chosen, found.row)]


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3].rstrip()}..."


def _struck(discovery: Discovery, in_full: bool) -> list[str]:
    """The lines about struck formulas: how many, or each with the reason."""
    count = len(discovery.struck)
    if in_full:
        told = [line for one in discovery.struck for line in (f"  {one.formula}", f"      {one.why}")]
        return ["", "Struck, and why:", *told] if count else ["", "No formula was struck."]
    if not count:
        return []
    how_many = "1 formula was struck; see it" if count == 1 else f"{count} formulas were struck; see them"
    return ["", f"{how_many} with --struck."]


def _evidence(found: Finding) -> list[str]:
    """The lines about how well the formula fits, also on held-out rows, and which other formulas may be true."""
    discovery = found.discovery
    r2, validated = (_of_row(values, found.row) for values in (discovery.r2, discovery.r2_cv))
    lines = []
    if not math.isnan(r2):
        held = "" if math.isnan(validated) else f", {validated:.6g} on rows held out (cross-validation)"
        lines.append(f"R2 {r2:.6g} on the rows it is fitted to{held}.")
    chi = chi_square(found.formula, found.data)
    lines += [] if chi is None else [str(chi)]
    doubt = sentence(discovery.formulas, discovery.weights, found.data)
    lines += [doubt] if doubt else []
    if errors_seem_to_grow(discovery.formulas, discovery.weights, found.data):
        lines.append(
            f"The scatter grows with {found.name}, so its largest values dominate the fit. If its errors are "
            f"proportional to it, use --sigma {shlex.quote(found.name)} --sigma-relative."
        )
    return lines


def _of_row(values: Sequence[float], row: int) -> float:
    return values[row] if values else math.nan


def how_found(model: Model, found: Finding) -> str:
    """The settings and the effort of the search that found a formula, as text."""
    discovery, data = found.discovery, found.data
    operators = model.operators if isinstance(model.operators, str | None) else ", ".join(model.operators)
    what = "a template" if model.template is not None else f"operators: {operators or 'default'}"
    columns = "; ".join(
        f"{name} from {low:g} to {high:g}"
        for name, low, high in zip(data.names, data.x.min(axis=0), data.x.max(axis=0), strict=True)
    )
    return "\n".join(
        [
            f"Found in {discovery.seconds:.1f} s after {discovery.starts:,} starts; recipe {model.recipe}, {what}, "
            f"seed {model.random_state}.",
            f"Training data: {len(data.y):,} rows; {columns}.",
            f"Row {discovery.chosen} {'of' if discovery.chosen < len(discovery.front) else 'beside'} the front is the "
            "chosen one.",
        ]
    )


def as_json(found: Finding) -> dict[str, Any]:
    formula, discovery = found.formula, found.discovery
    rows = [
        {"complexity": f.complexity, "loss": f.loss, "expression": str(f), **_named(f, found), **_numbers(discovery, k)}
        for k, f in enumerate(discovery.formulas)
    ]
    return {
        "target": found.name,
        "features": list(found.data.names),
        "expression": str(formula),
        "readable": str(in_readable_form(formula, found.data)),
        "latex": formula.latex(),
        "loss": formula.loss,
        "complexity": formula.complexity,
        **_named(formula, found),
        **_numbers(discovery, found.row),
        **_chi_square(found),
        **_groups(formula),
        "outcome": discovery.outcome.name.lower(),
        "seconds": discovery.seconds,
        "starts": discovery.starts,
        **_shapes(found),
        **({} if found.data.censored is None else {"censored": int(np.count_nonzero(found.data.censored))}),
        "poles": [str(pole) for pole in _poles(found)],
        **({} if discovery.units is None else {"units": _units_as_json(discovery.units)}),
        "constants": _constants_as_json(found),
        "front": rows[: len(discovery.front)],
        "shortlist": rows[len(discovery.front) :],
        "chosen": discovery.chosen,
        "struck": [{"expression": str(one.formula), "why": one.why} for one in discovery.struck],
    }


def _constants_as_json(found: Finding) -> list[dict[str, Any]]:
    formula, units = found.formula, found.discovery.units
    rows: list[dict[str, Any]] = [{"value": v, "standard_error": _finite(e)} for v, e in formula.constants]
    if units is None or formula.law is not None:
        return rows
    return [
        {**row, "unit": own.unit, "made_of": own.made_of}
        for row, own in zip(rows, constant_units(formula, units), strict=True)
    ]


def _units_as_json(units: Dimensions) -> dict[str, str]:
    known = (quantity for quantity in (*units.columns, units.target) if quantity.dimension is not None)
    return {quantity.name: quantity.text for quantity in known}


def _groups(formula: Formula) -> dict[str, Any]:
    """The field about groups; empty unless groups have their own constants."""
    if not isinstance(formula, GroupedFormula):
        return {}
    parts, pairs = formula.parts, [{"value": v, "standard_error": _finite(e)} for v, e in formula.constants]
    shared, own = pairs[: len(parts.shared)], pairs[len(parts.shared) :]
    of_groups = {
        label: dict(zip(parts.own, own[k * len(parts.own) : (k + 1) * len(parts.own)], strict=True))
        for k, label in enumerate(parts.labels)
    }
    return {
        "groups": {
            "column": formula.column,
            "structure": str(formula.named),
            "shared": dict(zip(parts.shared, shared, strict=True)),
            "own": of_groups,
        }
    }


def _chi_square(found: Finding) -> dict[str, Any]:
    """The field about chi-square; empty unless errors of measurement are known."""
    chi = chi_square(found.formula, found.data)
    return {} if chi is None else {"chi_square": {name: _finite(value) for name, value in asdict(chi).items()}}


def _shapes(found: Finding) -> dict[str, Any]:
    """The field about shapes; empty unless some are required."""
    told = [{"shape": str(one.shape), "kept": one.kept, "how": one.how} for one in found.verdicts]
    return {"shapes": told} if told else {}


def _named(formula: Formula, found: Finding) -> dict[str, Any]:
    """The fields with the price of the formula and its law."""
    return {"price": _finite(description(formula, found.prices)), "law": _law_as_json(formula.law)}


def _law_as_json(law: NamedLaw | None) -> dict[str, Any] | None:
    if law is None:
        return None
    constants = [
        {"name": c.name, "meaning": c.meaning, "value": c.value, "standard_error": _finite(c.error)}
        for c in law.constants
    ]
    named = {"name": law.name, "field": law.field, "formula": law.text}
    return {**named, "constants": constants, "others": list(law.others)}


def _numbers(discovery: Discovery, row: int) -> dict[str, float | None]:
    named = {"weight": discovery.weights, "r2": discovery.r2, "r2_cv": discovery.r2_cv}
    return {name: _finite(_of_row(values, row)) for name, values in named.items()}


def _poles(found: Finding) -> Any:
    return found.discovery.poles if found.formula is found.discovery.best else poles_of(found.formula, found.data)


def _poles_and_constants(found: Finding) -> list[str]:
    poles = [f"{pole.kind}: {pole}" for pole in _poles(found)]
    overlooked = count_overlooked(found.formula.expression)
    if overlooked:
        poles.append(f"{overlooked} more places where it may be singular were not checked: the formula is too long.")
    if found.formula.law is not None or isinstance(found.formula, GroupedFormula):  # its constants are printed above
        return poles
    if found.discovery.units is None:
        return poles + [f"constant: {value:.15g} ± {error:.2g}" for value, error in found.formula.uncertain_constants]
    pairs = zip(found.formula.constants, constant_units(found.formula, found.discovery.units), strict=True)
    return poles + [f"constant: {_with_error(*constant)}{_unit(own)}" for constant, own in pairs]


def _unit(own: ConstantUnit) -> str:
    """The unit of a constant and what it is made of, each with a space before it."""
    if not own.made_of:
        return f" {own.unit}" if own.unit else ""
    made_of = own.made_of if own.made_of.startswith("≈") else f"= {own.made_of}"
    return f"{f' {own.unit}' if own.unit else ''} {made_of}"


def _finite(number: float) -> float | None:
    """The number, or None (null in JSON) if it is not finite: an unknown error or score."""
    return number if math.isfinite(number) else None
