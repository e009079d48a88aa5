"""Systems on disk: one JSON file, versioned, read without running anything that is in it.

    {"format": "ceql-system", "version": 1, "ceql": "0.1.0",
     "parameters": {...},                     the regressor's settings
     "time": "t", "states": ["x", ...], "inputs": [...], "trajectory": null, "order": 1, "depends_on_time": false,
     "trajectories": [{"label": "", "time": [...], "states": [[...], ...], "inputs": [[...], ...]}, ...],
     "systems": [{"equations": ["...", ...], "criterion": -512.3, "weight": 0.9, "r2": [0.999, ...],
                  "constants": [{"state": "x", "name": "c1", "value": 1.1, "error": 0.01, "trajectory": null}, ...],
                  "initial": [[...], ...], "initial_errors": [[...], ...], "noise": [...],
                  "simulated": [[[...], ...], ...]}, ...],
     "how": "...", "seconds": 12.3, "r2_held_out": 0.99, "notes": [...]}

The first system is the chosen one. Of each, "equations" has one for every state (with order 2 a position is followed by
its speed), in the grammar of ``parse_formula`` with all digits, and "simulated" the states at the samples of each
trajectory. "trajectory" is the column that named the trajectories. What is not a finite number is null: a state that
was not measured, an error that the data do not determine.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ceql import __version__
from ceql.data import content as fields
from ceql.data.content import ContentError
from ceql.data.dataset import require_squares
from ceql.dynamics.claims import check_claims
from ceql.dynamics.finding import Constant, DynamicsFinding, Fitted
from ceql.dynamics.series import Series, Trajectory
from ceql.dynamics.system import System
from ceql.errors import CeqlError, why_unreadable
from ceql.expression import parse_formula
from ceql.expression.text.write import write_formula
from ceql.formula import Formula, make_symbols
from ceql.storage.files import write_atomically
from ceql.storage.model_file import LONGEST_FRONT, SYSTEM_FORMAT, ModelFileError

FORMAT, VERSION = SYSTEM_FORMAT, 1
_BEGIN, _BEGIN_LENGTH = re.compile(rb'\s*\{\s*"format"\s*:\s*"ceql-system"'), 200
_MOST_NUMBERS = 5_000_000  # in the samples of a file
# What each parameter of the regressor may be.
_PARAMETERS: Mapping[str, Any] = {
    "order": int,
    "operators": str | None,
    "time_limit": int | float,
    "depends_on_time": bool,
    "per_trajectory": str | None,
    "random_state": int | None,
    "threads": int | None,
    "verbose": bool | None,
}
_ROUNDING = 1e-6  # by which the sum of the weights may miss one


def is_system_file(path: str | Path) -> bool:
    """Whether a file says at its begin that it is one of these; one that cannot be read does not."""
    try:
        with Path(path).open("rb") as file:
            return _BEGIN.match(file.read(_BEGIN_LENGTH)) is not None
    except OSError:
        return False


# ---- writing ------------------------------------------------------------------------------------------------------


def write_system(
    path: str | Path, parameters: Mapping[str, Any], finding: DynamicsFinding, column: str | None = None
) -> None:
    """Writes the whole file or nothing."""
    series = finding.series
    content = {
        "format": FORMAT,
        "version": VERSION,
        "ceql": __version__,
        "parameters": dict(parameters),
        "time": series.time,
        "states": list(series.states),
        "inputs": list(series.inputs),
        "trajectory": column,
        "order": series.order,
        "depends_on_time": finding.system.depends_on_time,
        "trajectories": [_trajectory(one) for one in series.trajectories],
        "systems": [_fitted(finding.best), *(_fitted(one) for one in finding.systems[1:] if _reads_back(one, finding))],
        "how": finding.how,
        "seconds": finding.seconds,
        "r2_held_out": _finite(finding.r2_held_out),
        "notes": list(finding.notes),
    }
    try:
        text = json.dumps(content, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ModelFileError(
            f"The system cannot be saved: {error}. Name operators by text and give random_state as a number."
        ) from None
    write_atomically(path, text, ModelFileError)


def _reads_back(fitted: Fitted, finding: DynamicsFinding) -> bool:
    """A system beside the chosen one may have numbers that no reader takes, and the file has to load all the same."""
    try:
        again = _system(json.loads(json.dumps(_fitted(fitted))), finding.series, fitted.system.depends_on_time)
        check_claims(replace(finding, systems=(again,)))
    except (ContentError, CeqlError, ValueError):
        return False
    return True


def _trajectory(one: Trajectory) -> dict[str, Any]:
    return {
        "label": one.label,
        "time": one.time.tolist(),
        "states": _with_null(one.states),
        "inputs": one.inputs.tolist(),
    }


def _fitted(fitted: Fitted) -> dict[str, Any]:
    return {
        "equations": [write_formula(formula.expression) for formula in fitted.system.formulas],
        "criterion": fitted.criterion,
        "weight": fitted.weight,
        "r2": [_finite(score) for score in fitted.r2],
        "constants": [
            {"state": c.state, "name": c.name, "value": c.value, "error": _finite(c.error), "trajectory": c.trajectory}
            for c in fitted.constants
        ],
        "initial": _with_null(fitted.initial),
        "initial_errors": _with_null(fitted.initial_errors),
        "noise": _with_null(fitted.noise),
        "simulated": [_with_null(states) for states in fitted.simulated],
    }


def _with_null(values: Any) -> Any:
    whole = np.asarray(values, float)
    listed = whole.astype(object)
    listed[~np.isfinite(whole)] = None
    return listed.tolist()


def _finite(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else float(number)


# ---- reading ------------------------------------------------------------------------------------------------------


def read_system(path: str | Path) -> tuple[dict[str, Any], DynamicsFinding, str | None]:
    """What `write_system` was given; an error in plain words for anything else."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelFileError(why_unreadable(path, error)) from error
    except (ValueError, RecursionError):
        raise ModelFileError(f"{path} is not a saved system, or only part of one: it is not complete JSON.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a saved system of differential equations.")
    if content.get("version") != VERSION:
        raise ModelFileError(
            f"{path} has version {content.get('version')!r} of the format, but this ceql reads {VERSION}: upgrade ceql."
        )
    try:
        return _restored(content)
    except (ContentError, CeqlError) as error:
        raise ModelFileError(f"{path} is damaged: {str(error).removesuffix('.')}.") from error
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _restored(content: dict[str, Any]) -> tuple[dict[str, Any], DynamicsFinding, str | None]:
    parameters, series = _parameters(content), _series(content)
    rows = fields.rows(content, "systems")
    if not rows:
        raise ContentError("'systems' has no rows")
    depends = fields.flag(content, "depends_on_time")
    texts = [text for row in rows for text in fields.names(row, "equations")]
    if sum(map(len, texts)) > LONGEST_FRONT:
        raise ContentError("its equations are too long")
    systems = tuple(_system(row, series, depends) for row in rows)
    total = sum(fitted.weight for fitted in systems)
    if any(fitted.weight < 0.0 for fitted in systems) or total > 1.0 + _ROUNDING:
        raise ContentError("the weights of 'systems' must be numbers of at least 0 whose sum is at most 1")
    finding = DynamicsFinding(
        series,
        systems,
        fields.text(content, "how"),
        fields.number(content, "seconds", least=0.0),
        _number_or(content, "r2_held_out", None),
        fields.names(content, "notes", blank=True),
    )
    check_claims(finding)
    column = None if fields.field(content, "trajectory") is None else fields.text(content, "trajectory")
    return parameters, finding, column


