"""Distributes the chunks of a round to threads of this process, other processes or a cluster (joblib's backends).

A chunk is sent with everything its fit depends on. So the result does not depend on the worker, and a chunk whose
worker died is fitted again by another. On GPUs, a worker takes several chunks at once, and worker k uses GPU k of its
machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import joblib
import numpy as np
from joblib.parallel import BACKENDS, get_active_backend

from ceql.engine import fit, gpu
from ceql.engine.deadline import NEVER, Deadline
from ceql.engine.shared_setting import short_turns
from ceql.engine.stages import Chunk, Work, fit_chunks, on_processor
from ceql.errors import CeqlError, InputError, WorkersLostError

_ATTEMPTS = 4  # a round is sent this many times before its workers count as lost
_MOST_AHEAD = 6  # rounds fitted in advance, while earlier ones are evaluated, if there are threads for it
_MOST_AHEAD_ON_GPU = 48  # the same on a GPU, which has nothing else to do
_STARTS_AHEAD = 65_536  # limit on the starts of these rounds together, beyond a few rounds
_AT_ONCE = 3  # pieces of a round, or rounds of different targets, that are fitted at the same time
_MANY_THREADS = 4  # fewest threads for that, unless there is a GPU
_ROUNDS_ON_GPU = 4  # rounds that are fitted on a GPU at the same time
_GRACE = 120.0  # seconds after the time limit until a silent worker counts as lost: it may still be starting up


# Tasks for workers on any machine. They get the seconds left, since the clocks of different machines do not agree.


def fit_on_processor(works: Sequence[Work], threads: int, seconds: float) -> list[Chunk]:
    return fit_chunks(works, on_processor(threads), Deadline.after(seconds))


def fit_on_gpu(works: Sequence[Work], number: int, seconds: float) -> list[Chunk]:
    """Fit chunks on the GPU with this number."""
    with gpu.on_device(number):
        return fit_chunks(works, gpu.Batch, Deadline.after(seconds))


@dataclass(frozen=True)
class Workforce:
    """The number of joblib workers (0: this process) and of the core's threads per worker."""

    workers: int
    threads: int


