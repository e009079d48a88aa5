"""How much work the search for another form of a formula may take, in counted steps.

A clock would make the form depend on how busy the machine is. Here every piece of arithmetic charges what it is about
to do before it does it, and the search ends when its allowance is spent. Like the accuracy of constants, the allowance
holds for everything computed inside a ``with`` block of the same thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """What a search may cost. A step is about a microsecond of a core of 2020: a term of a product of polynomials."""

    steps: int
    most_nodes: int  # of a formula that is looked at at all; SymPy alone is slow beyond


THOROUGH = Effort(steps=1_500_000, most_nodes=1000)
BRIEF = Effort(steps=100_000, most_nodes=1000)  # for what nobody may ever look at
JUDGEMENT = Effort(steps=3_000_000, most_nodes=1000)  # whether two formulas are one


class OutOfSteps(Exception):
    """The allowance is spent; callers return the best form found so far."""


class Allowance:
    """What is left of an effort."""

    def __init__(self, steps: int) -> None:
        self.steps = self.left = steps

    @property
    def spent(self) -> int:
        return self.steps - self.left


_allowance: ContextVar[Allowance | None] = ContextVar("steps that are left", default=None)


def charge(steps: int) -> None:
    """Takes this many steps off the allowance, where there is one; raises OutOfSteps if they are not left."""
    allowance = _allowance.get()
    if allowance is not None:
        allowance.left -= steps
        if allowance.left < 0:
            raise OutOfSteps


@contextmanager
def allowing(steps: int) -> Iterator[Allowance]:
    """Inside the block, work is charged to an allowance of its own."""
    allowance = Allowance(steps)
    token = _allowance.set(allowance)
    try:
        yield allowance
    finally:
        _allowance.reset(token)
