"""Settings of the whole process that several threads need for a while."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Lock

_TURNS = 2e-5  # seconds that a thread of Python may keep others waiting


class SharedSetting:
    """The first who needs it makes it, and the last one takes it back."""

    def __init__(self, made: Callable[[], AbstractContextManager[object]]) -> None:
        self._made, self._lock, self._inside, self._set = made, Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._set.enter_context(self._made())
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._set.close()


@contextmanager
def _short_turns() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _TURNS))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


# A thread that hands out fits needs Python for a moment, many times a round. By default it may wait 5 ms each time.
short_turns = SharedSetting(_short_turns)
