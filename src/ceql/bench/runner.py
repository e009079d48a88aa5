"""Runs methods on problems; every run becomes a record, also if it fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import BrokenProcessPool

from ceql.bench.contests import pose
from ceql.bench.definitions import Problem, Suite
from ceql.bench.environment import Meter, in_own_process, machine, versions
from ceql.bench.errors import MethodError, RecordError
from ceql.bench.methods import Adapter
from ceql.bench.records import Key, Record, append_record, drop_torn_line, read_records
from ceql.storage.files import require_writable

Progress = Callable[[Record], None]

_ERROR_LENGTH = 500


@dataclass(frozen=True)
class Run:
    """One run to be made."""

    suite: str
    problem: Problem
    method: Adapter
    seed: int
    time_limit: float
    memory: bool = False

    @property
    def key(self) -> Key:
        return self.suite, self.problem.name, self.method.name, self.seed

    @property
    def settings(self) -> dict[str, Any]:
        return {**self.method.settings, "time_limit": self.time_limit if self.method.timed else None}


def run_suite(
    suite: Suite,
    methods: Sequence[Adapter],
    seeds: Sequence[int],
    time_limit: float | None = None,
    jobs: int = 1,
    out: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Iterator[Record]:
    """Runs every method on every problem of the suite with every seed.

    Everything that can be checked beforehand is checked by this call. The returned iterator then yields the records as
    their runs end: first those that `resume` finds in `out`, then the new ones, each written to `out` before it is
    yielded. `jobs` processes work at the same time.
    """
    missing = {m.name: command for m in methods if (command := m.available())}
    if missing:
        raise MethodError(" ".join(f"Method {n!r} is not installed: {command}." for n, command in missing.items()))
    runs = plan(suite, methods, seeds, suite.time_limit if time_limit is None else time_limit)
    finished = _finished(out, resume, runs)
    return _records(runs, finished, jobs, out, progress or (lambda record: None))


def plan(suite: Suite, methods: Sequence[Adapter], seeds: Sequence[int], time_limit: float) -> list[Run]:
    """All runs, with seeds outermost, so that an aborted benchmark has covered every problem."""
    return [
        Run(suite.name, problem, method, seed, time_limit, suite.memory)
        for seed in seeds
        for problem in suite.problems
        for method in methods
    ]


def run_one(run: Run) -> Record:
    """Makes one run. If the method fails, its error is in the record."""
    blank, meter = _blank(run), Meter()
    try:
        contest = pose(run.problem, run.seed)
        blank = replace(blank, rows=contest.rows)
        run.method.load()
        method = run.method.told(run.problem)
        if run.memory:
            meter.start()
        begin = time.perf_counter()
        found = contest.ask(method, run.seed, run.time_limit)
        seconds = time.perf_counter() - begin if found.seconds is None else found.seconds
        blank = replace(blank, **meter.read()) if run.memory else blank
        result = contest.judged(found)
    except Exception as error:  # any failure of a method is a result, not a reason to stop
        return replace(blank, error=_described(error))
    settings = {**run.settings, **({"extra": dict(found.extra)} if found.extra else {})}
    times: dict[str, Any] = {"seconds": seconds, "compile_seconds": found.compile_seconds}
    return replace(blank, **result, **times, settings=settings, outcome=found.outcome)


def _blank(run: Run) -> Record:
    """The record of a run before it is made."""
    return Record(
        *run.key[:2],
        run.problem.family,
        *run.key[2:],
        settings=run.settings,
        noise=run.problem.noise,
        subsample=run.problem.motion.subsample if run.problem.motion else 0.0,
        structure=None if run.problem.motion is None else False,
        rows=run.problem.n_train,
        columns=len(run.problem.names),
        law=run.problem.expression if run.problem.start else None,
        versions=versions(run.method),
        machine=machine(),
    )


def _records(
    runs: Sequence[Run], finished: dict[Key, Record], jobs: int, out: str | Path | None, progress: Progress
) -> Iterator[Record]:
    for record in finished.values():
        progress(record)
        yield record
    for record in _execute([run for run in runs if run.key not in finished], jobs):
        if out is not None:
            append_record(out, record)
        progress(record)
        yield record


def _execute(runs: Sequence[Run], jobs: int) -> Iterator[Record]:
    if jobs == 1:
        yield from map(_isolated, runs)
        return
    left = {run.key: run for run in runs}
    try:
        for record in _in_processes(runs, jobs):
            del left[record.key]
            yield record
    except BrokenProcessPool:
        # A crash ends the pool without naming the run: repeat the remaining runs one by one.
        for run in left.values():
            yield _alone(run)


def _alone(run: Run) -> Record:
    try:
        # Two workers, since joblib uses this process for one.
        return next(iter(_in_processes([run], 2)))
    except BrokenProcessPool as error:
        return _died(run, _described(error))


def _died(run: Run, why: str) -> Record:
    return replace(_blank(run), error=f"the process died: {why}")


def _in_processes(runs: Sequence[Run], jobs: int) -> Iterator[Record]:
    pool = Parallel(n_jobs=jobs, return_as="generator_unordered")
    return cast(Iterator[Record], pool(delayed(_isolated)(run) for run in runs))


def _isolated(run: Run) -> Record:
    """Makes one run, in a child process if memory is measured, since a worker makes many runs."""
    return in_own_process(run_one, run, _died) if run.memory else run_one(run)


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:_ERROR_LENGTH]


def _finished(out: str | Path | None, resume: bool, runs: Sequence[Run]) -> dict[Key, Record]:
    """The existing records in `out` for the requested runs."""
    if out is None:
        if resume:
            raise RecordError("Nothing to resume from: name the file of records.")
        return {}
    require_writable(out, RecordError)
    if not (Path(out).exists() and Path(out).stat().st_size):
        return {}
    if not resume:
        raise RecordError(f"{out}: holds records already. Resume it, or name another file.")
    drop_torn_line(out)
    asked = {run.key: run for run in runs}
    there = {record.key: record for record in read_records(out) if record.key in asked}
    for key, record in there.items():
        _same_settings(out, asked[key], record)
    return there


def _same_settings(out: str | Path, run: Run, record: Record) -> None:
    """Raises a RecordError if a run was made with different settings before."""
    then = {k: v for k, v in record.settings.items() if k != "extra"}
    now = {k: list(v) if isinstance(v, tuple) else v for k, v in run.settings.items()}
    differing = [k for k in sorted(then.keys() | now.keys()) if then.get(k) != now.get(k)]
    if differing:
        changes = ", ".join(f"{k} was {then.get(k)!r}, is now {now.get(k)!r}" for k in differing)
        raise RecordError(f"{out}: {run.method.name!r} ran under other settings ({changes}). Name another file.")