def workforce(n_jobs: int | None, threads: int | None) -> Workforce:
    """Return the workforce that `n_jobs`, `threads` and an active `joblib.parallel_config` ask for.

    Threads use all cores anyway, so other processes are used only on request: by more than one job, or by a backend
    that is not joblib's own, such as Dask's or Ray's.
    """
    if n_jobs is not None and (not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise InputError(f"n_jobs must be None, -1 or another integer that is not 0, not {n_jobs!r}.")
    if threads is not None and (not isinstance(threads, int | np.integer) or threads < 1):
        raise InputError(f"threads must be a positive integer or None, not {threads!r}.")
    backend, jobs_of_context = get_active_backend()
    own_backends = {BACKENDS[name] for name in ("loky", "multiprocessing", "threading", "sequential")}
    if type(backend) not in own_backends:
        everybody = jobs_of_context is None and n_jobs is None
        return Workforce(_effective(-1 if everybody else n_jobs), threads or 1)
    wanted = jobs_of_context if n_jobs is None else n_jobs
    workers = 1 if wanted == -1 and jobs_of_context is None else _effective(n_jobs)
    if workers == 1:
        return Workforce(0, threads or fit.default_threads())
    return Workforce(workers, threads or max(1, fit.default_threads() // workers))


def _effective(n_jobs: Any) -> int:
    try:
        return int(joblib.effective_n_jobs(n_jobs))
    except TimeoutError as error:
        raise WorkersLostError("The cluster has no workers. Start some, or wait until they have joined it.") from error


DEVICES = ("auto", "cpu", "gpu")


def resolve_device(device: str, force: Workforce) -> str:
    """Return "cpu" or "gpu". With "auto", only this process uses a GPU, since those of other workers are unknown."""
    if device not in DEVICES:
        raise InputError(f"device must be one of {', '.join(DEVICES)}, not {device!r}.")
    if device == "gpu" and not force.workers:
        gpu.require()
    if device == "auto":
        return "gpu" if not force.workers and gpu.is_available() else "cpu"
    return device


def shared_out(chunks: Sequence[Work], workers: int) -> list[list[Work]]:
    """Return the chunks, in order, as equal groups: one per worker, or one per chunk if there are fewer chunks."""
    groups = min(workers, len(chunks))
    ends = [len(chunks) * (k + 1) // groups for k in range(groups)]
    return [list(chunks[first:last]) for first, last in zip([0, *ends], ends, strict=False)]


def joblib_pool(workers: int, patience: float | None) -> Any:
    """Return a pool of that many workers of the active backend; one silent for `patience` seconds counts as lost."""
    # Free workers get one chunk at a time. Chunks are small, so there is no need for memory-mapped files.
    options: dict[str, Any] = {"batch_size": 1, "pre_dispatch": "all", "max_nbytes": None, "timeout": patience}
    return joblib.Parallel(n_jobs=workers, **options)


class Workers:
    """Fits chunks within a `with` block, so that processes are started once and not in every round."""

    def __init__(
        self,
        n_jobs: int | None = None,
        threads: int | None = None,
        time_limit: float = np.inf,
        device: str = "cpu",
        make_pool: Callable[[int, float | None], Any] = joblib_pool,
    ) -> None:
        self.force = workforce(n_jobs, threads)
        self.device = resolve_device(device, self.force)
        # Threads for the work between rounds. With a GPU some cores are left free, since it has to wait for Python
        # threads when all cores are busy.
        feeds_gpu, cores = self.device == "gpu" and not self.force.workers, fit.default_threads()
        self.threads_here = threads or (cores - min(_ROUNDS_ON_GPU, cores // 4) if feeds_gpu else cores)
        self._patience = None if time_limit == np.inf else time_limit + _GRACE
        self._make_pool = make_pool
        self._pool: Any = None
        self._turns = ExitStack()

    def __enter__(self) -> Workers:
        self._open()
        if self.has_spare:
            self._turns.enter_context(short_turns)
        return self

    def __exit__(self, *_: object) -> None:
        self._turns.close()
        self._close()

    @property
    def has_spare(self) -> bool:
        """Whether this process has threads for other work during a fit."""
        return self._pool is not None or self.device == "gpu" or self.force.threads > 1

    @property
    def at_once(self) -> int:
        """The number of fits to run at the same time; the last starts of a single fit would leave most threads idle."""
        has_many = self.device == "gpu" or self.force.threads >= _MANY_THREADS
        return _AT_ONCE if has_many and self._pool is None else 1

    @property
    def rounds_at_once(self) -> int:
        """The number of rounds of different targets to fit at the same time."""
        return _ROUNDS_ON_GPU if self.device == "gpu" and self._pool is None else self.at_once

    @property
    def rounds_ahead(self) -> int:
        """The number of rounds that may be fitted before earlier ones are evaluated; 0 without spare threads."""
        if self._pool is not None:
            return 0
        return _MOST_AHEAD_ON_GPU if self.device == "gpu" else min(self.force.threads - 1, _MOST_AHEAD)

    @property
    def starts_ahead(self) -> int:
        """The number of starts that these rounds may have in all, unless there are only a few rounds."""
        return _STARTS_AHEAD

    def fit(self, works: Sequence[Work], deadline: Deadline = NEVER, stop: fit.StopFlag | None = None) -> list[Chunk]:
        """Return the fitted chunks in the given order; those of one piece of work may come as one chunk.

        Fits in this process end early once `stop` is set.
        """
        if self._pool is None:
            own = partial(gpu.Batch, stop=stop) if self.device == "gpu" else on_processor(self.force.threads, stop)
            return fit_chunks(works, own, deadline)
        chunks = [chunk for work in works for chunk in work.chunks()]
        if self.device == "gpu":
            task, groups = fit_on_gpu, shared_out(chunks, self.force.workers)
            options: Sequence[int] = range(len(groups))
        else:
            task, groups = fit_on_processor, [[chunk] for chunk in chunks]
            options = [self.force.threads] * len(groups)

        def tasks() -> list[Any]:
            left = max(deadline.left, 0.0)
            return [joblib.delayed(task)(group, option, left) for group, option in zip(groups, options, strict=True)]

        return [chunk for group in self._send(tasks) for chunk in group]

    def _send(self, tasks: Callable[[], Iterable[Any]]) -> list[Any]:
        """Return the results of the tasks in order. Every attempt makes new tasks, as the time left has changed."""
        for attempt in range(_ATTEMPTS):
            try:
                return self._pool(tasks())
            except Exception as error:
                if not _is_loss(error):
                    raise
                if attempt == _ATTEMPTS - 1:
                    raise WorkersLostError(
                        f"Workers died or stopped answering {_ATTEMPTS} times in a row ({type(error).__name__}). "
                        "Look at their logs: they may have run out of memory or lack this version of ceql. Without "
                        "n_jobs and without a cluster the search runs in this process."
                    ) from error
            self._close()
            self._open()
        raise AssertionError("the last attempt returns or raises")

    def _open(self) -> None:
        if self.force.workers:
            self._pool = self._make_pool(self.force.workers, self._patience).__enter__()

    def _close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.__exit__(None, None, None)


def _is_loss(error: Exception) -> bool:
    """Return whether the worker was lost; Dask and Ray have their own errors for it.

    Errors that ceql raises on purpose, such as a missing GPU, would occur again in another attempt.
    """
    if isinstance(error, CeqlError):
        return False
    lost = isinstance(error, BrokenExecutor | ConnectionError | TimeoutError)
    return lost or type(error).__module__.partition(".")[0] in ("distributed", "ray")
