"""Checks of what users pass as parameters, in words that name the remedy."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ceql.errors import InputError


def is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def named_operators(operators: Any) -> str | tuple[str, ...] | None:
    """A library by its name, or the operators of a list."""
    if operators is None or isinstance(operators, str):
        return operators
    try:
        names = tuple(operators)
    except TypeError:
        names = (operators,)
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"operators must be a list of names such as ['mul', 'div'], but {name!r} is no name.")
    return names


def seed_of(random_state: Any) -> int:
    """A seed from what scikit-learn and NumPy use as random states."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    raise InputError(f"random_state must be a non-negative integer or None, not {random_state!r}.")
