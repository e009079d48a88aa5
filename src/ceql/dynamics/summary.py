"""A finding in words and as JSON: what `ceql ode` says about it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ceql.dynamics.analysis import Behaviour, held_in_words
from ceql.dynamics.courses import Course
from ceql.dynamics.finding import Constant, DynamicsFinding, Fitted
from ceql.dynamics.frames import complexity, eigenvalues_in_words, left_side, mean_r2
from ceql.dynamics.rounding import shown_system, with_error
from ceql.dynamics.source import system_in_latex
from ceql.expression import parametrise
from ceql.expression.text.write import readable_text
from ceql.formula import Formula, make_symbols

_MOST_OTHERS = 4  # systems beside the chosen one that are printed
_COMPETES = 0.01  # weight of a system that is printed
_MOST_TRAJECTORIES = 6  # whose initial states are printed
_LOOSE = 0.5  # of a constant: a larger standard error leaves it all but open
_EXPLAINED = 0.5  # R2 below which a system says little
_DOUBT = 0.5  # weight of the chosen system below which another one may well be true


def in_words(finding: DynamicsFinding, along: Sequence[Course], found: Behaviour) -> str:
    """The equations, how well they follow the data, constants, fixed points, poles, other systems and doubts."""
    parts = [
        equations_in_words(finding.best),
        _fit(finding, along),
        constants_in_words(finding.best),
        _initial(finding),
        fixed_points_in_words(finding, found),
        sentences_on(found),
        _others(finding),
        [finding.how, *doubts(finding), *finding.notes],
        [f"Found in {finding.seconds:.1f} s."],
    ]
    return "\n\n".join("\n".join(line for line in part if line) for part in parts if any(part))


def sentences_on(found: Behaviour) -> list[str]:
    """Where right-hand sides are singular or end."""
    return [f"{str(one)[:1].upper()}{str(one)[1:]}." for one in found.singularities]


def equations_in_words(fitted: Fitted) -> list[str]:
    """A line for each state; a constant that each trajectory has for itself stands there by its name."""
    own = {(c.state, c.name) for c in fitted.constants if c.trajectory is not None}
    system = shown_system(fitted)
    pairs = zip(system.states, system.formulas, strict=True)
    return [f"{left_side(system, state)} = {_over_own(formula, state, own)}" for state, formula in pairs]


def _over_own(formula: Formula, state: str, own: set[tuple[str, str]]) -> str:
    form = parametrise(formula.expression)
    names = [f"c{k + 1}" for k in range(len(form.values))]
    if not any((state, name) in own for name in names):
        return str(formula)
    symbols = make_symbols(tuple(f"{name}[trajectory]" for name in names))
    rows = zip(names, form.values, symbols, strict=True)
    kept: list[Any] = [symbol if (state, name) in own else value for name, value, symbol in rows]
    return readable_text(form.substitute(kept))


def _fit(finding: DynamicsFinding, along: Sequence[Course]) -> list[str]:
    series, best = finding.series, finding.best
    count = len(series.trajectories)
    told = ", ".join(f"{name} {_score(r2)}" for name, r2 in zip(series.states, best.r2, strict=True))
    noise = ", ".join(f"{name} {value:.2g}" for name, value in zip(series.states, best.noise, strict=True))
    of = "the trajectory, simulated from its fitted initial state"
    of = f"{count} trajectories, simulated from their fitted initial states" if count > 1 else of
    lines = [
        f"R2 of {of}: {told} ({series.samples:,} samples).",
        f"Standard deviation of the residuals: {noise}.",
    ]
    if finding.r2_held_out is not None:
        lines.append(f"R2 on samples that the constants were not fitted to: {_score(finding.r2_held_out)}.")
    return [*lines, *ends_in_words(series.time, along)]


def ends_in_words(time: str, along: Sequence[Course]) -> Iterator[str]:
    """A sentence for each simulation that does not reach the last sample."""
    for one in along:
        if one.ends is not None:
            whose = f" of trajectory {one.measured.label!r}" if one.measured.label else ""
            yield (
                f"The simulation{whose} ends at {time} = {one.ends:.4g}: it blows up there or leaves the domain of an "
                "equation."
            )


def constants_in_words(fitted: Fitted) -> list[str]:
    """The equations over names of their constants, and a line for each constant; none where all numbers are whole."""
    lines: list[str] = []
    for k in fitted.system.searched:
        state, formula = fitted.system.states[k], fitted.system.formulas[k]
        own = [constant for constant in fitted.constants if constant.state == state]
        if not own:
            continue
        lines.append(f"{left_side(fitted.system, state)} = {readable_text(formula.named)}")
        for name in dict.fromkeys(constant.name for constant in own):
            lines += _constant_lines(name, [constant for constant in own if constant.name == name])
    return lines


def _constant_lines(name: str, same: Sequence[Constant]) -> list[str]:
    if same[0].trajectory is None:
        return [f"  {name} = {with_error(same[0].value, same[0].error)}"]
    width = max(len(str(constant.trajectory)) for constant in same)
    return [f"  {name} of {c.trajectory!s:{width}} = {with_error(c.value, c.error)}" for c in same]


def _initial(finding: DynamicsFinding) -> list[str]:
    series, best = finding.series, finding.best
    lines = []
    for place, trajectory in enumerate(series.trajectories[:_MOST_TRAJECTORIES]):
        rows = zip(best.system.states, best.initial[place], best.initial_errors[place], strict=True)
        told = ", ".join(f"{name} = {with_error(value, error)}" for name, value, error in rows)
        whose = f" of {trajectory.label}" if trajectory.label else ""
        lines.append(f"Initial state{whose}, at {series.time} = {trajectory.time[0]:.6g}: {told}")
    more = len(series.trajectories) - _MOST_TRAJECTORIES
    return [*lines, f"{more} more initial states: see --json or --out."] if more > 0 else lines


def fixed_points_in_words(finding: DynamicsFinding, found: Behaviour) -> list[str]:
    """A line for each; whose constants and which inputs they belong to, where that matters."""
    if not found.fixed_points:
        return ["No fixed point within the data or near them."] if not finding.system.depends_on_time else []
    given = held_in_words(found.system, found.around)
    own = any(constant.trajectory is not None for constant in finding.best.constants)
    whose = f" of trajectory {finding.series.labels[0]}" if own else ""
    head = f"Fixed points{whose}{f' with {given}' if given else ''}:"
    lines = []
    for point in found.fixed_points:
        place = ", ".join(f"{name} = {value:.5g}" for name, value in zip(found.system.states, point.state, strict=True))
        near = "" if point.inside else ", outside the data"
        lines.append(f"  {place}: {point.kind} (eigenvalues {eigenvalues_in_words(point)}){near}")
    return [head, *lines]


def _others(finding: DynamicsFinding) -> list[str]:
    rest = [fitted for fitted in finding.systems[1:] if fitted.weight >= _COMPETES][:_MOST_OTHERS]
    if not rest:
        return []
    lines = [f"Other systems that the data allow (the weight of the one above is {finding.best.weight:.2f}):"]
    for fitted in rest:
        lines.append(f"  weight {fitted.weight:.2f}, R2 {_score(mean_r2(fitted))}")
        shown = shown_system(fitted)
        for k in _differing(fitted, finding.best):
            lines.append(f"    {left_side(shown, shown.states[k])} = {shown.formulas[k]}")
    return lines


def _differing(fitted: Fitted, chosen: Fitted) -> list[int]:
    """The equations that have another structure than those of the chosen system; all where none has."""
    pairs = zip(fitted.system.formulas, chosen.system.formulas, strict=True)
    others = [k for k, (one, other) in enumerate(pairs) if str(one.named) != str(other.named)]
    return others or list(fitted.system.searched)


def doubts(finding: DynamicsFinding) -> list[str]:
    """Sentences on what the data leave open, with the measurement that would help."""
    best = finding.best
    loose = [c for c in best.constants if not c.error <= _LOOSE * abs(c.value)]
    told = []
    if loose:
        named = ", ".join(dict.fromkeys(f"{c.name} of {left_side(best.system, c.state)}" for c in loose[:4]))
        told.append(f"The data hardly determine {named}{' and others' if len(loose) > 4 else ''}.")
    if not mean_r2(best) > _EXPLAINED:
        told.append(
            "The system explains little of the motion: the data may be only noise, a state may be missing from "
            "them, or a longer search may find better equations."
        )
    if best.weight < _DOUBT and len(finding.systems) > 1:
        is_likeliest = best.weight >= max(fitted.weight for fitted in finding.systems)
        why = "are the most likely ones" if is_likeliest else "predict samples best that they were not fitted to"
        told.append(f"Several systems explain the data about as well: the equations above {why}.")
    if told and len(finding.series.trajectories) == 1:
        told.append("One trajectory visits few states: measure another from a different initial state.")
    return told


def _score(r2: float) -> str:
    return f"{r2:.6g}" if math.isfinite(r2) else "none"


# ---- JSON ---------------------------------------------------------------------------------------------------------


def as_json(finding: DynamicsFinding, along: Sequence[Course], found: Behaviour) -> dict[str, Any]:
    """Everything that is known, in plain numbers; what JSON cannot hold (infinity, not a number) is null."""
    series, system = finding.series, finding.system
    return {
        "time": series.time,
        "states": list(system.states),
        "measured": list(series.states),
        "inputs": list(series.inputs),
        "order": series.order,
        "latex": system_in_latex(system),
        **_system_as_json(finding.best),
        "r2_held_out": _finite(finding.r2_held_out),
        "noise": {name: _finite(v) for name, v in zip(series.states, finding.best.noise, strict=True)},
        "trajectories": [_trajectory(finding, k, one) for k, one in enumerate(along)],
        "fixed_points": [
            {
                "state": dict(zip(found.system.states, map(float, point.state), strict=True)),
                "kind": point.kind,
                "eigenvalues": [[_finite(v.real), _finite(v.imag)] for v in map(complex, point.eigenvalues)],
                "inside_data": point.inside,
            }
            for point in found.fixed_points
        ],
        "held_inputs": dict(zip(series.inputs, map(float, found.around.held), strict=False)),
        "singularities": [
            {"state": one.state, "kind": one.border.kind, "where": str(one.border), "inside_data": one.inside}
            for one in found.singularities
        ],
        "systems": [_system_as_json(fitted) for fitted in finding.systems],
        "how": finding.how,
        "notes": [*doubts(finding), *finding.notes],
        "seconds": finding.seconds,
    }


def _system_as_json(fitted: Fitted) -> dict[str, Any]:
    system = fitted.system
    return {
        "equations": dict(zip(system.states, map(str, system.formulas), strict=True)),
        "weight": _finite(fitted.weight),
        "criterion": _finite(fitted.criterion),
        "complexity": complexity(system),
        "r2": [_finite(r2) for r2 in fitted.r2],
        "constants": [
            {
                "state": constant.state,
                "name": constant.name,
                "value": constant.value,
                "standard_error": _finite(constant.error),
                **({} if constant.trajectory is None else {"trajectory": constant.trajectory}),
            }
            for constant in fitted.constants
        ],
    }


def _trajectory(finding: DynamicsFinding, place: int, one: Course) -> dict[str, Any]:
    best = finding.best
    rows = zip(best.system.states, best.initial[place], best.initial_errors[place], strict=True)
    return {
        "label": one.measured.label,
        "samples": len(one.measured.time),
        "begin": float(one.measured.time[0]),
        "end": float(one.measured.time[-1]),
        "initial": {name: {"value": _finite(v), "standard_error": _finite(e)} for name, v, e in rows},
        "simulation_ends": one.ends,
    }


def _finite(number: float | np.floating | None) -> float | None:
    return None if number is None or not math.isfinite(number) else float(number)
