"""Checks of the parameters that users pass; the errors say what to do."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from ceql.errors import InputError
from ceql.search.policy import SearchPolicy

# Which numbers in a policy are shares between 0 and 1, and which may not be zero.
_SHARES = {"mutant_share", "inherit_share", "founders_share", "oscillating", "in_rhythm"}
_SHARES |= {"low_fan_in", "full_fan_in", "bare_readout", "survivors", "finalists"}
_POSITIVE = {"start_scale", "fastest", "adam_rate", "depths", "inputs_used", "early", "late"}


def is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def named_operators(operators: Any) -> str | tuple[str, ...] | None:
    """The name of a library of operators as it is, or a list of operators as a tuple."""
    if operators is None or isinstance(operators, str):
        return operators
    try:
        names = tuple(operators)
    except TypeError:
        names = (operators,)
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"operators must be a list of names such as ['mul', 'div'], but {name!r} is not a name.")
    return names


def seed_of(random_state: Any) -> int:
    """A seed from a random state of scikit-learn or NumPy."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    raise InputError(f"random_state must be a non-negative integer or None, not {random_state!r}.")


# ---- the numbers that steer the search ----------------------------------------------------------------------------


def checked_policy(policy: Any) -> SearchPolicy:
    """The policy, after checking the kind and range of every number; the default policy for None."""
    if policy is None:
        return SearchPolicy()
    if not isinstance(policy, SearchPolicy):
        name = f"{SearchPolicy.__module__}.{SearchPolicy.__name__}"
        raise InputError(f"policy must be a {name}(...) or None, not {type(policy).__name__}.")
    _check("policy", policy, SearchPolicy())
    return policy


def policy_from_dict(content: Mapping[str, Any]) -> SearchPolicy:
    """The policy from what `dataclasses.asdict` made of it; the content comes from a file and is not trusted."""
    return checked_policy(_restored("policy", content, SearchPolicy()))


def _restored(place: str, content: Any, default: Any) -> Any:
    if not is_dataclass(default) or isinstance(default, type):
        return _as_tuples(content)
    if not isinstance(content, Mapping):
        raise InputError(f"{place} must be a table of numbers, not {content!r}.")
    for name in content:
        if not hasattr(default, name):
            raise InputError(f"{place} has no number called {name!r}.")
    return replace(default, **{n: _restored(f"{place}.{n}", v, getattr(default, n)) for n, v in content.items()})


def _as_tuples(content: Any) -> Any:
    return tuple(map(_as_tuples, content)) if isinstance(content, list) else content


def _check(place: str, value: Any, default: Any) -> None:
    """Raises an InputError unless the value has the kind of the default and is in range."""
    if is_dataclass(default):
        if not isinstance(value, type(default)):
            raise InputError(f"{place} must be a {type(default).__name__}(...), not {value!r}.")
        for field in fields(default):
            _check(f"{place}.{field.name}", getattr(value, field.name), getattr(default, field.name))
    elif default == ():
        if value != ():
            raise InputError(f"{place} is set by the constraints: leave it empty and use constraints=.")
    elif isinstance(default, tuple):
        _check_tuple(place, value, default)
    elif isinstance(default, bool):
        if not isinstance(value, bool):
            raise InputError(f"{place} must be True or False, not {value!r}.")
    elif isinstance(default, int):
        least = 0 if place.rpartition(".")[2].startswith("rounds_") else 1  # waiting times may be 0
        if not is_number(value) or not isinstance(value, numbers.Integral) or value < least:
            raise InputError(f"{place} must be a whole number of at least {least}, not {value!r}.")
    else:
        _check_number(place, value)


def _check_tuple(place: str, value: Any, default: tuple) -> None:
    if not isinstance(value, tuple) or not value:
        raise InputError(f"{place} must be a tuple such as {default!r}, not {value!r}.")
    is_signed = not isinstance(default[0], tuple) and min(default) < 0
    for item in value:
        if is_signed:
            if not is_number(item) or not math.isfinite(item):
                raise InputError(f"{place} must hold finite numbers, not {item!r}.")
        elif not isinstance(default[0], tuple):
            _check_number(place, item)
        elif (
            not isinstance(item, tuple) or len(item) != 2 or isinstance(item[0], str) != isinstance(default[0][0], str)
        ):
            raise InputError(f"{place} must be a tuple of pairs such as {default[0]!r}, not {value!r}.")
        else:
            for number in item[isinstance(item[0], str) :]:
                _check_number(place, number)
    if not isinstance(default[0], tuple) and not is_signed and not sum(value) > 0:
        raise InputError(f"{place} must hold a number above 0, but it is {value!r}.")


def _check_number(place: str, value: Any) -> None:
    name = place.rpartition(".")[2]
    is_share, is_positive = name in _SHARES, name in _POSITIVE
    is_fine = is_number(value) and math.isfinite(value) and value >= 0
    if not is_fine or (is_share and value > 1) or (is_positive and value == 0):
        bounds = "from 0 to 1" if is_share else "above 0" if is_positive else "of at least 0"
        raise InputError(f"{place} must be a finite number {bounds}, not {value!r}.")


def texts_of(guesses: Any) -> tuple[str, ...]:
    """The user's guesses, formulas as text, as a tuple."""
    if isinstance(guesses, str) or not all(isinstance(text, str) for text in guesses or ()):
        raise InputError(f"guesses must be a list of formulas as text, such as ['a*sin(b*x1)'], not {guesses!r}.")
    return tuple(guesses or ())
