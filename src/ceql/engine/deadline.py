"""The clock of a search, read here alone: how long it has taken, and whether a further round may begin.

Whatever chooses between formulas has a budget in tries. So the clock decides how far a search gets, never what it makes
of what it has.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

_SHORTEST_FIT = 1e-3  # seconds


class OutOfTime(Exception):
    """The deadline came in the course of something that is of no use unfinished."""


@dataclass(frozen=True)
class Deadline:
    """A moment by this machine's monotonic clock; by default it never comes."""

    at: float = math.inf

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

    def earlier(self, seconds: float) -> Deadline:
        return Deadline(self.at - seconds)

    @property
    def halfway(self) -> Deadline:
        """The moment in the middle between now and then."""
        return self if self.at == math.inf else self.earlier(0.5 * max(self.left, 0.0))

    @property
    def left(self) -> float:
        """Seconds; negative when it is over."""
        return self.at - time.monotonic()

    @property
    def over(self) -> bool:
        return self.left < 0.0

    def require_time(self) -> None:
        """Raise `OutOfTime` when it is over."""
        if self.over:
            raise OutOfTime

    @property
    def of_a_fit(self) -> float:
        """What is left for a fit, as the engine reads it: 0 stands for no limit."""
        return 0.0 if self.at == math.inf else max(self.left, _SHORTEST_FIT)


NEVER = Deadline()


@dataclass(frozen=True)
class Stopwatch:
    """Runs from the moment it is made."""

    begin: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begin

    def ahead(self, seconds: float) -> Stopwatch:
        """As if it had been made so much earlier."""
        return Stopwatch(self.begin - seconds)

    def until(self, seconds: float) -> Deadline:
        """The moment at which it shows this many seconds."""
        return Deadline(self.begin + seconds)
