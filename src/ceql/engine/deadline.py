"""The clock of a search: how long it has taken, and whether another round may begin. It is read only here.

Everything that chooses between formulas has a budget in tries instead. So the clock decides how far a search gets, but
not which formula it chooses from what it has found.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

_SHORTEST_FIT = 1e-3  # seconds


class OutOfTime(Exception):
    """The deadline passed during a task that is useless unless finished."""


@dataclass(frozen=True)
class Deadline:
    """A point in time on this machine's monotonic clock; by default, never."""

    at: float = math.inf

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

    def earlier(self, seconds: float) -> Deadline:
        return Deadline(self.at - seconds)

    @property
    def halfway(self) -> Deadline:
        """The deadline halfway between now and this one."""
        return self if self.at == math.inf else self.earlier(0.5 * max(self.left, 0.0))

    @property
    def left(self) -> float:
        """The seconds left; negative after the deadline."""
        return self.at - time.monotonic()

    @property
    def over(self) -> bool:
        return self.left < 0.0

    def require_time(self) -> None:
        """Raise `OutOfTime` if the deadline has passed."""
        if self.over:
            raise OutOfTime

    @property
    def of_a_fit(self) -> float:
        """The seconds left for a fit, in the engine's convention: 0 means no limit."""
        return 0.0 if self.at == math.inf else max(self.left, _SHORTEST_FIT)


NEVER = Deadline()


@dataclass(frozen=True)
class Stopwatch:
    """A stopwatch that runs from its creation."""

    begin: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begin

    def ahead(self, seconds: float) -> Stopwatch:
        """Return a stopwatch that was started this many seconds earlier."""
        return Stopwatch(self.begin - seconds)

    def until(self, seconds: float) -> Deadline:
        """Return the deadline at which it shows this many seconds."""
        return Deadline(self.begin + seconds)
