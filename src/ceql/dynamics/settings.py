"""What a user asks of the search for differential equations."""

from __future__ import annotations

from dataclasses import dataclass, field

from ceql.dynamics.policy import DynamicsPolicy


@dataclass(frozen=True)
class DynamicsSettings:
    """What to try and when to stop."""

    time_limit: float = 60.0
    seed: int = 0
    threads: int | None = None  # of the search for right-hand sides; None: all cores
    operators: tuple[str, ...] | None = None  # of that search; None: the default library
    depends_on_time: bool = False  # whether the time may stand in the equations
    # Constants that differ from trajectory to trajectory: "auto" finds out which, None has all in common.
    per_trajectory: str | None = None
    policy: DynamicsPolicy = field(default_factory=DynamicsPolicy)


DEFAULTS = DynamicsSettings()
