"""Calls that run ahead on threads of their own, for whoever will ask for the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from threading import Condition, Thread
from typing import Generic, TypeVar

from ceql.engine.fit import StopFlag

Key = tuple[object, ...]
Result = TypeVar("Result")
# What is expected to be asked for, in order. Each is a step of a chain: what its call depends on, the key, is known
# from the result of the step before it there, or from nothing for the first step of a chain.
Plan = Iterator[tuple[Hashable, Callable[[Result | None], Key]]]
Call = Callable[[Key, StopFlag], Result]


@dataclass(eq=False)
class _Step(Generic[Result]):
    """A call that is planned, under way or made."""

    key_after: Callable[[Result | None], Key]
    before: _Step[Result] | None  # in its chain, until the key is known
    future: Future[Result] = field(default_factory=Future)
    key: Key | None = None
    is_taken: bool = False

    def has_key(self) -> bool:
        """Whether the key is known by now."""
        if self.key is None and (self.before is None or self.before.future.done()):
            failed = self.before is not None and self.before.future.exception() is not None
            if not failed:
                self.key = self.key_after(None if self.before is None else self.before.future.result())
                self.before = None
        return self.key is not None


@dataclass(eq=False)
class _Run(Generic[Result]):
    """A plan that is being followed."""

    plan: Plan[Result]
    call: Call[Result]
    stop: StopFlag = field(default_factory=StopFlag)
    begun: deque[_Step[Result]] = field(default_factory=deque)  # that are not asked for yet
    last: dict[Hashable, _Step[Result]] = field(default_factory=dict)  # of every chain
    threads: list[Thread] = field(default_factory=list)
    at_work: int = 0  # threads
    is_planned: bool = False  # to its end

    @property
    def goes_on(self) -> bool:
        """Whether there is a result that is not asked for, or will be."""
        return bool(self.begun) or (self.at_work > 0 and not self.is_planned)

    def plan_one(self) -> bool:
        """Whether there is another step, which is then the last one begun."""
        planned = next(self.plan, None)
        self.is_planned = planned is None
        if planned is not None:
            chain, key_after = planned
            self.last[chain] = _Step(key_after, self.last.get(chain))
            self.begun.append(self.last[chain])
        return planned is not None


class Ahead(Generic[Result]):
    """What somebody is expected to ask for, in order. So it changes when a result is there, not what it is; where
    something else is asked for, all is given up."""

    def __init__(self, most: int = 1, at_once: int = 1) -> None:
        """No call is begun while `most` results are not asked for, nor while `at_once` calls are being made."""
        self._most, self._at_once = most, at_once
        self._change = Condition()
        self._run: _Run[Result] | None = None

    @property
    def is_running(self) -> bool:
        """Whether there is a result to ask for, or will be."""
        with self._change:
            return self._run is not None and self._run.goes_on

    def begin(self, plan: Plan[Result], call: Call[Result]) -> None:
        """Begins to make the calls of a plan; one ends early once the flag is set. The first is planned here."""
        self.give_up()
        run = _Run(plan, call)
        if not run.plan_one():
            return
        work = partial(self._work, run)
        run.threads = [Thread(target=copy_context().run, args=(work,), daemon=True) for _ in range(self._at_once)]
        self._run, run.at_work = run, len(run.threads)
        for thread in run.threads:
            thread.start()

    def result(self, key: Key) -> Result | None:
        """What the next call gives, when it is done; None where that has another key, or there is none."""
        run = self._run
        if run is None:
            return None
        with self._change:
            self._change.wait_for(lambda: run.begun or not run.goes_on)
            future = run.begun[0].future if run.begun and run.begun[0].has_key() and run.begun[0].key == key else None
            self._change.wait_for(lambda: future is None or future.done() or not run.at_work)
        if future is None or not future.done():
            self.give_up()
            return None
        result = future.result()
        with self._change:
            run.begun.popleft()
            self._change.notify_all()
        return result

    def give_up(self) -> None:
        """Ends the calls under way; an error in one is one of something that nobody asked for."""
        run, self._run = self._run, None
        if run is None:
            return
        with self._change:
            run.stop.set()
            self._change.notify_all()
        for thread in run.threads:
            thread.join()

    def _work(self, run: _Run[Result]) -> None:
        try:
            while step := self._taken(run):
                self._make(run, step)
        finally:
            with self._change:
                run.at_work -= 1
                self._change.notify_all()

    def _taken(self, run: _Run[Result]) -> _Step[Result] | None:
        """The first call that can be made, once there is one and room for it; none after a stop and at the end."""
        with self._change:
            while not run.stop.is_set():
                step = next((step for step in run.begun if not step.is_taken and step.has_key()), None)
                if step is not None:
                    step.is_taken = True
                    return step
                has_room = len(run.begun) < self._most
                if has_room and not run.is_planned:
                    run.plan_one()
                    continue
                if run.is_planned and all(step.is_taken for step in run.begun):
                    return None
                self._change.wait()
        return None

    def _make(self, run: _Run[Result], step: _Step[Result]) -> None:
        try:
            assert step.key is not None
            step.future.set_result(run.call(step.key, run.stop))
        except BaseException as error:
            step.future.set_exception(error)
            run.stop.set()  # what would follow it is never asked for
        with self._change:
            self._change.notify_all()
