"""How a search ends, what it tells on its way, and what it hands over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from ceql.formula import Formula

if TYPE_CHECKING:
    from ceql.search.glimpses import Glimpse


class Outcome(Enum):
    """How a discovery ended, and what to do next."""

    EXACT = "An exact formula was found: it fits to machine precision and no part of it can be left out."
    SETTLED = (
        "Done: the search ended by itself, because further rounds no longer changed the formulas. No formula fits "
        "these rows exactly; if they have no noise, allow more operators or raise max_complexity."
    )
    FITTED = (
        "Done: the parameters of the template were fitted from many starts, and these are the best. They do not fit "
        "the rows exactly; if these have no noise, the template lacks something, or a parameter needs bounds."
    )
    OUT_OF_TIME = "The time limit was reached; this is the best so far. Raise time_limit if the fit is not good enough."
    OUT_OF_STARTS = (
        "The limit on starts was reached; this is the best so far. Raise max_starts if the fit is not good enough."
    )
    WORKERS_LOST = "The workers died one after the other and the search ended early; look at their logs."
    INTERRUPTED = (
        "The search was interrupted; this is the best formula so far. Formulas that the live display showed were "
        "not yet simplified, fitted and compared, and may be missing here."
    )
    TOO_COMPLEX = (
        "An exact formula was found, but it has more nodes than max_complexity allows; this is the best formula "
        "within that limit."
    )
    NOT_ALLOWED = (
        "No formula was found that satisfies the constraints, so this is only a constant. Loosen them, allow more "
        "operators, or raise max_complexity or time_limit."
    )
    SCHEDULE_DONE = "The training of the recipe was completed."
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
    front: Callable[[], Sequence[Glimpse]] | None = None  # the best of every size so far; the same holds for these


@dataclass(frozen=True, eq=False)
class Found:
    """The formulas of a search or a training, and how it ended."""

    formulas: list[Formula]
    outcome: Outcome
    starts: int = 1
    imaginary_residue: float = 0.0
    rows_searched: int = 0
    stands_until: float = np.inf  # the time limit up to which it would be the same
