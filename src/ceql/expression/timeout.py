"""A time limit for pure Python code, usable in any thread.

Signals work only in the main thread, so a watchdog timer raises an exception inside the working
thread instead.  The signal derives from BaseException because libraries catch Exception freely and
would swallow it.  Code stuck in one C call is interrupted only when that call returns.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


class TimeLimitExceeded(TimeoutError):
    """The work did not finish in the time it was given."""


class _Interrupt(BaseException):
    """Raised asynchronously in the working thread; each limit has a subclass of its own."""


class _Watchdog:
    """Interrupts one thread at most once, and never after it has been disarmed."""

    def __init__(self, seconds: float) -> None:
        # A class of its own lets nested limits tell their interrupts apart.
        self.interrupt = type("_OwnInterrupt", (_Interrupt,), {})
        self._thread_id = ctypes.c_ulong(threading.get_ident())
        self._lock = threading.Lock()
        self._finished = False
        self._fired = False
        self._timer = threading.Timer(seconds, self._fire)
        self._timer.daemon = True

    def start(self) -> None:
        self._timer.start()

    def _fire(self) -> None:
        with self._lock:
            if not self._finished:
                self._fired = True
                self._send(self.interrupt)

    def disarm(self) -> None:
        with self._lock:
            self._finished = True
        self._timer.cancel()

    def withdraw(self) -> None:
        """Remove an interrupt that was sent but had no chance to arrive before the work ended."""
        if self._fired:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(self._thread_id, None)

    def _send(self, interrupt: type[_Interrupt]) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(self._thread_id, ctypes.py_object(interrupt))


# Seconds of grace before a step is interrupted from outside. An interrupt that lands in a destructor is lost with a
# message on the console, so it is kept for steps that really hang.
WATCHDOG = 3.0


def call_with_limit(work: Callable[[], Result], seconds: float) -> Result:
    """Return ``work()``, or raise TimeLimitExceeded when it takes longer than ``seconds``."""
    if seconds <= 0.0:
        raise TimeLimitExceeded("no time was left for this step")
    watchdog = _Watchdog(seconds)
    try:
        watchdog.start()
        try:
            result = work()
        finally:
            watchdog.disarm()
            watchdog.withdraw()
    except watchdog.interrupt:
        raise TimeLimitExceeded(f"gave up after {seconds:.3g} s") from None
    return result
