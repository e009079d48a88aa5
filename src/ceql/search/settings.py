"""What a user asks of a search."""

from __future__ import annotations

from dataclasses import dataclass, field

from ceql.constraints import NONE, Constraints
from ceql.dimensions import Dimensions
from ceql.search.losses import SQUARED
from ceql.search.policy import SearchPolicy
from ceql.templates import Template
from ceql.training import Recipe

SEARCHES = ("search", "real")  # recipes that search; the others train one network


@dataclass(frozen=True)
class Settings:
    """What to try and when to stop."""

    recipe: str | Recipe = "search"  # or "real": the same search with real weights
    operators: str | tuple[str, ...] | None = None  # a library by name, or operators; None: the default library
    time_limit: float = 60.0
    max_starts: int | None = None  # after the round that reaches them the search ends, on any machine at the same point
    max_complexity: int | None = None
    model_selection: str = "best"
    catalogue: bool = True  # whether the laws that the field knows compete
    more: int = 20  # formulas beside the front that may compete with it
    seed: int = 0
    n_jobs: int | None = None  # joblib workers; None and 1: this process, unless a joblib.parallel_config says more
    threads: int | None = None  # of the core in each of them; None: all cores
    device: str = "cpu"  # or "gpu", or "auto": the GPU if there is one
    template: Template | None = None  # what is known of the formula; then nothing but its unknown parts is searched
    constraints: Constraints = NONE  # what every formula of the front keeps to
    units: Dimensions | None = None  # of the columns and the target, as far as they are known
    loss: str = SQUARED  # by name, or a formula in `residual`
    guesses: tuple[str, ...] = ()  # formulas as text that compete in the front and are parents of the search
    search: SearchPolicy = field(default_factory=SearchPolicy)  # every number that steers the search
