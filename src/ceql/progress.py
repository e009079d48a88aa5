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

    bar = None

    def show(progress: Progress) -> None:
        nonlocal bar
        if progress.seconds < _SHOW_AFTER:
            return
        if bar is None:
            bar = tqdm(total=1.0, bar_format="|{bar:20}| {desc}", leave=False, dynamic_ncols=True)
        done, left = _done_and_left(progress)
        bar.n = min(1.0, done)
        parts = [f"{progress.starts:,} starts", f"loss {progress.best_loss:.2g}", progress.message, left]
        bar.set_description_str(", ".join(part for part in parts if part))

    try:
        yield show
    finally:
        if bar is not None:
            bar.close()


def _done_and_left(progress: Progress) -> tuple[float, str]:
    """How full the bar is and what is said about the rest: time for a search, a share for a schedule."""
    if progress.fraction is not None:
        return progress.fraction, f"{progress.fraction:.0%}"
    left = max(0.0, progress.time_limit - progress.seconds)
    return progress.seconds / progress.time_limit, f"{left:.0f} s left"
