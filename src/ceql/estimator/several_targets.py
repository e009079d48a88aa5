"""Fits several targets: one search after the other, within one time limit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

from ceql.choice.validation import Folds
from ceql.data.targets import Targets
from ceql.dimensions import Dimensions
from ceql.discovery import Discovery, Outcome, Progress, Settings
from ceql.errors import CeqlWarning
from ceql.pipeline import discover, not_searched
from ceql.storage.checkpoint import Checkpoint

Guesses = tuple[str, ...]


def discover_each(
    targets: Targets,
    settings: Settings,
    guesses: Sequence[Guesses] = (),
    progress: Callable[[Progress], None] | None = None,
    checkpoint: Checkpoint | None = None,
    folds: Folds | None = None,
    units: Sequence[Dimensions] | None = None,
) -> tuple[Discovery, ...]:
    """A discovery for each target, which may use an equal share of the time that is left.

    Time that an easy target does not need goes to the next ones. Ctrl-C ends the search of one target and skips the
    rest. With several targets, each has its own checkpoint.
    """
    known = guesses or [()] * len(targets.names)
    kept_in = [None] * len(targets.names) if checkpoint is None else checkpoint.of_each(targets.names)
    found: list[Discovery] = []
    skipped: list[str] = []
    for k, (name, data) in enumerate(zip(targets.names, targets.datasets, strict=True)):
        if found and found[-1].outcome is Outcome.INTERRUPTED:
            found.append(not_searched(data))
            skipped.append(name)
            continue
        left = settings.time_limit - sum(earlier.seconds for earlier in found)
        share = max(left / (len(targets.names) - k), 1e-3)
        own = replace(settings, time_limit=share, guesses=(*settings.guesses, *known[k]))
        own = own if units is None else replace(own, units=units[k])
        try:
            found.append(discover(data, own, _named(progress, targets.names, k), kept_in[k], folds))
        except KeyboardInterrupt:  # before this one had found anything
            if not found:
                raise
            found.append(not_searched(data))
            skipped.append(name)
    if skipped:
        warnings.warn(
            f"The fit was interrupted before it reached {', '.join(skipped)}: each of these has only a constant "
            "as its formula.",
            CeqlWarning,
            stacklevel=3,
        )
    return tuple(found)


def _named(progress: Callable[[Progress], None] | None, names: Sequence[str], k: int):
    if progress is None or len(names) == 1:
        return progress
    return lambda report: progress(replace(report, target=f"{names[k]} ({k + 1} of {len(names)})"))