def _parameters(content: dict[str, Any]) -> dict[str, Any]:
    """Plain values of the kinds that the regressor takes; whether it can use them is said when it does."""
    found = fields.field(content, "parameters")
    if not isinstance(found, dict):
        raise ContentError("'parameters' is not a table")
    for name, value in found.items():
        several = isinstance(value, list) and all(isinstance(part, str) for part in value)
        is_list = several and name == "operators"
        if name not in _PARAMETERS or not (is_list or isinstance(value, _PARAMETERS[name])):
            raise ContentError(f"the parameter {fields.shown(name)} is {fields.shown(value)}")
    return found


def _series(content: dict[str, Any]) -> Series:
    order = fields.whole(content, "order", 2)
    states, inputs, time = (
        fields.names(content, "states"),
        fields.names(content, "inputs"),
        fields.text(content, "time"),
    )
    if order < 1 or not states:
        raise ContentError("'order' must be 1 or 2, and 'states' hold a name")
    listed = fields.rows(content, "trajectories")
    if not listed:
        raise ContentError("'trajectories' has no rows")
    series = Series(tuple(_read_trajectory(row, states, inputs) for row in listed), time, states, inputs, order)
    names = (*series.system_states, *inputs, time)
    if len(set(names)) < len(names) or len(set(series.labels)) < len(listed):
        raise ContentError("a name of a column or the label of a trajectory occurs twice")
    if series.samples * (len(states) + len(inputs)) > _MOST_NUMBERS:
        raise ContentError(f"it has more than {_MOST_NUMBERS:,} numbers")
    for k, name in enumerate(states):
        column = np.concatenate([one.states[:, k] for one in series.trajectories])
        if not np.isfinite(column).any():
            raise ContentError(f"state {name!r} was never measured")
        require_squares(column[np.isfinite(column)], f"state {name!r}")
    return series


