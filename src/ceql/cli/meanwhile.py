"""Shows a message while the library is loaded and a table is read, which takes a second or two."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def said_meanwhile(words: str, quiet: bool = False) -> Iterator[None]:
    """Shows the words on standard error until the block ends; nothing if that is not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    line = f"{words}..."
    sys.stderr.write(line)
    sys.stderr.flush()
    try:
        yield
    finally:
        sys.stderr.write(f"\r{' ' * len(line)}\r")
        sys.stderr.flush()
