"""How well the constants of the formula at hand are known.

Whether 1e-10 beside 1 is a term or the rounding of a cancelled one depends on where the constants
come from.  Like the context of Python's decimals, this setting holds for everything computed inside
a ``with`` block of the same thread, so that it need not be handed through every piece of arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

REFINED = 1e-11

_accuracy: ContextVar[float] = ContextVar("accuracy of constants", default=REFINED)


def accuracy(multiple: float = 1.0) -> float:
    """The relative accuracy of constants, or a multiple of it for what errors add up in."""
    return multiple * _accuracy.get()


@contextmanager
def constants_known_to(relative: float) -> Iterator[None]:
    """Inside the block, differences below this relative size count as rounding."""
    token = _accuracy.set(relative)
    try:
        yield
    finally:
        _accuracy.reset(token)
