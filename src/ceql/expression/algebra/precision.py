"""The accuracy to which the constants of the current formula are known.

Whether 1e-10 beside 1 is a term or the rounding error of a cancelled one depends on the origin of the
constants.  Like the context of Python's decimals, this setting applies to everything computed inside a
``with`` block of the same thread, so that it need not be passed through all arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

REFINED = 1e-11

_accuracy: ContextVar[float] = ContextVar("accuracy of constants", default=REFINED)


def accuracy(multiple: float = 1.0) -> float:
    """Return the relative accuracy of constants, or a multiple of it for results in which errors add up."""
    return multiple * _accuracy.get()


@contextmanager
def constants_known_to(relative: float) -> Iterator[None]:
    """Treat differences below this relative size as rounding inside the block."""
    token = _accuracy.set(relative)
    try:
        yield
    finally:
        _accuracy.reset(token)