def _read_trajectory(row: Any, states: tuple[str, ...], inputs: tuple[str, ...]) -> Trajectory:
    time = fields.numbers(row, "time", (None,))
    if len(time) < 2 or (np.diff(time) <= 0.0).any():
        raise ContentError("'time' must hold at least two numbers, each larger than the one before")
    given = fields.numbers(row, "inputs", (len(time), len(inputs))) if inputs else np.zeros((len(time), 0))
    return Trajectory(fields.text(row, "label"), time, _with_gaps(row, "states", (len(time), len(states))), given)


def _system(row: Any, series: Series, depends_on_time: bool) -> Fitted:
    states = series.system_states
    columns = (*states, *series.inputs, *((series.time,) if depends_on_time else ()))
    texts, symbols = fields.names(row, "equations"), make_symbols(columns)
    if len(texts) != len(states):
        raise ContentError(f"'equations' has {len(texts)} for {len(states)} states")
    formulas = tuple(Formula(parse_formula(text, columns, as_written=True), symbols, 0.0) for text in texts)
    given = tuple(series.order == 2 and k % 2 == 0 for k in range(len(states)))
    for k, formula in enumerate(formulas):
        if given[k] and formula.expression != symbols[k + 1]:
            raise ContentError(f"the equation of {states[k]!r} is not its speed")
    system = System(states, formulas, series.inputs, series.time, depends_on_time, given)
    trajectories, shape = len(series.trajectories), (len(series.trajectories), len(states))
    simulated = fields.rows(row, "simulated")
    if len(simulated) not in (0, trajectories):
        raise ContentError(f"'simulated' has {len(simulated)} trajectories in place of {trajectories}")
    pairs = zip(simulated, series.trajectories, strict=False)
    return Fitted(
        system,
        fields.number(row, "criterion"),
        fields.number(row, "weight", least=0.0),
        _scores(row, len(series.states)),
        _constants(row, system, series),
        fields.numbers(row, "initial", shape),
        np.where(np.isnan(errors := _with_gaps(row, "initial_errors", shape)), np.inf, errors),
        _with_gaps(row, "noise", (len(series.states),)),
        tuple(_with_gaps({"simulated": one}, "simulated", (len(t.time), len(states))) for one, t in pairs),
    )


def _constants(row: Any, system: System, series: Series) -> tuple[Constant, ...]:
    found = []
    for one in fields.rows(row, "constants"):
        label = fields.field(one, "trajectory")
        if label is not None and label not in series.labels:
            raise ContentError(f"a constant belongs to {fields.shown(label)}, which is not a trajectory")
        constant = Constant(
            fields.text(one, "state"),
            fields.text(one, "name"),
            fields.number(one, "value"),
            _number_or(one, "error", math.inf, least=0.0),
            label,
        )
        if constant.state not in system.states:
            raise ContentError(
                f"a constant stands in the equation of {fields.shown(constant.state)}, which is not a state"
            )
        found.append(constant)
    return tuple(found)


def _scores(row: Any, count: int) -> tuple[float, ...]:
    """R2 of each measured state; minus infinity where the simulation ends before its samples."""
    listed = fields.rows(row, "r2")
    if len(listed) != count:
        raise ContentError(f"'r2' has {len(listed)} numbers in place of {count}")
    scores = tuple(_number_or({"r2": value}, "r2", -math.inf) for value in listed)
    if any(score > 1.0 for score in scores):
        raise ContentError("'r2' holds a number above 1")
    return scores


def _number_or(content: Any, name: str, otherwise: Any, least: float = -math.inf) -> Any:
    return otherwise if fields.field(content, name) is None else fields.number(content, name, least=least)


def _with_gaps(content: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers in that shape; null stands for one that is not there."""
    try:
        values = np.array(fields.rows(content, name), float)
    except (TypeError, ValueError, OverflowError):
        raise ContentError(f"{name!r} is not a table of numbers") from None
    if values.shape != shape or np.isinf(values).any():
        raise ContentError(f"{name!r} is not a table of {' by '.join(map(str, shape))} finite numbers")
    return values
