"""The interface to the fits of the compiled core: batches of starts in, parameters and losses out."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from ceql import _core
from ceql.operators.tape import Tape, in_layout

StopFlag = _core.StopFlag


class Status(IntEnum):
    """How a start ended."""

    RAN_OUT = 0  # all steps were used
    CONVERGED = 1
    NOT_FINITE = 2
    STOPPED = 3


@dataclass(frozen=True)
class Penalties:
    """Terms added to the weighted mean square misfit."""

    ridge: np.ndarray | None = None  # one factor per parameter, times its square
    lasso: float = 0.0  # times the sum of |w|; a parameter and its imaginary partner count as one number
    aux: float = 0.0  # times the mean square of every penalised slot


@dataclass(frozen=True)
class Adam:
    steps: int
    rate: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    patience: int = 0  # steps without improvement before the rate is multiplied by `factor`; 0 = never
    factor: float = 0.1
    minimum_rate: float = 0.0
    threshold: float = 0.0  # smallest relative improvement that counts
    keep_best: bool = False  # return the best parameters seen instead of the last ones


@dataclass(frozen=True)
class Levenberg:
    iterations: int
    damping: float = 1e-3
    target: float = 0.0  # the fit ends when the misfit falls below this
    # The fit ends after three steps in a row that reduce the misfit by less than this share.
    least_reduction: float = 1e-7
    # Solve for the weights of the model's last sum at every step, by QR; only the others are iterated.
    separable: bool = False


@dataclass(frozen=True)
class Stage:
    """A stage of a schedule: the method and its penalties."""

    options: Adam | Levenberg
    penalties: Penalties = Penalties()
    in_single: bool = False  # use single precision, on a device that has it


@dataclass(frozen=True, eq=False)
class Samples:
    """Data in the core's layout, kept for many calls.

    With a matrix `mixing`, (fewer rows, samples), separable least squares minimise `mixing` times the weighted
    residuals, and the misfit is computed from that product. If its rows are orthonormal, this projects out the
    functions orthogonal to them.
    """

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    single_precision: bool = False
    mixing: np.ndarray | None = None
    core: _core.Data = field(init=False, repr=False)

    def __post_init__(self) -> None:
        mixing = np.zeros((0, len(self.y))) if self.mixing is None else self.mixing
        x, y, weight, mixing = (in_layout(a, np.float64) for a in (self.x, self.y, self.weight, mixing))
        core = _core.Data(x=x, y=y, weight=weight, single_precision=self.single_precision, mixing=mixing)
        object.__setattr__(self, "core", core)

    @cached_property
    def in_single(self) -> Samples:
        """The same samples in single precision."""
        return self if self.single_precision else replace(self, single_precision=True)

    def __reduce__(self) -> tuple:
        """Pickle the arrays; the core's copy is made again on unpickling."""
        return Samples, (self.x, self.y, self.weight, self.single_precision, self.mixing)

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None, **options: Any) -> Samples:
        return cls(x, y, np.ones(len(y)) if weight is None else weight, **options)


@dataclass(frozen=True, eq=False)
class Fits:
    """Results of a batch, one row or entry per start."""

    params: np.ndarray
    objective: np.ndarray
    misfit: np.ndarray
    status: np.ndarray
    iterations: np.ndarray
    moments: np.ndarray | None = None
    state: np.ndarray | None = None
    gradient: np.ndarray | None = None


