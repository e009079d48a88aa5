"""What a discovery is told, what it tells on its way and what it comes to: plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from ceql.constraints import NONE, Constraints
from ceql.data.dataset import Dataset
from ceql.expression.evaluate.poles import Pole, find_poles
from ceql.formula import Formula
from ceql.search.losses import SQUARED
from ceql.search.proposals import SearchSettings
from ceql.templates import Template
from ceql.training import Recipe

SEARCHES = ("search", "real")  # recipes that search; the others train one network


class Outcome(Enum):
    """How a discovery ended, and what to do next."""

    EXACT = "An exact formula was found: it fits to machine precision and no part of it can be left out."
    SETTLED = (
        "No formula fits exactly, and further rounds stopped improving the fit. If the data are noise-free, allow "
        "more operators or a higher max_complexity; otherwise look at the whole front in equations_."
    )
    OUT_OF_TIME = "The time limit was reached. Raise time_limit if the fit is not good enough."
    OUT_OF_STARTS = "The allowed number of starts was fitted. Raise max_starts if the fit is not good enough."
    WORKERS_LOST = "The workers died one after the other and the search ended early; look into their logs."
    INTERRUPTED = "The search was interrupted; this is the best it had found."
    TOO_COMPLEX = (
        "An exact formula was found, but it has more nodes than max_complexity allows; this is the best within it."
    )
    NOT_ALLOWED = (
        "No formula that was found keeps to the constraints; what is left is a constant. Loosen them, allow more "
        "operators or a higher max_complexity, or raise time_limit."
    )
    SCHEDULE_DONE = "The recipe ran to its end."
    CONSTANT = "The target is constant."


@dataclass(frozen=True)
class Progress:
    """What a live display shows."""

    seconds: float
    time_limit: float
    starts: int
    best_loss: float
    message: str = ""
    fraction: float | None = None  # of a schedule of known length
    target: str = ""  # which of several
    formula: Callable[[], str] | None = None  # the best so far; to write it takes milliseconds, so only on demand


@dataclass(frozen=True)
class Settings:
    """What to try and when to stop."""

    recipe: str | Recipe = "search"  # or "real": the same search with real weights
    operators: str | tuple[str, ...] | None = None  # a library by name, or operators; None: the default library
    time_limit: float = 60.0
    max_starts: int | None = None  # after the round that reaches them the search ends, on any machine at the same point
    max_complexity: int | None = None
    model_selection: str = "best"
    seed: int = 0
    n_jobs: int | None = None  # joblib workers; None and 1: this process, unless a joblib.parallel_config says more
    threads: int | None = None  # of the core in each of them; None: all cores
    device: str = "cpu"  # or "gpu", or "auto": the GPU if there is one
    template: Template | None = None  # what is known of the formula; then nothing but its unknown parts is searched
    constraints: Constraints = NONE  # what every formula of the front keeps to
    loss: str = SQUARED  # by name, or a formula in `residual`
    guesses: tuple[str, ...] = ()  # formulas as text that compete in the front and are parents of the search
    search: SearchSettings = field(default_factory=SearchSettings)


@dataclass(frozen=True, eq=False)
class Discovery:
    """The front, the chosen row and how it came about."""

    front: tuple[Formula, ...]
    chosen: int
    poles: tuple[Pole, ...]
    outcome: Outcome
    seconds: float
    starts: int
    imaginary_residue: float = 0.0  # what was neglected when the weights were put on the real axis
    rows_searched: int = 0  # the search looks at a sample of a long table; constants are fitted to all of it
    columns_searched: int = 0  # of a wide table it looks at those that promise most; 0: not known
    leftover: Path | None = None  # a checkpoint that nobody asked for: to be removed once the result is in safety

    @property
    def best(self) -> Formula:
        """The chosen formula."""
        return self.front[self.chosen]


def poles_of(formula: Formula, data: Dataset) -> tuple[Pole, ...]:
    """Where the formula blows up within the range of the data."""
    return tuple(find_poles(formula.expression, formula.symbols, data.x.min(axis=0), data.x.max(axis=0)))
