"""Checks the settings of a regressor in a model file: each must be a plain value of the right kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ceql.data import content as fields
from ceql.data.content import ContentError


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_whole(value) or isinstance(value, float)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _or_none(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


# Further conditions (a positive number, a known name) are checked when a setting is used, as for any regressor.
_KINDS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "recipe": ("a name", _is_text),
    "operators": ("a name, or a list of names, or null", _or_none(lambda v: _is_text(v) or _are_texts(v))),
    "time_limit": ("a number", _is_number),
    "max_complexity": ("a whole number or null", _or_none(_is_whole)),
    "model_selection": ("a name", _is_text),
    "catalogue": ("true or false", lambda value: isinstance(value, bool)),
    "prices": ("a table or null", _or_none(lambda value: isinstance(value, dict))),
    "cv": ("a whole number or null", _or_none(_is_whole)),
    "per_group": (
        "'auto', a whole number, a list of names or null",
        _or_none(lambda v: _is_text(v) or _is_whole(v) or _are_texts(v)),
    ),
    "more": ("a whole number", _is_whole),
    "random_state": ("a whole number or null", _or_none(_is_whole)),
    "n_jobs": ("a whole number or null", _or_none(_is_whole)),
    "threads": ("a whole number or null", _or_none(_is_whole)),
    "device": ("a name", _is_text),
    "template": ("a table or null", _or_none(lambda value: isinstance(value, dict))),
    "loss": ("a name or a formula", _is_text),
    "guesses": ("a list of formulas or null", _or_none(_are_texts)),
    "constraints": ("a table or null", _or_none(lambda value: isinstance(value, dict))),
    "units": ("a table, a name or null", _or_none(lambda value: _is_text(value) or isinstance(value, dict))),
    "constants": ("a name, a list or a table", lambda v: _is_text(v) or _are_texts(v) or isinstance(v, dict)),
    "policy": ("a table or null", _or_none(lambda value: isinstance(value, dict))),
    "warm_start": ("true or false", lambda value: isinstance(value, int)),
    "checkpoint": ("null", lambda value: value is None),
    "verbose": ("true, false or null", _or_none(lambda value: isinstance(value, int))),
}


def saved_parameters(content: Mapping[str, Any]) -> dict[str, Any]:
    """The field 'parameters' of a model file, checked; unknown names are kept, and the caller drops them."""
    parameters = fields.field(content, "parameters")
    if not isinstance(parameters, dict):
        raise ContentError(f"'parameters' is {fields.shown(parameters)}, which is not a table")
    for name, (kind, check) in _KINDS.items():
        if name in parameters and not check(parameters[name]):
            raise ContentError(f"the parameter {name!r} is {fields.shown(parameters[name])}; it must be {kind}")
    return dict(parameters)
