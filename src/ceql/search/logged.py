"""What a search tells on its way as lines of the logger `ceql`: rounds at DEBUG, its beginning and its end at INFO.

No handler is added and no level is set: that is for the program that wants the lines.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ceql.data.dataset import Dataset
from ceql.search.outcome import Outcome, Progress
from ceql.search.settings import Settings

LOGGER = logging.getLogger("ceql")


def log_beginning(data: Dataset, settings: Settings) -> None:
    rows, columns = data.x.shape
    recipe = settings.recipe if isinstance(settings.recipe, str) else settings.recipe.name
    given = rows, columns, recipe, settings.time_limit, settings.seed
    LOGGER.info("begins: %d rows, %d columns, recipe %s, time limit %g s, seed %s", *given)


def logged(report: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """The same report, which also leaves a line."""

    def tell(progress: Progress) -> None:
        if LOGGER.isEnabledFor(logging.DEBUG):  # to write the formula takes milliseconds
            said = [f"{progress.seconds:.2f} s", f"{progress.starts} starts", f"loss {progress.best_loss:.3g}"]
            said += [progress.message] if progress.message else []
            said += [progress.formula()] if progress.formula is not None else []
            LOGGER.debug("round: %s", ", ".join(said))
        report(progress)

    return tell


def log_end(outcome: Outcome, seconds: float, starts: int, formula: Callable[[], str]) -> None:
    if LOGGER.isEnabledFor(logging.INFO):
        LOGGER.info("ends: %s after %.2f s and %d starts, %s", outcome.name, seconds, starts, formula())
