"""A call that runs ahead on a thread of its own, for whoever will ask for the same."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Generic, TypeVar

from ceql.engine.fit import StopFlag

Result = TypeVar("Result")


class Ahead(Generic[Result]):
    """One call at a time. It is what somebody is expected to ask for, so it changes when a result is there, not what
    it is; where something else is asked for, it is given up."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._key: tuple[object, ...] = ()
        self._stop = StopFlag()
        self._begun: Future[Result] | None = None

    def begin(self, key: tuple[object, ...], call: Callable[[StopFlag], Result]) -> None:
        """Begins a call, which ends early once the flag is set. What it depends on is its key."""
        self._give_up()
        self._key, self._stop = key, StopFlag()
        self._begun = self._thread.submit(copy_context().run, call, self._stop)

    def result(self, key: tuple[object, ...]) -> Result | None:
        """What the call with this key gives, when it is done; None where another was begun, or none."""
        if self._begun is None or key != self._key:
            self._give_up()
            return None
        result = self._begun.result()  # until then it can be given up
        self._begun = None
        return result

    def close(self) -> None:
        self._give_up()
        self._thread.shutdown()

    def _give_up(self) -> None:
        """Ends the call under way; an error in it is one of something that nobody asked for."""
        begun, self._begun = self._begun, None
        if begun is not None:
            self._stop.set()
            begun.exception()
