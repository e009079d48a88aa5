"""Writes the lines that repeat a fit, in Python and as a command."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ceql.groups.grouped_formula import GroupedFormula
from ceql.output.report.subject import Subject
from ceql.templates import Template

# Parameters of the regressor and their options of `ceql fit`.
_OPTIONS = {
    "operators": "--operators",
    "time_limit": "--time-limit",
    "max_complexity": "--max-complexity",
    "model_selection": "--select",
    "cv": "--cv",
    "per_group": "--per-group",
    "catalogue": "--no-catalogue",  # a flag; the catalogue is used by default
    "more": "--more",
    "random_state": "--seed",
    "recipe": "--recipe",
    "loss": "--loss",
    "guesses": "--guess",  # once for each
    "units": "--units",
    "constants": "--constants",
    "threads": "--threads",
    "n_jobs": "--jobs",
    "device": "--device",
}
_OF_THE_PLACE = {"verbose", "checkpoint"}  # parameters that do not affect the result


def chosen_parameters(subject: Subject) -> dict[str, Any]:
    """The parameters that are not at their default, and the seed."""
    return {
        name: value
        for name, value in subject.parameters.items()
        if name not in _OF_THE_PLACE and (name == "random_state" or not _same(value, subject.defaults.get(name)))
    }


def python_lines(subject: Subject) -> str:
    chosen = chosen_parameters(subject)
    settings = ", ".join(f"{name}={in_python(value)}" for name, value in chosen.items())
    objects = {"constraints": "Constraints", "template": "Template"}
    names = ["CEQLRegressor", *(kind for name, kind in objects.items() if chosen.get(name) is not None)]
    weight = ", sample_weight=weight" if is_weighted(subject) else ""
    separator = ', sep="\\t"' if subject.table.lower().endswith(".tsv") else ""
    columns = f"table[{list(_inputs(subject))!r}]{'' if subject.from_frame else '.to_numpy()'}"
    groups = f", groups=table[{subject.data.names[-1]!r}]" if is_grouped(subject) else ""
    lines = [
        "import pandas as pd",
        "",
        f"from ceql import {', '.join(names)}",
        "",
        f"table = pd.read_csv({subject.table!r}{separator}, skipinitialspace=True)",
        f"X, y = {columns}, table[{subject.target!r}]",
    ]
    if weight:
        lines.append("weight = ...  # as in the first fit")
    lines += [f"model = CEQLRegressor({settings})", f"model.fit(X, y{weight}{groups})", "print(model.sympy())"]
    return "\n".join(lines)


def command_line(subject: Subject) -> str | None:
    """The command that repeats the fit, or None if a setting or a name cannot be expressed in it."""
    if not_on_the_command_line(subject):
        return None
    words = ["ceql", "fit", subject.table, "--target", subject.target, "--features", ",".join(_inputs(subject))]
    words += ["--groups", subject.data.names[-1]] if is_grouped(subject) else []
    for name, value in chosen_parameters(subject).items():
        if isinstance(value, bool):
            words.append(_OPTIONS[name])
            continue
        if name == "guesses":
            words += [word for guess in value for word in (_OPTIONS[name], guess)]
            continue
        number = f"{value:.15g}" if isinstance(value, float) else str(value)
        if isinstance(value, Mapping):
            number = ",".join(f"{key}={part}" for key, part in value.items())
        words += [_OPTIONS[name], ",".join(value) if isinstance(value, list | tuple) else number]
    return shlex.join(words)


def not_on_the_command_line(subject: Subject) -> str:
    """Why there is no command; empty if there is one."""
    chosen = chosen_parameters(subject)
    strange = sorted(set(chosen) - set(_OPTIONS))
    if not isinstance(chosen.get("cv", 0), int | np.integer):
        strange.append("a cv that is not a number")
    if strange:
        return f"Options cannot express {', '.join(strange)}, only a project file can; use the lines above."
    if is_weighted(subject):
        return (
            "The rows were weighted, and the command can take weights only from a column (--weights); use the lines "
            "above."
        )
    if not is_repeatable(subject):
        return "The seed was random, so a second search may end with another formula."
    if any("," in name or name != name.strip() for name in subject.data.names):
        return "The name of a column has a comma, or a space at an end; rename it to use the command line."
    return ""


def is_grouped(subject: Subject) -> bool:
    """Whether groups have their own constants; the last column then holds their numbers."""
    return any(isinstance(formula, GroupedFormula) for formula in subject.discovery.formulas)


def _inputs(subject: Subject) -> Sequence[str]:
    return subject.data.names[:-1] if is_grouped(subject) else subject.data.names


def is_weighted(subject: Subject) -> bool:
    return bool(np.ptp(subject.data.weight) > 0)


def is_repeatable(subject: Subject) -> bool:
    return isinstance(subject.parameters.get("random_state"), int | np.integer)


def in_python(value: Any) -> str:
    """The value as Python source; three dots for objects that cannot be written."""
    if isinstance(value, Template) or hasattr(value, "as_dict"):  # also constraints
        return f"{type(value).__name__}.from_dict({value.as_dict()!r})"
    if isinstance(value, np.generic):
        value = value.item()
    plain = value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))
    if plain:
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(in_python, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {in_python(item)}' for key, item in value.items())}}}"
    return "..."


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and in_python(value) == in_python(other) != "..."
