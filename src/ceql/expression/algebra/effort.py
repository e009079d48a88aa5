"""Limits the work of searching for another form of a formula, in counted steps.

With a clock, the form would depend on how busy the machine is. Instead, every piece of arithmetic charges its steps in
advance, and the search ends when its allowance is spent. Like the accuracy of constants, the allowance applies to
everything computed inside a ``with`` block of the same thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """The allowance of a search. A step is one term of a product of polynomials, about a microsecond on a 2020 core."""

    steps: int
    most_nodes: int  # larger formulas are left alone, since SymPy itself is slow on them


THOROUGH = Effort(steps=1_500_000, most_nodes=1000)
BRIEF = Effort(steps=100_000, most_nodes=1000)  # for formulas that perhaps nobody will look at
JUDGEMENT = Effort(steps=3_000_000, most_nodes=1000)  # for deciding whether two formulas are the same


class OutOfSteps(Exception):
    """The allowance is spent; callers return the best form found so far."""


class Allowance:
    """The remaining steps of a search."""

    def __init__(self, steps: int) -> None:
        self.steps = self.left = steps

    @property
    def spent(self) -> int:
        return self.steps - self.left


_allowance: ContextVar[Allowance | None] = ContextVar("steps that are left", default=None)


def charge(steps: int) -> None:
    """Subtract this many steps from the allowance, if there is one; raise OutOfSteps if it is exceeded."""
    allowance = _allowance.get()
    if allowance is not None:
        allowance.left -= steps
        if allowance.left < 0:
            raise OutOfSteps


@contextmanager
def allowing(steps: int) -> Iterator[Allowance]:
    """Charge the work inside the block to a separate allowance."""
    allowance = Allowance(steps)
    token = _allowance.set(allowance)
    try:
        yield allowance
    finally:
        _allowance.reset(token)
