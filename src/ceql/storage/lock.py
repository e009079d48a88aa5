"""Locks a file for one process; the system releases the lock when the process ends in any way."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":

    def _hold(handle: int) -> None:
        """Raises an OSError: Windows has no lock that ends with its process and lets the file be removed."""
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

else:
    import fcntl

    def _hold(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


_LONGEST_NUMBER = 20  # characters of a process number


@contextmanager
def held(path: Path) -> Iterator[str]:
    """Holds the lock of this file and yields an empty text; if another process has the lock, yields a text that names
    it.

    If no lock is possible (a read-only folder, a system without locks), it behaves as if nobody had it.
    """
    place = path.with_name(f".{path.name}.lock")
    handle, holder = None, ""
    try:
        handle = _taken(place)
    except BlockingIOError:
        holder = _holder(place)
    except OSError:
        handle = None
    try:
        yield holder
    finally:
        if handle is not None:
            place.unlink(missing_ok=True)
            os.close(handle)


def _taken(place: Path) -> int:
    """The handle of the locked file; a BlockingIOError if another process has the lock."""
    while True:
        handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _hold(handle)
            if _is_there(handle, place):
                os.ftruncate(handle, 0)  # a killed process has left its number
                os.write(handle, str(os.getpid()).encode())
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # the previous holder has just removed the file


def _is_there(handle: int, place: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), place.stat())
    except FileNotFoundError:
        return False


def _holder(place: Path) -> str:
    try:
        number = place.read_text(encoding="ascii", errors="replace")[:_LONGEST_NUMBER]
    except OSError:  # the holder has just ended
        number = ""
    return f"process {number}" if number.isdecimal() else "another process"
