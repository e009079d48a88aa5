"""A fitted model in words and as JSON: what `ceql fit` and `ceql show` say about it."""

from __future__ import annotations

import math
from typing import Any

from ceql.estimator import CEQLRegressor
from ceql.formula import Formula, in_readable_form
from ceql.pipeline import poles_of


def target_name(model: CEQLRegressor) -> str:
    return model._data.target or "y"


def in_words(model: CEQLRegressor, row: int | None = None) -> str:
    """The formula, the front, the poles, the uncertain constants, and how the search ended."""
    formula, discovery = model._formula(row), model.discovery_
    lines = [f"{target_name(model)} = {formula}", "", _front(model), *_poles_and_constants(model, formula)]
    searched, rows = discovery.rows_searched, len(model._data.y)
    if searched < rows:
        lines += ["", f"The search looked at {searched:,} of {rows:,} rows; the constants are fitted to all of them."]
    return "\n".join([*lines, "", discovery.outcome.value])


def how_found(model: CEQLRegressor) -> str:
    """The settings and the effort behind a model."""
    discovery, data = model.discovery_, model._data
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
            f"Row {discovery.chosen} of the front is the chosen one.",
        ]
    )


def as_json(model: CEQLRegressor, row: int | None = None) -> dict[str, Any]:
    formula, discovery = model._formula(row), model.discovery_
    return {
        "target": model._data.target,
        "features": list(model._data.names),
        "expression": str(formula),
        "readable": str(in_readable_form(formula, model._data)),
        "latex": formula.latex(),
        "loss": formula.loss,
        "complexity": formula.complexity,
        "outcome": discovery.outcome.name.lower(),
        "seconds": discovery.seconds,
        "starts": discovery.starts,
        "poles": [str(pole) for pole in _poles(model, formula)],
        "constants": [{"value": v, "standard_error": _finite(e)} for v, e in formula.constants],
        "front": [{"complexity": f.complexity, "loss": f.loss, "expression": str(f)} for f in discovery.front],
        "chosen": discovery.chosen,
    }


def _front(model: CEQLRegressor) -> str:
    return model.equations_[["complexity", "loss", "equation"]].to_string()


def _poles(model: CEQLRegressor, formula: Formula) -> Any:
    return model.poles_ if formula is model.discovery_.best else poles_of(formula, model._data)


def _poles_and_constants(model: CEQLRegressor, formula: Formula) -> list[str]:
    poles = [f"{pole.kind}: {pole}" for pole in _poles(model, formula)]
    return poles + [f"constant: {value:.15g} ± {error:.2g}" for value, error in formula.uncertain_constants]


def _finite(number: float) -> float | None:
    """JSON has no infinity: an error without a bound is null."""
    return number if math.isfinite(number) else None
