"""A formula and its search in words and as JSON: what `ceql fit` and `ceql show` say about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ceql.choice.chi_square import chi_square
from ceql.choice.criterion import description
from ceql.choice.evidence import EVIDENCE, sentence
from ceql.discovery import Discovery, poles_of
from ceql.estimator.regressor import CEQLRegressor
from ceql.estimator.results import Finding, equations_table
from ceql.expression.evaluate.poles import count_overlooked
from ceql.formula import POLISH, Formula, NamedLaw, in_readable_form

_BESIDE = 5  # formulas beside the front that are printed unless a number is asked for: the rest is a table to itself
_OTHER_NAMES = 3  # of a law that are printed; some have a dozen
_LONGEST_NAME = 30  # letters of a law in the table; the chosen one has its whole name above it


def in_words(found: Finding, more: int | None = None, struck: bool = False) -> str:
    """The formula, the law that it is, the front, the poles, the uncertain constants, and how the search ended.

    Of the formulas beside the front those that have a chance are shown, or the first `more`; with `struck` also those
    that may not be chosen, each with the sentence that says why.
    """
    formula, discovery = found.formula, found.discovery
    law = [] if formula.law is None else law_in_words(formula.law)
    lines = [f"{found.name} = {formula}", *law, "", _table(found, more), *_poles_and_constants(found), ""]
    lines += [*_evidence(found), *_struck(discovery, struck)]
    searched, rows = discovery.rows_searched, len(found.data.y)
    if searched < rows:
        lines += ["", f"The search looked at {searched:,} of {rows:,} rows; the constants are fitted to all of them."]
    searched, columns = discovery.columns_searched, len(found.data.names)
    if 0 < searched < columns:
        lines += ["", f"The search looked at {searched:,} of {columns:,} columns, those that seem to say most."]
    return "\n".join([*lines, "", discovery.outcome.value])


def law_in_words(law: NamedLaw) -> list[str]:
    """Its name and formula, and a line for each constant."""
    width = max((len(constant.name) for constant in law.constants), default=0)
    constants = [f"  {c.name:{width}} = {_with_error(c.value, c.error)} ({c.meaning})" for c in law.constants]
    others = ", ".join(law.others[:_OTHER_NAMES])
    left = len(law.others) - _OTHER_NAMES
    also = [f"  also known as {others}{f' and {left} more' if left > 0 else ''}"] if others else []
    return [f"{law.name}: {law.text}", *constants, *also]


def _with_error(value: float, error: float) -> str:
    if not math.isfinite(error):
        return f"{value:.15g}, which the rows do not determine"
    return f"{value:.15g} ± {error:.2g}" if error > POLISH.certain * abs(value) else f"{value:.15g}"


def _table(found: Finding, more: int | None) -> str:
    """The front, and what competes beside it under a line of its own."""
    discovery = found.discovery
    front, all_rows = len(discovery.front), len(discovery.formulas)
    beside = _shown_beside(found, more)
    table = equations_table(discovery, found.prices).iloc[[*range(front), *beside]]
    columns = ["complexity", "loss", "equation"]
    if any(table["law"]):
        columns.insert(2, "law")
        table = table.assign(law=[_shortened(name) for name in table["law"]])
    shown = table[columns].to_string().splitlines()
    lines = [*shown[: front + 1], *(["beside the front:"] if beside else []), *shown[front + 1 :]]
    left = all_rows - front - len(beside)
    if left:
        see = "is less likely; see it" if left == 1 else "are less likely; see them"
        lines.append(f"{left} more beside the front {see} with --more {all_rows - front}.")
    return "\n".join(lines)


def _shown_beside(found: Finding, more: int | None) -> list[int]:
    """Rows beside the front: as many as are asked for, or those with a chance; the chosen one and this one always."""
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
    """What may not be chosen: how many, or each with its sentence."""
    count = len(discovery.struck)
    if in_full:
        told = [line for one in discovery.struck for line in (f"  {one.formula}", f"      {one.why}")]
        return ["", "Struck, and why:", *told] if count else ["", "No formula was struck."]
    if not count:
        return []
    how_many = "1 formula was struck; see it" if count == 1 else f"{count} formulas were struck; see them"
    return ["", f"{how_many} with --struck."]


def _evidence(found: Finding) -> list[str]:
    """How well the formula fits, on rows that it was not fitted to as well, and what else may be true."""
    discovery = found.discovery
    r2, validated = (_of_row(values, found.row) for values in (discovery.r2, discovery.r2_cv))
    lines = []
    if not math.isnan(r2):
        held = "" if math.isnan(validated) else f", {validated:.6g} on rows held out (cross-validation)"
        lines.append(f"R2 {r2:.6g} on the rows it is fitted to{held}.")
    chi = chi_square(found.formula, found.data)
    lines += [] if chi is None else [str(chi)]
    doubt = sentence(discovery.formulas, discovery.weights, found.data)
    return [*lines, *([doubt] if doubt else [])]


def _of_row(values: Sequence[float], row: int) -> float:
    return values[row] if values else math.nan


def how_found(model: CEQLRegressor, found: Finding) -> str:
    """The settings and the effort that a formula took."""
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
        "outcome": discovery.outcome.name.lower(),
        "seconds": discovery.seconds,
        "starts": discovery.starts,
        "poles": [str(pole) for pole in _poles(found)],
        "constants": [{"value": v, "standard_error": _finite(e)} for v, e in formula.constants],
        "front": rows[: len(discovery.front)],
        "shortlist": rows[len(discovery.front) :],
        "chosen": discovery.chosen,
        "struck": [{"expression": str(one.formula), "why": one.why} for one in discovery.struck],
    }


def _chi_square(found: Finding) -> dict[str, Any]:
    """Where errors of measurement are known."""
    chi = chi_square(found.formula, found.data)
    return {} if chi is None else {"chi_square": {name: _finite(value) for name, value in asdict(chi).items()}}


def _named(formula: Formula, found: Finding) -> dict[str, Any]:
    """What it takes to say the formula, and the law that it is."""
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
        poles.append(f"{overlooked} more places where it may be singular were not looked at: the formula is too long.")
    if found.formula.law is not None:  # its constants stand below its name
        return poles
    return poles + [f"constant: {value:.15g} ± {error:.2g}" for value, error in found.formula.uncertain_constants]


def _finite(number: float) -> float | None:
    """JSON has no infinity: an error without a bound is null, and so is a score that is not known."""
    return number if math.isfinite(number) else None
