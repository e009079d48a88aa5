"""Temporary process-wide settings that several threads share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Lock

_TURNS = 2e-5  # seconds for which a Python thread may keep others waiting


class SharedSetting:
    """A setting that the first thread to enter makes and the last one to exit undoes."""

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


# A thread that dispatches fits briefly needs Python many times per round. By default it may wait 5 ms each time.
short_turns = SharedSetting(_short_turns)