def default_threads() -> int:
    """Return the number of cores this process may use: those it is bound to, and at most OMP_NUM_THREADS if set.

    Process pools and cluster managers set that variable for processes that share a machine.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else (os.cpu_count() or 1)
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(asked)) if asked.isdecimal() and int(asked) else cores


def _batch(tape: Tape, masks: np.ndarray | None, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    params = np.atleast_2d(in_layout(params, np.float64))
    if masks is None:
        masks = np.ones((len(params), tape.n_params), np.uint8)
    return np.atleast_2d(in_layout(masks, np.uint8)), params


def _penalties(tape: Tape, penalties: Penalties) -> dict:
    ridge = np.zeros(tape.n_params) if penalties.ridge is None else penalties.ridge
    return {"ridge": in_layout(ridge, np.float64), "aux": penalties.aux}


def values(
    tape: Tape, samples: Samples, params: np.ndarray, masks: np.ndarray | None = None, threads: int = 1
) -> np.ndarray:
    """Return the model's values, (starts, samples)."""
    masks, params = _batch(tape, masks, params)
    return _core.values(tape.core, samples.core, masks, params, threads)


def jacobian(
    tape: Tape, samples: Samples, params: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of one start and their derivatives, (samples,) and (samples, parameters)."""
    mask, params = _batch(tape, mask, params)
    return _core.jacobian(tape.core, samples.core, mask, params)


def gradient(
    tape: Tape,
    samples: Samples,
    params: np.ndarray,
    masks: np.ndarray | None = None,
    penalties: Penalties = Penalties(),
    threads: int = 1,
) -> Fits:
    masks, params = _batch(tape, masks, params)
    extra = _penalties(tape, penalties)
    return Fits(
        **_core.gradient(tape.core, samples.core, masks, params, lasso=penalties.lasso, threads=threads, **extra)
    )


def objective(
    tape: Tape,
    samples: Samples,
    params: np.ndarray,
    masks: np.ndarray | None = None,
    penalties: Penalties = Penalties(),
    threads: int = 1,
) -> Fits:
    masks, params = _batch(tape, masks, params)
    extra = _penalties(tape, penalties)
    return Fits(
        **_core.objective(tape.core, samples.core, masks, params, lasso=penalties.lasso, threads=threads, **extra)
    )


def adam(
    tape: Tape,
    samples: Samples,
    params: np.ndarray,
    masks: np.ndarray | None,
    options: Adam,
    penalties: Penalties = Penalties(),
    *,
    resume: Fits | None = None,
    resumable: bool = True,
    threads: int = 1,
    stop: StopFlag | None = None,
    time_limit: float = 0.0,
) -> Fits:
    """Run Adam from ``params``; ``resume`` continues with the moments and the rate of an earlier part of the run.

    These take much memory, so the last part of a run should not be ``resumable``.
    """
    masks, params = _batch(tape, masks, params)
    return Fits(
        **_core.adam(
            tape.core,
            samples.core,
            masks,
            params,
            lasso=penalties.lasso,
            steps=options.steps,
            rate=options.rate,
            beta1=options.beta1,
            beta2=options.beta2,
            epsilon=options.epsilon,
            patience=options.patience,
            factor=options.factor,
            minimum_rate=options.minimum_rate,
            threshold=options.threshold,
            keep_best=options.keep_best,
            resumable=resumable,
            moments=None if resume is None else resume.moments,
            state=None if resume is None else resume.state,
            threads=threads,
            stop=stop,
            time_limit=time_limit,
            **_penalties(tape, penalties),
        )
    )


def levenberg(
    tape: Tape,
    samples: Samples,
    params: np.ndarray,
    masks: np.ndarray | None,
    options: Levenberg,
    penalties: Penalties = Penalties(),
    *,
    threads: int = 1,
    stop: StopFlag | None = None,
    time_limit: float = 0.0,
) -> Fits:
    """Run Levenberg-Marquardt from ``params``; the lasso penalty is ignored."""
    masks, params = _batch(tape, masks, params)
    return Fits(
        **_core.levenberg(
            tape.core,
            samples.core,
            masks,
            params,
            iterations=options.iterations,
            damping=options.damping,
            target=options.target,
            least_reduction=options.least_reduction,
            separable=options.separable,
            threads=threads,
            stop=stop,
            time_limit=time_limit,
            **_penalties(tape, penalties),
        )
    )
