"""The progress bar while relations are searched for, shown in interactive sessions after a short delay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ceql.output.progress import is_interactive

_SHOW_AFTER = 2.0  # seconds


@contextmanager
def stage_display(quiet: bool) -> Iterator[Callable[[str, float], None] | None]:
    """Yields the callback that takes a stage and its share; None if there is no interactive session."""
    if quiet or not is_interactive():
        yield None
        return
    from tqdm import tqdm

    with tqdm(total=1.0, leave=False, bar_format="|{bar:20}| {desc}", delay=_SHOW_AFTER) as bar:

        def show(stage: str, share: float) -> None:
            bar.n = min(1.0, max(0.0, share))
            bar.set_description_str(stage)

        yield show
