"""Trajectories from a new initial state: what is asked for is checked, and simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ceql.dynamics.system import System
from ceql.errors import InputError, unknown_name

Inputs = Callable[[np.ndarray], np.ndarray]


def simulated_frame(system: System, initial: Any, time: Any, inputs: Any = None) -> pd.DataFrame:
    """The states at these times; NaN from where the trajectory ends."""
    moments = checked_times(time)
    begin = initial_state(system, initial)
    states = system.simulate(begin, moments, inputs_over(system, inputs, moments))
    columns = {system.time: moments, **dict(zip(system.states, states.T, strict=True))}
    return pd.DataFrame(columns)


def checked_times(time: Any) -> np.ndarray:
    moments = _numbers(time, "time")
    if moments.ndim != 1 or len(moments) < 2:
        raise InputError("time must hold at least two times, the first of which is that of the initial state.")
    if (np.diff(moments) <= 0.0).any():
        raise InputError("The times of a simulation must increase: sort them, and leave out those that occur twice.")
    return moments


def initial_state(system: System, initial: Any) -> np.ndarray:
    """A number for each state, in their order or by their names."""
    names = system.states
    if isinstance(initial, Mapping | pd.Series):
        given = {str(name): value for name, value in initial.items()}
        for name in given:
            if name not in names:
                raise unknown_name("state", name, names)
        missing = [name for name in names if name not in given]
        if missing:
            raise InputError(f"The initial state lacks {', '.join(missing)}: give a number for {', '.join(names)}.")
        initial = [given[name] for name in names]
    values = _numbers(initial, "initial")
    if values.shape != (len(names),):
        raise InputError(f"The initial state needs {len(names)} numbers ({', '.join(names)}), not {values.size}.")
    return values


def inputs_over(system: System, inputs: Any, moments: np.ndarray) -> Inputs | None:
    """The inputs as a function of the time, from numbers, values at these times, or functions, by their names."""
    if not system.inputs:
        if inputs is not None and len(inputs):
            raise InputError("This system has no inputs: leave them out.")
        return None
    if not isinstance(inputs, Mapping | pd.DataFrame):
        raise InputError(
            f"This system has inputs ({', '.join(system.inputs)}): say what each is, by its name, as a number, as "
            "values at all times, or as a function of the time."
        )
    known = {str(name): inputs[name] for name in inputs}
    for name in known:
        if name not in system.inputs and name != system.time:
            raise unknown_name("input", name, system.inputs)
    missing = [name for name in system.inputs if name not in known]
    if missing:
        raise InputError(f"The inputs lack {', '.join(missing)}.")
    columns = [_course_of(name, known[name], moments) for name in system.inputs]
    return lambda time: np.column_stack([column(time) for column in columns])


def _course_of(name: str, value: Any, moments: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """One input over the time, by straight lines between its values."""
    if callable(value):
        return lambda time: np.broadcast_to(np.asarray(value(time), float), time.shape)
    values = _numbers(value, f"input {name!r}")
    if values.ndim == 0:
        return lambda time: np.full(time.shape, float(values))
    if values.shape != moments.shape:
        raise InputError(f"Input {name!r} has {values.size} values for {len(moments)} times: give one for each.")
    return lambda time: np.interp(time, moments, values)


def _numbers(values: Any, what: str) -> np.ndarray:
    try:
        found = np.asarray(list(values) if isinstance(values, Sequence) else values, float)
    except (TypeError, ValueError):
        raise InputError(f"{what} must hold numbers, not {values!r}.") from None
    if not np.isfinite(found).all():
        raise InputError(f"{what} holds a number that is not finite: give finite ones.")
    return found
