"""A formula and its search in words and as JSON: what `ceql fit` and `ceql show` say about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ceql.choice.evidence import sentence
from ceql.discovery import Discovery, poles_of
from ceql.estimator.regressor import CEQLRegressor
from ceql.estimator.results import Finding, equations_table
from ceql.expression.evaluate.poles import count_overlooked
from ceql.formula import in_readable_form


def in_words(found: Finding) -> str:
    """The formula, the front, the poles, the uncertain constants, and how the search ended."""
    formula, discovery = found.formula, found.discovery
    lines = [f"{found.name} = {formula}", "", _table(discovery), *_poles_and_constants(found), "", *_evidence(found)]
    searched, rows = discovery.rows_searched, len(found.data.y)
    if searched < rows:
        lines += ["", f"The search looked at {searched:,} of {rows:,} rows; the constants are fitted to all of them."]
    searched, columns = discovery.columns_searched, len(found.data.names)
    if 0 < searched < columns:
        lines += ["", f"The search looked at {searched:,} of {columns:,} columns, those that seem to say most."]
    return "\n".join([*lines, "", discovery.outcome.value])


def _table(discovery: Discovery) -> str:
    """The front, and what competes beside it under a line of its own."""
    table = equations_table(discovery)
    shown = table[["complexity", "loss", "equation"]].to_string().splitlines()
    last = len(discovery.front) + 1
    return "\n".join([*shown[:last], *(["beside the front:"] if shown[last:] else []), *shown[last:]])


def _evidence(found: Finding) -> list[str]:
    """How well the formula fits, on rows that it was not fitted to as well, and what else may be true."""
    discovery = found.discovery
    r2, validated = (_of_row(values, found.row) for values in (discovery.r2, discovery.r2_cv))
    lines = []
    if not math.isnan(r2):
        held = "" if math.isnan(validated) else f", {validated:.6g} on rows held out (cross-validation)"
        lines.append(f"R2 {r2:.6g} on the rows it is fitted to{held}.")
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
        {"complexity": f.complexity, "loss": f.loss, "expression": str(f), **_numbers(discovery, k)}
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
        **_numbers(discovery, found.row),
        "outcome": discovery.outcome.name.lower(),
        "seconds": discovery.seconds,
        "starts": discovery.starts,
        "poles": [str(pole) for pole in _poles(found)],
        "constants": [{"value": v, "standard_error": _finite(e)} for v, e in formula.constants],
        "front": rows[: len(discovery.front)],
        "shortlist": rows[len(discovery.front) :],
        "chosen": discovery.chosen,
    }


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
    return poles + [f"constant: {value:.15g} ± {error:.2g}" for value, error in found.formula.uncertain_constants]


def _finite(number: float) -> float | None:
    """JSON has no infinity: an error without a bound is null, and so is a score that is not known."""
    return number if math.isfinite(number) else None
