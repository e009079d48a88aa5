"""Draws found formulas inside and outside the training range, with their poles and the training points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ceql.bench.definitions import Problem
from ceql.bench.methods import find_method
from ceql.bench.points import columns, target
from ceql.bench.problems import load_problem, sample
from ceql.bench.records import Record
from ceql.bench.suite_tables import best_run
from ceql.expression import compile_numpy, parse_formula
from ceql.expression.evaluate.poles import Pole, find_poles
from ceql.output.plots.canvas import new_figure
from ceql.output.plots.style import BLUE, GREY, ORANGE, RED

PROBLEMS = ("E-5", "E-6", "E-7", "E-8", "E-9", "E-10")
_METHOD = "ceql"
_REACH = 4.0  # training is in [-2, 2], extrapolation beyond it up to this
_SHOWN = 20.0


@dataclass(frozen=True, eq=False)
class Finding:
    """A problem, the seed of its data, and the formula that was found."""

    problem: Problem
    seed: int
    expression: Any


def findings(records: Sequence[Record], seed: int, time_limit: float) -> list[Finding]:
    """The run of our method with the least training error for each problem; missing ones are searched now."""
    return [_finding(name, best_run(records, name, _METHOD), seed, time_limit) for name in PROBLEMS]


def _finding(name: str, best: Record | None, seed: int, time_limit: float) -> Finding:
    problem = load_problem(name)
    if best is not None:
        return Finding(problem, best.seed, parse_formula(best.expression or "", problem.names))
    data = sample(problem, seed)
    found = find_method(_METHOD).run(data.X_train, data.y_train, data.names, seed, time_limit)
    return Finding(problem, seed, found.expression)


def draw(findings: Sequence[Finding]) -> Any:
    figure = new_figure(11, 6.4)
    axes = figure.subplots(2, 3).ravel()
    for place, finding in zip(axes, findings, strict=True):
        (_curve if len(finding.problem.variables) == 1 else _map)(figure, place, finding)
    by_label = {k: v for place in axes for v, k in zip(*place.get_legend_handles_labels(), strict=True)}
    figure.legend(by_label.values(), by_label.keys(), loc="outside lower center", ncols=len(by_label), frameon=False)
    return figure


def _poles(finding: Finding) -> list[Pole]:
    symbols = columns(finding.problem.names)
    box = np.full(len(symbols), _REACH)
    return [pole for pole in find_poles(finding.expression, symbols, -box, box) if pole.location is not None]


def _curve(figure: Any, place: Any, finding: Finding) -> None:
    x = np.linspace(-_REACH, _REACH, 4001)
    truth = target(finding.problem)(x[:, None])
    formula = compile_numpy(finding.expression, columns(finding.problem.names))
    value = np.broadcast_to(formula(x[:, None]), x.shape)
    data = sample(finding.problem, finding.seed)
    place.axvspan(-2, 2, color="0.93", lw=0, label="training range")
    place.plot(x, _broken(truth), color=GREY, lw=5, alpha=0.6, label="truth")
    place.plot(x, _broken(value), color=BLUE, lw=1.4, label="formula found")
    for k, pole in enumerate(_poles(finding)):
        place.axvline(pole.location, color=RED, ls="--", lw=1.2, label="recovered singularity" if k == 0 else None)
    place.plot(data.X_train[:, 0], data.y_train, ".", color=ORANGE, mec="black", mew=0.3, ms=6, label="training data")
    shown = np.clip(truth[np.isfinite(truth)], -_SHOWN, _SHOWN)
    margin = 0.06 * float(np.ptp(shown))
    limits = (float(shown.min()) - margin, float(shown.max()) + margin)
    place.set(xlim=(-_REACH, _REACH), ylim=limits, xlabel="x1", ylabel="y", title=finding.problem.name)


def _broken(values: np.ndarray) -> np.ndarray:
    """The curve with gaps where it leaves the picture, so that no line connects the two sides of a pole."""
    return np.where(np.abs(values) < 3 * _SHOWN, values, np.nan)


def _map(figure: Any, place: Any, finding: Finding) -> None:
    side = np.linspace(-_REACH, _REACH, 241)
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    symbols = columns(finding.problem.names)
    value = compile_numpy(finding.expression, symbols)(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    mesh = place.pcolormesh(
        side, side, np.clip(value, -_SHOWN, _SHOWN), cmap="PuOr", vmin=-_SHOWN, vmax=_SHOWN, rasterized=True
    )
    figure.colorbar(mesh, ax=place, label="y of the formula", extend="both")
    data = sample(finding.problem, finding.seed)
    place.plot(*data.X_train.T, ".", color="black", ms=2.5)
    place.plot([-2, 2, 2, -2, -2], [-2, -2, 2, 2, -2], color="black", lw=1)
    for pole in _poles(finding):
        zero = compile_numpy(pole.vanishes, symbols)(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        place.contour(side, side, zero, levels=[0.0], colors="black", linestyles="dashed", linewidths=1.6)
    title = f"{finding.problem.name} (box: training, dashed: pole)"
    place.set(xlabel="x1", ylabel="x2", title=title, aspect="equal")
