"""The live display: one line in a terminal or a notebook, nothing when the output is piped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ceql.pipeline import Progress

_SHOW_AFTER = 1.0  # seconds; what ends sooner needs no bar


def is_interactive() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


@contextmanager
def live_display(verbose: bool | None = None) -> Iterator[Callable[[Progress], None] | None]:
    """Yields the callback that a discovery reports to, or None where nobody looks."""
    if verbose is False or (verbose is None and not is_interactive()):
        yield None
        return
    from tqdm.auto import tqdm

    bar = tqdm(total=1.0, bar_format="{desc}|{bar}| {postfix}", leave=False, dynamic_ncols=True, delay=_SHOW_AFTER)

    def show(progress: Progress) -> None:
        done = progress.fraction
        if done is None:
            done = progress.seconds / progress.time_limit if progress.time_limit else 0.0
        bar.n = min(1.0, done)
        left = (
            f"{max(0.0, progress.time_limit - progress.seconds):.0f} s left" if progress.time_limit else f"{done:.0%}"
        )
        parts = [f"{progress.starts:,} starts", f"loss {progress.best_loss:.2g}", progress.message, left]
        bar.set_postfix_str(", ".join(part for part in parts if part), refresh=False)
        bar.update(0)
        bar.refresh()

    try:
        yield show
    finally:
        bar.close()
