"""Calls that run ahead on threads of their own, for whoever will ask for the same."""

from __future__ import annotations

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
Call = Callable[[Key, StopFlag], Result]


@dataclass(frozen=True, eq=False)
class Planned(Generic[Result]):
    """A call that is expected to be asked for: a step of a chain. Its key is what it depends on."""

    chain: Hashable
    size: int
    key_after: Callable[[Result | None], Key]  # the result of the step before it in its chain; None for the first one
    tell: Callable[[Result], None] = lambda result: None  # what comes of it, as soon as it is there


# What is expected to be asked for, in order. None: that cannot be said before a call under way is done.
Plan = Iterator[Planned[Result] | None]


@dataclass(eq=False)
class _Step(Generic[Result]):
    planned: Planned[Result]
    before: _Step[Result] | None  # in its chain, until the key is known
    future: Future[Result] = field(default_factory=Future)
    stop: StopFlag = field(default_factory=StopFlag)
    key: Key | None = None
    is_taken: bool = False

    def has_key(self) -> bool:
        """Whether the key is known by now."""
        before = self.before
        if self.key is None and (before is None or (before.future.done() and before.future.exception() is None)):
            self.key = self.planned.key_after(None if before is None else before.future.result())
            self.before = None
        return self.key is not None

    def is_as(self, planned: Planned[Result], is_first: bool) -> bool:
        """Whether it does what is planned. The first step of a chain does not depend on another that is not done."""
        if is_first and self.has_key():
            return self.key == planned.key_after(None)
        return self.planned.size == planned.size


class Ahead(Generic[Result]):
    """What somebody is expected to ask for. So it changes when a result is there, not what it is."""

    def __init__(self, most: int = 1, at_once: int = 1, room: float = float("inf")) -> None:
        """No call is begun while `most` results are not asked for, or a few of that size in all, nor while `at_once`
        calls are being made."""
        self._most, self._few, self._at_once, self._room = most, min(most, at_once + 2), at_once, room
        self._change = Condition()
        self._steps: list[_Step[Result]] = []  # in the order of the plan, that are not asked for yet
        self._old: list[_Step[Result]] = []  # of the plan before, that this one has not come to
        self._last: dict[Hashable, _Step[Result]] = {}  # of every chain of the plan, asked for or not
        self._plan: Plan[Result] | None = None
        self._call: Call[Result] | None = None
        self._threads: list[Thread] = []
        self._is_given_up = False

    @property
    def is_on_course(self) -> bool:
        """Whether there is a plan, and what was asked for was the next thing on it."""
        with self._change:
            return self._plan is not None

    def follow(self, plan: Plan[Result], call: Call[Result]) -> None:
        """Begins to make the calls of a plan; one ends early once its flag is set. Those that it has in common with
        the plan before go on."""
        with self._change:
            self._cut(self._old)
            self._old, self._steps, self._last = self._steps, [], {}
            self._plan, self._call, waits = plan, call, False
            while (self._old or not self._steps) and len(self._steps) < self._most and not waits:
                waits = not self._plan_one()
            if not waits or self._plan is None:
                self._cut(self._old)
            self._change.notify_all()
        if self._steps and not self._threads:
            run = [copy_context().run for _ in range(self._at_once)]
            self._threads = [Thread(target=partial(one, self._work), daemon=True) for one in run]
            for thread in self._threads:
                thread.start()

    def result(self, chain: Hashable, key: Key) -> Result | None:
        """What the next call of a chain gives, when it is done; None where that has another key, or there is none."""
        with self._change:
            if not self._steps and self._threads:
                self._plan_one()
            own = [step for step in self._steps if step.planned.chain == chain]
            step = own[0] if own else None
            if step is None or step is not self._steps[0]:
                self._plan = None
            if step is None:
                return None
            if not step.has_key() or step.key != key:
                self._plan = None
                self._cut(own)
                return None
        result = step.future.result()  # until then it can be given up
        with self._change:
            self._steps.remove(step)
            self._change.notify_all()
        return result

    def give_up(self) -> None:
        """Ends the calls under way; an error in one is one of something that nobody asked for."""
        with self._change:
            self._is_given_up = True
            self._plan = None
            self._cut(self._steps + self._old)
            self._change.notify_all()
        for thread in self._threads:
            thread.join()
        self._threads, self._is_given_up = [], False

    def _cut(self, steps: list[_Step[Result]]) -> None:
        for step in steps:
            step.stop.set()
        self._steps, self._old = ([step for step in kept if step not in steps] for kept in (self._steps, self._old))

    def _plan_one(self) -> bool:
        """Takes another step of the plan, if there is one by now: an old one where there is such a one; the others
        of its chain are of no use where there is not."""
        if self._plan is None:
            return False
        try:
            planned = next(self._plan)
        except StopIteration:
            self._plan = None
            return False
        if planned is None:
            return False
        last = self._last.get(planned.chain)
        own = [step for step in self._old if step.planned.chain == planned.chain]
        if own and own[0].is_as(planned, last is None):
            step = own[0]
            step.planned = planned
            self._old.remove(step)
        else:
            step = _Step(planned, last)
            for other in own:
                other.stop.set()
                self._old.remove(other)
        self._last[planned.chain] = step
        self._steps.append(step)
        if step.future.done() and step.future.exception() is None:
            planned.tell(step.future.result())
        return True

    def _work(self) -> None:
        while step := self._taken():
            self._make(step)

    def _taken(self) -> _Step[Result] | None:
        """The first call that can be made, once there is one and room for it; none at the end."""
        with self._change:
            while not self._is_given_up:
                step = next((step for step in self._steps if not step.is_taken and step.has_key()), None)
                if step is not None:
                    step.is_taken = True
                    return step
                if not (self._has_room() and self._plan_one()):
                    self._change.wait()
        return None

    def _has_room(self) -> bool:
        count, size = len(self._steps), sum(step.planned.size for step in self._steps)
        return count < self._few or (count < self._most and size < self._room)

    def _make(self, step: _Step[Result]) -> None:
        assert step.key is not None
        assert self._call is not None
        try:
            result = self._call(step.key, step.stop)
        except BaseException as error:
            step.future.set_exception(error)
        else:
            with self._change:
                step.future.set_result(result)
                step.planned.tell(result)
        with self._change:
            self._change.notify_all()
