"""Speculative calls, made in advance on separate threads for results that will probably be requested."""

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
    """A call that will probably be requested: a step of a chain. Its key holds everything it depends on."""

    chain: Hashable
    size: int
    key_after: Callable[[Result | None], Key]  # makes the key from the result of the previous step; None for the first
    tell: Callable[[Result], None] = lambda result: None  # is called with the result as soon as it is available


# The calls that will probably be requested, in order. None: unknown until a call under way is done.
Plan = Iterator[Planned[Result] | None]


@dataclass(eq=False)
class _Step(Generic[Result]):
    planned: Planned[Result]
    before: _Step[Result] | None  # the previous step of its chain, until the key is known
    future: Future[Result] = field(default_factory=Future)
    stop: StopFlag = field(default_factory=StopFlag)
    key: Key | None = None
    is_taken: bool = False

    def has_key(self) -> bool:
        """Return whether the key is known by now."""
        before = self.before
        if self.key is None and (before is None or (before.future.done() and before.future.exception() is None)):
            self.key = self.planned.key_after(None if before is None else before.future.result())
            self.before = None
        return self.key is not None

    def is_as(self, planned: Planned[Result], is_first: bool) -> bool:
        """Return whether it does what is planned. Only the key of the first step of a chain is known at this point."""
        if is_first and self.has_key():
            return self.key == planned.key_after(None)
        return self.planned.size == planned.size


class Ahead(Generic[Result]):
    """Makes planned calls in advance. It changes when a result is available, but not the result itself."""

    def __init__(self, most: int = 1, at_once: int = 1, room: float = float("inf")) -> None:
        """Plan at most `most` calls ahead, only a few if their sizes add up to `room`, and make at most `at_once` of
        them at the same time."""
        self._most, self._few, self._at_once, self._room = most, min(most, at_once + 2), at_once, room
        self._change = Condition()
        self._steps: list[_Step[Result]] = []  # planned steps not requested yet, in order
        self._old: list[_Step[Result]] = []  # steps of the previous plan that this plan has not reached
        self._last: dict[Hashable, _Step[Result]] = {}  # the last planned step of each chain, requested or not
        self._plan: Plan[Result] | None = None
        self._call: Call[Result] | None = None
        self._threads: list[Thread] = []
        self._is_given_up = False

    @property
    def is_on_course(self) -> bool:
        """Whether there is a plan that all requests so far have followed."""
        with self._change:
            return self._plan is not None

    def follow(self, plan: Plan[Result], call: Call[Result]) -> None:
        """Start making the calls of a plan; calls that the previous plan has in common with it continue."""
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
        """Wait for the next call of a chain and return its result; None if there is none, or its key is different."""
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
        result = step.future.result()  # the step stays in the list meanwhile, so that `give_up` can stop it
        with self._change:
            self._steps.remove(step)
            self._change.notify_all()
        return result

    def give_up(self) -> None:
        """Stop the calls under way; their errors are ignored, since nobody requested the results."""
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
        """Take the next step of the plan and return whether there was one.

        A step of the previous plan is reused if it matches; if not, the old steps of its chain are stopped.
        """
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
        """Wait for the first call that can be made and return it; None when given up."""
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
