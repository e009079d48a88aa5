"""A line that tells the stage of a fit while it runs; nothing where nobody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ceql.output.progress import is_interactive


@contextmanager
def stage_display(quiet: bool) -> Iterator[Callable[[str, float], None] | None]:
    """Yields the callback that a fit reports its stage and fraction to."""
    if quiet or not is_interactive():
        yield None
        return
    from tqdm import tqdm

    with tqdm(total=1.0, leave=False, bar_format="|{bar:20}| {desc}") as bar:

        def show(stage: str, fraction: float) -> None:
            bar.n = min(1.0, max(0.0, fraction))
            bar.set_description_str(stage)

        yield show
