"""A finding as tables: the systems that were compared, constants, initial states, courses and fixed points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ceql.dynamics.analysis import Behaviour, FixedPoint
from ceql.dynamics.courses import Course, measured_places
from ceql.dynamics.finding import DynamicsFinding, Fitted
from ceql.dynamics.rounding import shown_system
from ceql.dynamics.series import Series
from ceql.dynamics.system import System

_ONLY = 0  # the label of the only trajectory, where no column names it


def left_side(system: System, state: str) -> str:
    """What stands before the equals sign of a state's equation."""
    return f"d{state}/d{system.time}"


def systems_table(finding: DynamicsFinding) -> pd.DataFrame:
    """A row for each system, the chosen one first: its equations, how likely it is and how well it fits."""
    rows = []
    for fitted in finding.systems:
        system = shown_system(fitted)
        named = {left_side(system, s): str(f) for s, f in zip(system.states, system.formulas, strict=True)}
        numbers = {"weight": fitted.weight, "criterion": fitted.criterion, "r2": mean_r2(fitted)}
        rows.append({**named, "complexity": complexity(system), **numbers})
    return pd.DataFrame(rows)


def mean_r2(fitted: Fitted) -> float:
    """Over the measured states."""
    return float(np.mean(fitted.r2)) if len(fitted.r2) else np.nan


def complexity(system: System) -> int:
    """The nodes of the equations that were searched for."""
    return sum(system.formulas[k].complexity for k in system.searched)


def constants_table(fitted: Fitted) -> pd.DataFrame:
    """A row for each constant; a column `trajectory` where some belong to one trajectory alone."""
    rows = [
        {
            "equation": left_side(fitted.system, constant.state),
            "constant": constant.name,
            "trajectory": constant.trajectory,
            "value": constant.value,
            "standard_error": constant.error,
        }
        for constant in fitted.constants
    ]
    table = pd.DataFrame(rows, columns=pd.Index(["equation", "constant", "trajectory", "value", "standard_error"]))
    has_own = any(constant.trajectory is not None for constant in fitted.constants)
    return table if has_own else table.drop(columns="trajectory")


def initial_table(series: Series, fitted: Fitted) -> pd.DataFrame:
    """A row for each trajectory: the state at its first sample, with standard errors."""
    states = fitted.system.states
    cells = np.stack([fitted.initial, fitted.initial_errors], axis=2).reshape(len(series.trajectories), -1)
    columns = pd.MultiIndex.from_product([states, ["value", "standard_error"]], names=["state", None])
    labels = [label or _ONLY for label in series.labels]
    return pd.DataFrame(cells, columns=columns, index=pd.Index(labels, name="trajectory"))


def courses_table(finding: DynamicsFinding, along: Sequence[Course]) -> pd.DataFrame:
    """All samples with what the system has there; NaN where its simulation has ended."""
    places, states = measured_places(finding), finding.system.states
    pieces = []
    for one in along:
        own = one.states[np.searchsorted(one.time, one.measured.time)]
        columns: dict[str, object] = {finding.series.time: one.measured.time}
        if one.measured.label:
            columns = {"trajectory": one.measured.label, **columns}
        columns |= {states[place]: one.measured.states[:, k] for k, place in enumerate(places)}
        columns |= dict(zip(finding.series.inputs, one.measured.inputs.T, strict=True))
        columns |= {f"{name} simulated": own[:, k] for k, name in enumerate(states)}
        pieces.append(pd.DataFrame(columns))
    return pd.concat(pieces, ignore_index=True)


def fixed_points_table(found: Behaviour) -> pd.DataFrame:
    """A row for each fixed point: the state, what it is, and its eigenvalues as text."""
    rows = [
        {
            **dict(zip(found.system.states, map(float, point.state), strict=True)),
            "kind": point.kind,
            "eigenvalues": eigenvalues_in_words(point),
            "inside_data": point.inside,
        }
        for point in found.fixed_points
    ]
    return pd.DataFrame(rows, columns=pd.Index([*found.system.states, "kind", "eigenvalues", "inside_data"]))


def eigenvalues_in_words(point: FixedPoint) -> str:
    """Conjugate pairs once, with both signs."""
    size = float(np.nanmax(np.abs(point.eigenvalues), initial=0.0))
    told = []
    for value in map(complex, point.eigenvalues):
        real = 0.0 if abs(value.real) <= 1e-9 * size else value.real
        if abs(value.imag) <= 1e-9 * size:
            told.append(f"{real:.4g}")
        elif value.imag > 0:
            told.append(f"{real:.4g} ± {value.imag:.4g}i" if real else f"±{value.imag:.4g}i")
    return ", ".join(told)
