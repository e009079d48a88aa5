"""From a fitted system to what is reported of it: constants with errors, initial states, how well it simulates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from ceql.dynamics.choosing import Contender, Contest, contender
from ceql.dynamics.finding import Constant, Fitted
from ceql.dynamics.series import Series, Trajectory
from ceql.dynamics.shooting import Shot
from ceql.dynamics.system import System
from ceql.engine.deadline import OutOfTime

_TRAINED = 2 / 3  # of a single trajectory, whose rest is then foretold


def fitted(one: Contender, weight: float, series: Series) -> Fitted:
    """What is known of the system, its trajectories simulated from their fitted initial states."""
    shot = one.shot
    count = shot.layout.size
    errors = np.sqrt(np.abs(np.diag(shot.errors())))
    begins = shot.begins[shot.segments.first]
    begin_errors = errors[count:].reshape(shot.begins.shape)[shot.segments.first]
    simulated = tuple(_simulated(one, series))
    return Fitted(
        one.system,
        one.criterion,
        weight,
        r2_of_states(series, simulated),
        _constants(shot, errors[:count], series),
        begins,
        begin_errors,
        np.sqrt(shot.squares),
        simulated,
    )


def can_be_followed(one: Contender, series: Series) -> bool:
    """Whether the system can be simulated along all trajectories from the first sample to the last."""
    return all(np.isfinite(states).all() for states in _simulated(one, series))


def _simulated(one: Contender, series: Series) -> Iterator[np.ndarray]:
    shot = one.shot
    begins = shot.begins[shot.segments.first]
    for begin, trajectory, places in zip(begins, series.trajectories, shot.layout.index, strict=True):
        system = shot.sides.with_constants(shot.constants[places])
        yield system.simulate(begin, trajectory.time, trajectory.inputs_at)


def _constants(shot: Shot, errors: np.ndarray, series: Series) -> tuple[Constant, ...]:
    """Equation by equation; one that each trajectory has for itself once for each."""
    found, number = [], 0
    for state, count in zip(shot.system.states, shot.sides.counts, strict=True):
        for k in range(count):
            is_own = number in shot.layout.own
            for label, places in zip(series.labels if is_own else [None], shot.layout.index, strict=False):
                place = places[number]
                found.append(Constant(state, f"c{k + 1}", float(shot.constants[place]), float(errors[place]), label))
            number += 1
    return tuple(found)


def r2_of_states(series: Series, simulated: tuple[np.ndarray, ...]) -> tuple[float, ...]:
    """Of each measured state over all trajectories; minus infinity where a simulated one ends before its samples."""
    found = []
    for k in range(len(series.states)):
        measured = np.concatenate([one.states[:, k] for one in series.trajectories])
        known = np.isfinite(measured)
        values = np.concatenate([states[:, k * series.order] for states in simulated])[known]
        spread = float(np.sum((measured[known] - measured[known].mean()) ** 2))
        left = float(np.sum((values - measured[known]) ** 2))
        found.append(1.0 - left / spread if np.isfinite(left) and spread > 0.0 else -np.inf)
    return tuple(found)


def told_apart(contenders: Sequence[Contender], contest: Contest) -> tuple[list[Contender], float | None]:
    """The systems, with one in front that predicts held-out samples clearly better if the criterion hardly
    distinguishes them; and the held-out R2 of the first one, if there was time to compute it."""
    choice, scores = contest.policy.choice, []
    most = contenders[0].criterion + choice.undecided
    close = [one for one in contenders if one.criterion <= most and can_be_followed(one, contest.series)]
    with suppress(OutOfTime):
        for one in close[: choice.most_alike]:
            scores.append(held_out_r2(one.system, contest))
    missed = [np.inf if score is None else 1.0 - score for score in scores]
    if len(scores) < min(len(close), choice.most_alike) or not missed or min(missed) >= choice.clearly * missed[0]:
        return list(contenders), scores[0] if scores and close[0] is contenders[0] else None
    best = int(np.argmin(missed))
    return [close[best], *(one for one in contenders if one is not close[best])], scores[best]


def held_out_r2(system: System, contest: Contest) -> float | None:
    """R2 of the last trajectory, or of the last third of a single one, with constants fitted to the rest.

    None if too little is left to fit to.
    """
    series = contest.series
    single = len(series.trajectories) == 1
    if not single:
        seen = replace(series, trajectories=series.trajectories[:-1])
        unseen = series.trajectories[-1]
        samples = sum(len(one.time) for one in seen.trajectories)
    else:
        whole = series.trajectories[-1]
        samples = int(_TRAINED * len(whole.time))
        seen = replace(series, trajectories=(_part(whole, slice(0, samples)),))
        unseen = _part(whole, slice(samples - 1, None))
    if samples < 8 or len(unseen.time) < 3:
        return None
    found = contender(system, replace(contest, series=seen, begins=contest.begins[:samples]))
    if found is None:
        return None
    first = samples - 1 if single else samples
    begin = contest.begins[first]
    if single:
        last = found.shot.segments.times[-1]
        begin = found.system.simulate(found.shot.begins[-1], np.unique(last), unseen.inputs_at)[-1]
    simulated = found.system.simulate(begin, unseen.time, unseen.inputs_at)
    scores = r2_of_states(replace(series, trajectories=(unseen,)), (simulated,))
    return float(np.mean(scores))


def _part(one: Trajectory, rows: slice) -> Trajectory:
    sizes = None if one.sizes is None else one.sizes[rows]
    return Trajectory(one.label, one.time[rows], one.states[rows], one.inputs[rows], sizes)
