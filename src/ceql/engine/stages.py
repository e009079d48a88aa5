"""The schedule by which starts are fitted, on processor and GPU: a few Adam steps in the complex domain, then least
squares onto the real axis. Most starts are dropped after the first look and more after the second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from ceql.engine import fit
from ceql.engine.deadline import NEVER, Deadline
from ceql.network import Structure
from ceql.operators.tape import Tape


@dataclass(frozen=True)
class Schedule:
    """The stages of a fit as data. Misfits are relative: the target has unit scale."""

    adam_steps: int = 30
    adam_rate: float = 5e-2
    adam_imaginary: float = 1e-6  # penalty on imaginary parts
    adam_argument: float = 1e-3  # penalty on arguments below zero
    # Use single precision, where the device has it; least squares find the remaining digits.
    adam_in_single: bool = True
    first_look: int = 15  # Levenberg-Marquardt iterations before most starts are dropped
    survivors: float = 0.12  # share of the starts of a chunk that continue after these
    finalists: float = 0.4  # share of the survivors that continue after the first penalty on imaginary parts
    # Growing penalties on imaginary parts, which move poles onto the real axis.
    imaginary: tuple[float, ...] = (1e-6, 1e-4, 1e-2)
    descent: int = 30  # iterations at each of these penalties
    finish: int = 120  # iterations on the real axis
    separable: bool = True  # solve for the weights of the last sum at every step of the finish, where the device can
    argument: float = 1e-2  # penalty on arguments below zero in least squares
    target: float = 1e-28  # misfit at which a fit ends
    complex_weights: bool = True


@dataclass(frozen=True, eq=False)
class Chunk:
    """Fitted starts on the real axis: live edges, real parameters, misfit, and whether every domain is respected."""

    edges: np.ndarray
    params: np.ndarray
    misfit: np.ndarray
    in_domain: np.ndarray

    @staticmethod
    def concatenate(chunks: Sequence[Chunk]) -> Chunk:
        return Chunk(*(np.concatenate([getattr(c, name) for c in chunks]) for name in Chunk.__annotations__))

    def rows(self, rows: np.ndarray) -> Chunk:
        return Chunk(*(getattr(self, name)[rows] for name in Chunk.__annotations__))


@dataclass(frozen=True, eq=False)
class Work:
    """Chunks of starts with everything needed to fit them on any machine."""

    structure: Structure
    samples: fit.Samples
    schedule: Schedule
    edges: np.ndarray
    params: np.ndarray
    chunk_size: int | None = None  # starts that compete with each other; None: all
    masks: np.ndarray | None = None  # live parameters for complex weights, if known already

    def chunks(self) -> list[Work]:
        """Return one piece of work per chunk."""
        step = self.chunk_size or len(self.edges)
        rows = [slice(k, k + step) for k in range(0, len(self.edges), step)]
        return [self._rows(k) for k in rows]

    def _rows(self, k: slice) -> Work:
        masks = None if self.masks is None else self.masks[k]
        return replace(self, edges=self.edges[k], params=self.params[k], masks=masks, chunk_size=None)

    @property
    def live(self) -> np.ndarray:
        """Per start, the mask of parameters fitted in the first stages."""
        if not self.schedule.complex_weights:
            return self.structure.parameter_mask(self.edges, imaginary=False)
        return self.structure.smoothing_mask(self.edges) if self.masks is None else self.masks


class Batch(Protocol):
    """Starts in the memory of the device that fits them; `on_host` fetches results."""

    separates: bool  # whether it solves separable least squares

    def select(self, rows: np.ndarray, masks: np.ndarray | None = None) -> Batch:
        """Return some of the starts with their current parameters, and with other masks if these are given."""
        ...

    def run(self, stages: Sequence[fit.Stage], *, time_limit: float) -> Any:
        """Run the stages on every start; return `params`, `objective` and `misfit`. 0 seconds mean no limit."""
        ...


# Makes a batch of a tape, samples, parameters and masks.
Device = Callable[[Tape, fit.Samples, np.ndarray, np.ndarray], Batch]


class Processor:
    """Starts fitted on the cores of this machine."""

    separates = True

    def __init__(
        self,
        tape: Tape,
        samples: fit.Samples,
        params: np.ndarray,
        masks: np.ndarray,
        threads: int = 1,
        stop: fit.StopFlag | None = None,
    ) -> None:
        self._tape, self._samples, self._masks = tape, samples, masks
        self._params, self._threads, self._stop = params, threads, stop

    def select(self, rows: np.ndarray, masks: np.ndarray | None = None) -> Processor:
        masks = self._masks[rows] if masks is None else masks
        return Processor(self._tape, self._samples, self._params[rows], masks, self._threads, self._stop)

    def run(self, stages: Sequence[fit.Stage], *, time_limit: float) -> fit.Fits:
        deadline = NEVER if time_limit == 0.0 else Deadline.after(time_limit)
        fits = None
        for stage in stages:
            method: Any = partial(fit.adam, resumable=False) if isinstance(stage.options, fit.Adam) else fit.levenberg
            samples = self._samples.in_single if stage.in_single else self._samples
            given = self._tape, samples, self._params, self._masks, stage.options, stage.penalties
            fits = method(*given, threads=self._threads, stop=self._stop, time_limit=deadline.of_a_fit)
            self._params = fits.params
        if fits is None:
            raise ValueError("there is no stage to run")
        return fits


def on_processor(threads: int = 1, stop: fit.StopFlag | None = None) -> Device:
    return partial(Processor, threads=threads, stop=stop)


def fit_chunks(works: Sequence[Work], device: Device, deadline: Deadline = NEVER) -> list[Chunk]:
    """Run the whole schedule on the work of one round, which shares its structure, samples and schedule.

    The result of a start depends only on its own row and its chunk. Fits still running at the `deadline` end early.
    """
    structure, samples, schedule = works[0].structure, works[0].samples, works[0].schedule
    edges, params, masks = (_together(works, name) for name in ("edges", "params", "live"))
    sizes = [[len(chunk.edges) for chunk in work.chunks()] for work in works]
    ends = np.cumsum([size for of_work in sizes for size in of_work])
    with_imaginary = schedule.complex_weights
    batch = device(structure.tape(), samples, params, masks)
    stages = Stages(schedule, structure.is_imaginary.astype(float), schedule.separable and batch.separates)
    objective = on_host(batch.run(stages.first_look, time_limit=deadline.of_a_fit).objective)
    best, ends = _going_on(edges, objective, ends, len(samples.y), schedule.survivors)
    edges, batch = edges[best], batch.select(best)
    if with_imaginary:
        first, *rest = stages.descent
        objective = on_host(batch.run([first], time_limit=deadline.of_a_fit).objective)
        best, ends = _going_on(edges, objective, ends, len(samples.y), schedule.finalists)
        edges, batch = edges[best], batch.select(best)
        if rest:
            batch.run(rest, time_limit=deadline.of_a_fit)
    masks = structure.parameter_mask(edges, imaginary=False)
    fits = batch.select(np.arange(len(edges)), masks).run(stages.finish, time_limit=deadline.of_a_fit)
    fitted, reached, misfit = (on_host(part) for part in (fits.params, fits.objective, fits.misfit))
    # A fit on the real axis respects every domain if its penalties are zero.
    misfit, in_domain = np.where(np.isfinite(misfit), misfit, np.inf), reached <= misfit
    whole = Chunk(edges, np.where(masks, fitted, 0.0), misfit, in_domain)
    chunks = np.cumsum([len(of_work) for of_work in sizes])
    return [whole.rows(np.arange(first, last)) for first, last in pairwise([0, *ends[chunks - 1]])]


def _together(works: Sequence[Work], name: str) -> np.ndarray:
    parts = [getattr(work, name) for work in works]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)  # avoids a copy of everything


@dataclass(frozen=True, eq=False)
class Stages:
    """The stages of a schedule, with the penalties for a structure."""

    schedule: Schedule
    on_imaginary: np.ndarray
    separable: bool = False

    @property
    def first_look(self) -> list[fit.Stage]:
        schedule = self.schedule
        penalties = fit.Penalties(ridge=schedule.adam_imaginary * self.on_imaginary, aux=schedule.adam_argument)
        adam = fit.Stage(fit.Adam(schedule.adam_steps, schedule.adam_rate), penalties, schedule.adam_in_single)
        return [adam, self._least_squares(schedule.first_look, schedule.imaginary[0])]

    @property
    def descent(self) -> list[fit.Stage]:
        return [self._least_squares(self.schedule.descent, imaginary) for imaginary in self.schedule.imaginary]

    @property
    def finish(self) -> list[fit.Stage]:
        return [self._least_squares(self.schedule.finish, 0.0, self.separable)]

    def _least_squares(self, iterations: int, imaginary: float, separable: bool = False) -> fit.Stage:
        penalties = fit.Penalties(ridge=imaginary * self.on_imaginary, aux=self.schedule.argument)
        return fit.Stage(fit.Levenberg(iterations, target=self.schedule.target, separable=separable), penalties)


def _going_on(
    edges: np.ndarray, objective: np.ndarray, ends: np.ndarray, rows: int, share: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the starts that continue, chunk by chunk and best first, and where the chunks end among them."""
    # With noise the largest starts fit best, whatever their structure, so an edge must earn its price here too.
    handicap = np.exp(np.count_nonzero(edges, axis=1) * edge_price(rows))
    judged = np.where(np.isfinite(objective), objective * handicap, np.inf)
    best = []
    for first, last in pairwise([0, *ends.tolist()]):
        order = np.argsort(judged[first:last], kind="stable")
        best.append(first + order[: max(1, int(share * len(order)))])
    return np.concatenate(best), np.cumsum([len(part) for part in best])


def edge_price(rows: int) -> float:
    """Return how much an edge must lower the logarithm of the misfit to pay for its constant."""
    return float(np.log(rows)) / rows


def on_host(array: Any) -> np.ndarray:
    """Return an array of a device in this machine's memory."""
    return array.get() if hasattr(array, "get") else array
