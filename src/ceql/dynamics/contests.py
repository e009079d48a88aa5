"""The noise that systems are judged by: at first that of the smooth path, later less if a system fits more closely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ceql.dynamics.choosing import Contender, Contest, Record
from ceql.dynamics.integral_form import states_at
from ceql.dynamics.policy import DynamicsPolicy
from ceql.dynamics.series import Series
from ceql.dynamics.smoothing import SmoothTrajectory
from ceql.engine.deadline import Deadline


def contest_of(series: Series, smooth: Sequence[SmoothTrajectory], policy: DynamicsPolicy, until: Deadline) -> Contest:
    """States, their noise and their movement along the smooth path."""
    begins = np.vstack([states_at(one, one.measured.time, series.order) for one in smooth])
    movement = np.std(begins, axis=0)
    counts = [len(one.measured.time) for one in smooth]
    noise = np.sqrt(np.average([one.noise**2 for one in smooth], axis=0, weights=counts))
    if series.order == 2:  # a speed has the errors of slopes
        slopes = np.sqrt(np.mean(np.vstack([one.slope_errors for one in smooth]) ** 2, axis=0))
        noise = np.column_stack([noise, slopes]).ravel()
    movement = np.where(movement > 0.0, movement, 1.0)
    return Contest(series, begins, np.maximum(noise, policy.choice.floor * movement), movement, policy, until)


def is_clean(contest: Contest) -> bool:
    """Whether the smooth path is as accurate as the samples, so that the path of a model would be no better."""
    share = contest.noise[:: contest.series.order] / contest.movement[:: contest.series.order]
    return bool(np.all(share < contest.policy.smoothing.clean))


def is_murky(contest: Contest) -> bool:
    """Whether the noise is so large that some of many sums of powers would fit it better than the law does."""
    share = contest.noise[:: contest.series.order] / contest.movement[:: contest.series.order]
    return bool(np.any(share > contest.policy.choice.murky))


def with_less_noise(record: Record, best: Contender) -> Record:
    """A record with a lower noise, if the best system fits more closely than the smooth path did: a path through few
    samples may miss them by more than their noise. The best systems are then fitted again."""
    contest = record.contest
    choice, order = contest.policy.choice, contest.series.order
    left = np.maximum(np.sqrt(best.shot.squares), contest.floor)
    if np.all(left > choice.finer * contest.noise[::order]):
        return record
    noise = contest.noise.copy()
    for k, size in enumerate(left):
        ratio = min(size / noise[k * order], 1.0)
        noise[k * order : (k + 1) * order] *= ratio
    finer = Record(replace(contest, noise=np.maximum(noise, choice.floor * contest.movement)))
    for one in sorted(record.contenders, key=lambda one: one.criterion)[: choice.taken_along]:
        finer.try_out(one.system)
    return record if finer.best is None else finer


def taken_over(record: Record, contest: Contest, best: Contender) -> Record:
    """A record of the best systems, fitted again from the states of this contest and with the noise of this system."""
    order = contest.series.order
    left = np.maximum(np.sqrt(best.shot.squares), contest.floor)
    finer = Record(replace(contest, noise=np.minimum(record.contest.noise, np.repeat(left, order))))
    for one in sorted(record.contenders, key=lambda one: one.criterion)[: contest.policy.choice.taken_along]:
        finer.try_out(one.system)
    return finer
