"""Converts plain tables, as model files and project files hold them, to the objects that settings need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from ceql.constraints import Constraints
from ceql.errors import InputError, unknown_name
from ceql.estimator.parameters import policy_from_dict
from ceql.search.guesses import read_with_unknown
from ceql.templates import Template

_READERS: Mapping[str, Callable[[Any], Any]] = {
    "template": Template.from_dict,
    "constraints": Constraints.from_dict,
    "policy": policy_from_dict,
    "prices": lambda content: policy_from_dict({"prices": content}).prices,
}


def with_objects(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a regressor, with tables converted to a template, constraints, a policy and prices."""
    return {n: _READERS[n](v) if n in _READERS and v is not None else v for n, v in parameters.items()}


def whole_template(content: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """The complete table of a template written by hand; undeclared names that are not columns become parameters."""
    parts = [field.name for field in fields(Template)]
    for name in content:
        if name not in parts:
            raise unknown_name("part of a template", name, parts)
    whole: dict[str, Any] = {"parameters": {}, "functions": {}, "sums": {}, **content}
    for name in parts[1:]:
        if not isinstance(whole[name], Mapping) or not all(isinstance(part, Mapping) for part in whole[name].values()):
            raise InputError(f"The {name} of a template must be tables with their names, not {whole[name]!r}.")
    if not isinstance(whole.get("formula"), str):
        raise InputError("A template needs a formula as text, such as 'a*x + f'.")
    terms = {name: {"parameters": {}, "functions": {}, **part} for name, part in whole["sums"].items()}
    also = [name for part in terms.values() for name in part.get("also", {})]
    known = [*columns, *whole["parameters"], *whole["functions"], *terms, *also]
    _, free = read_with_unknown(whole["formula"], known, "template")
    return {**whole, "sums": terms, "parameters": {**whole["parameters"], **{name: {} for name in free}}}
