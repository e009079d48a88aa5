"""Systems that are known, and findings made of them without a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ceql.dynamics.finding import Constant, DynamicsFinding, Fitted
from ceql.dynamics.series import Series, Trajectory
from ceql.dynamics.system import System
from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols


def make_system(equations: Mapping[str, str], **options: Any) -> System:
    """A system from the text of its right-hand sides."""
    states = tuple(equations)
    time = options.get("time", "t")
    columns = (*states, *options.get("inputs", ()), *((time,) if options.get("depends_on_time") else ()))
    symbols = make_symbols(columns)
    formulas = tuple(Formula(parse_formula(text, columns), symbols, 0.0) for text in equations.values())
    return System(states, formulas, **options)


def constants_of(system: System, error: float = 0.01, own: Mapping[str, float] | None = None) -> tuple[Constant, ...]:
    """The numbers of the equations that were searched for; `own` gives one of them a value per trajectory."""
    found: list[Constant] = []
    for k in system.searched:
        values = system.formulas[k].form.values
        found += [Constant(system.states[k], f"c{j + 1}", float(v), error * abs(v)) for j, v in enumerate(values)]
    if own is None:
        return tuple(found)
    first = next(constant for constant in found if constant.value == next(iter(own.values())))
    rest = [constant for constant in found if constant is not first]
    return (*(replace(first, value=value, trajectory=label) for label, value in own.items()), *rest)


def make_finding(
    system: System,
    initial: Sequence[Sequence[float]],
    time: np.ndarray,
    noise: float = 0.01,
    order: int = 1,
    inputs: Callable[[np.ndarray], np.ndarray] | None = None,
    others: Sequence[System] = (),
    own: Mapping[str, float] | None = None,
    notes: tuple[str, ...] = (),
) -> DynamicsFinding:
    """What a search would return that found this system, and the others after it."""
    rng = np.random.default_rng(0)
    labels = list(own or ([f"run {k + 1}" for k in range(len(initial))] if len(initial) > 1 else [""]))
    measured = [k for k, name in enumerate(system.states) if order == 1 or not (system.given and not system.given[k])]
    names = tuple(system.states[k] for k in measured)
    constants, begins = constants_of(system, own=own), np.array(initial, float)
    chosen = Fitted(system, 0.0, 1.0, (), constants, begins, begins, np.zeros(len(names)))
    trajectories, simulated = [], []
    for label, start in zip(labels, initial, strict=True):
        states = chosen.of_trajectory(label).simulate(start, time, inputs)
        given = inputs(time) if inputs is not None else np.zeros((len(time), 0))
        scatter = noise * states[:, measured].std(axis=0) * rng.standard_normal((len(time), len(measured)))
        trajectories.append(Trajectory(label, time, states[:, measured] + scatter, given))
        simulated.append(states)
    series = Series(tuple(trajectories), system.time, names, system.inputs, order)
    weights = np.exp(-(np.arange(1 + len(others), dtype=float) ** 2) * 1.5)
    fits = []
    for k, one in enumerate((system, *others)):
        constants = chosen.constants if k == 0 else constants_of(one)
        simulated = simulated if k == 0 else [one.simulate(start, time, inputs) for start in initial]
        fits.append(
            Fitted(
                one,
                float(-500 + 3 * k),
                float(weights[k] / weights.sum()),
                r2_of(trajectories, simulated, measured),
                constants,
                np.array(initial, float),
                0.01 * np.abs(np.array(initial, float)),
                noise_of(trajectories, simulated, measured),
                tuple(simulated),
            )
        )
    return DynamicsFinding(series, tuple(fits), "Slopes by splines; noise of 1 %.", 1.5, 0.998, notes)


def r2_of(
    trajectories: Sequence[Trajectory], simulated: Sequence[np.ndarray], measured: list[int]
) -> tuple[float, ...]:
    truth = np.vstack([one.states for one in trajectories])
    left = truth - np.vstack([states[:, measured] for states in simulated])
    return tuple(1.0 - np.nansum(left**2, axis=0) / np.nansum((truth - np.nanmean(truth, axis=0)) ** 2, axis=0))


def noise_of(trajectories: Sequence[Trajectory], simulated: Sequence[np.ndarray], measured: list[int]) -> np.ndarray:
    left = [one.states - states[:, measured] for one, states in zip(trajectories, simulated, strict=True)]
    return np.sqrt(np.nanmean(np.vstack(left) ** 2, axis=0))


LOTKA_VOLTERRA = {"x": "1.1*x - 0.4*x*y", "y": "0.1*x*y - 0.4*y"}
PENDULUM = {"a": "a_speed", "a_speed": "-9.81*sin(a) - 0.2*a_speed"}
MICHAELIS_MENTEN = {"s": "-1.5*s/(0.3 + s)"}


@pytest.fixture(scope="session")
def lotka_volterra() -> DynamicsFinding:
    others = [make_system({"x": "1.1*x - 0.4*x*y + 0.01*x**2", "y": LOTKA_VOLTERRA["y"]})]
    return make_finding(
        make_system(LOTKA_VOLTERRA), [[10.0, 5.0], [4.0, 6.0]], np.linspace(0, 15, 90), others=others,
        notes=("A note of the search.",),
    )  # fmt: skip


@pytest.fixture(scope="session")
def pendulum() -> DynamicsFinding:
    system = make_system(PENDULUM, given=(True, False))
    return make_finding(system, [[2.5, 0.0]], np.linspace(0, 6, 120), order=2)


@pytest.fixture(scope="session")
def michaelis_menten() -> DynamicsFinding:
    return make_finding(make_system(MICHAELIS_MENTEN), [[3.0]], np.linspace(0, 4, 50))


@pytest.fixture(scope="session")
def driven() -> DynamicsFinding:
    """A state that an input drives, with a rate of its own in each trajectory."""
    system = make_system({"level": "-0.5*level + 2.0*u"}, inputs=("u",))
    return make_finding(
        system, [[1.0], [3.0]], np.linspace(0, 8, 60), inputs=lambda time: np.sin(time)[:, None],
        own={"slow": -0.5, "fast": -1.5},
    )  # fmt: skip


@pytest.fixture(scope="session")
def system_of() -> Callable[..., System]:
    return make_system


@pytest.fixture(scope="session")
def finding_of() -> Callable[..., DynamicsFinding]:
    return make_finding
