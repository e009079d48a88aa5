"""Calls that run ahead on a thread of their own, for whoever will ask for the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from threading import Condition, Thread
from typing import Generic, TypeVar

from ceql.engine.fit import StopFlag

Key = tuple[object, ...]
Result = TypeVar("Result")
# Says what is expected to be asked for next, one or several that do not need each other's results, and is told what
# came of them. What a call depends on is its key.
Plan = Generator[Sequence[Key], list[Result], None]
Call = Callable[[Key, StopFlag], Result]


class Ahead(Generic[Result]):
    """What somebody is expected to ask for, in order. So it changes when a result is there, not what it is; where
    something else is asked for, all is given up."""

    def __init__(self, most: int = 1) -> None:
        """No call is begun while this many results are not asked for."""
        self._most = most
        self._change = Condition()
        self._begun: deque[tuple[Key, Future[Result]]] = deque()
        self._thread: Thread | None = None
        self._stop = StopFlag()

    @property
    def is_running(self) -> bool:
        """Whether there is a result to ask for, or will be."""
        with self._change:
            return self._thread is not None or bool(self._begun)

    def begin(self, plan: Plan[Result], call: Call[Result]) -> None:
        """Begins to make the calls of a plan; one ends early once the flag is set. The first is planned here."""
        self.give_up()
        keys, stop = next(plan, None), StopFlag()
        if keys:
            work = partial(self._run, keys, plan, call, stop)
            self._stop, self._thread = stop, Thread(target=copy_context().run, args=(work,), daemon=True)
            self._thread.start()

    def result(self, key: Key) -> Result | None:
        """What the next call gives, when it is done; None where that has another key, or there is none."""
        with self._change:
            self._change.wait_for(lambda: self._begun or self._thread is None)
            future = self._begun[0][1] if self._begun and self._begun[0][0] == key else None
        if future is None:
            self.give_up()
            return None
        result = future.result()  # until then it can be given up
        with self._change:
            self._begun.popleft()
            self._change.notify_all()
        return result

    def give_up(self) -> None:
        """Ends the call under way; an error in it is one of something that nobody asked for."""
        with self._change:
            thread = self._thread
            self._stop.set()
            self._change.notify_all()
        if thread is not None:
            thread.join()
        self._begun.clear()

    def _run(self, keys: Sequence[Key], plan: Plan[Result], call: Call[Result], stop: StopFlag) -> None:
        try:
            while begun := self._noted(keys, stop):
                results = _made(begun, call, stop)
                if results is None:
                    return
                keys = plan.send(results)
        except StopIteration:
            return
        finally:
            with self._change:
                self._thread = None
                self._change.notify_all()

    def _noted(self, keys: Sequence[Key], stop: StopFlag) -> list[tuple[Key, Future[Result]]]:
        """The calls to be made now, once there is room; none after a stop."""
        with self._change:
            self._change.wait_for(lambda: len(self._begun) < self._most or stop.is_set())
            if stop.is_set():
                return []
            begun: list[tuple[Key, Future[Result]]] = [(key, Future()) for key in keys]
            self._begun.extend(begun)
            self._change.notify_all()
            return begun


def _made(begun: list[tuple[Key, Future[Result]]], call: Call[Result], stop: StopFlag) -> list[Result] | None:
    """The results of calls, made at the same time; None where one failed, which whoever asks for it is told."""

    def make(key: Key, future: Future[Result]) -> None:
        try:
            future.set_result(call(key, stop))
        except BaseException as error:
            future.set_exception(error)

    *others, (key, future) = begun
    threads = [Thread(target=copy_context().run, args=(make, *other), daemon=True) for other in others]
    for thread in threads:
        thread.start()
    make(key, future)
    for thread in threads:
        thread.join()
    failed = any(future.exception() is not None for _, future in begun)
    return None if failed else [future.result() for _, future in begun]
