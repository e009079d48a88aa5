"""The columns of y: one search each, one after the other, within one time limit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ceql.data.dataset import Dataset, is_table, require_text, shape_of
from ceql.discovery import Discovery, Outcome, Progress, Settings
from ceql.errors import CeqlWarning, InputError
from ceql.pipeline import discover, not_searched
from ceql.storage.checkpoint import Checkpoint

Guesses = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Targets:
    """The data of every target; the inputs and weights are shared."""

    names: tuple[str, ...]
    datasets: tuple[Dataset, ...]

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None) -> Targets:
        """One target for a y of shape (n,) or (n, 1), k of them for (n, k)."""
        shape = () if y is None else shape_of(y, "y")
        labels = tuple(map(str, getattr(y, "columns", ()))) if is_table(y) else ()
        if len(shape) != 2 or shape[1] == 1:
            label = labels[0] if labels else getattr(y, "name", None)
            name = "y" if label is None else str(label)
            require_text(name, "The target")
            return cls((name,), (Dataset.of(X, y, sample_weight),))
        if shape[1] == 0:
            raise InputError("y has no columns: give at least one target.")
        names = labels or tuple(f"y{k + 1}" for k in range(shape[1]))
        datasets: list[Dataset] = []
        for k, name in enumerate(names):
            require_text(name, "A target")
            data = Dataset.of(X, _column(y, k), sample_weight, f"target {name!r}")
            datasets.append(replace(data, x=datasets[0].x, weight=datasets[0].weight) if datasets else data)
        return cls(names, tuple(datasets))

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.datasets[0].names


def discover_each(
    targets: Targets,
    settings: Settings,
    guesses: Sequence[Guesses] = (),
    progress: Callable[[Progress], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> tuple[Discovery, ...]:
    """A discovery for each target. Each may take its share of the time that is left, so what an easy one leaves over
    goes to those after it. Ctrl-C ends the search of one target and skips those after it. Of several targets each has
    a checkpoint of its own."""
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
        try:
            found.append(discover(data, own, _named(progress, targets.names, k), kept_in[k]))
        except KeyboardInterrupt:  # before this one had found anything
            if not found:
                raise
            found.append(not_searched(data))
            skipped.append(name)
    if skipped:
        warnings.warn(
            f"The fit was interrupted before {', '.join(skipped)} had a turn: a constant stands in for each.",
            CeqlWarning,
            stacklevel=3,
        )
    return tuple(found)


def _named(progress: Callable[[Progress], None] | None, names: Sequence[str], k: int):
    if progress is None or len(names) == 1:
        return progress
    return lambda report: progress(replace(report, target=f"{names[k]} ({k + 1} of {len(names)})"))


def _column(y: Any, k: int) -> Any:
    if hasattr(y, "iloc"):
        return y.iloc[:, k]
    if is_table(y):
        return y[y.columns[k]]
    return [row[k] for row in y] if isinstance(y, list | tuple) else y[:, k]
