"""The live display: a line in a terminal, the front in a notebook, nothing when the output is piped."""

from __future__ import annotations

import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ceql.discovery import Progress
from ceql.output.notebook import NotebookFront, has_notebook

_SHOW_AFTER = 0.3  # seconds; shorter fits show no bar
_LOOK_EVERY, _LOOK_SELDOM = 1.0, 5.0  # seconds between two formulas; the second if writing one takes long
_LOOK_SHARE = 0.01  # of the time that may be spent on writing them
_NOTEBOOK_WIDTH = 120


_watcher: ContextVar[Callable[[Progress], None] | None] = ContextVar("watcher", default=None)


@contextmanager
def shown_by(display: Callable[[Progress], None]) -> Iterator[None]:
    """Makes all fits in this context report to the given display instead of their own."""
    before = _watcher.set(display)
    try:
        yield
    finally:
        _watcher.reset(before)


def is_interactive() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


@contextmanager
def live_display(verbose: bool | None = None) -> Iterator[Callable[[Progress], None] | None]:
    """Yields the callback that a discovery reports to, or None if nothing is shown."""
    if (watcher := _watcher.get()) is not None:
        yield watcher
        return
    if verbose is False or (verbose is None and not is_interactive()):
        yield None
        return
    line = NotebookFront(describe) if has_notebook() else _Line()
    try:
        yield line.show
    finally:
        line.close()


class _Line:
    """A bar that fills with the time, followed by words. It appears late, so that quick fits show nothing."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._formula, self._next_look = "", 0.0

    def show(self, progress: Progress) -> None:
        if progress.seconds < _SHOW_AFTER:
            return
        if self._bar is None:
            self._bar, self._width = _new_bar()
        begin = time.monotonic()
        if progress.formula is not None and begin >= self._next_look:
            self._formula = progress.formula()
            pause = (time.monotonic() - begin) / _LOOK_SHARE
            self._next_look = begin + min(max(pause, _LOOK_EVERY), _LOOK_SELDOM)
        words, width = describe(progress, self._formula), self._width()
        self._bar.n = min(1.0, _done_and_left(progress)[0])
        self._bar.set_description_str(words if len(words) <= width else words[: max(0, width - 1)] + "…")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def describe(progress: Progress, formula: str = "") -> str:
    """The text beside the bar; the formula comes last because it may not fit."""
    parts = [progress.target, f"{progress.starts:,} starts", f"loss {progress.best_loss:.2g}", progress.message]
    words = ", ".join(part for part in [*parts, _done_and_left(progress)[1]] if part)
    return f"{words}: {formula}" if formula else words


def _new_bar() -> tuple[Any, Callable[[], int]]:
    """A progress bar for a notebook or a terminal, and a function for the number of characters beside it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # in a notebook without ipywidgets, tqdm warns and draws a line of text
        from tqdm.auto import tqdm
    options: dict[str, Any] = {"total": 1.0, "leave": False}
    if _draws_widgets(tqdm):
        return tqdm(bar_format="{bar} {desc}", **options), lambda: _NOTEBOOK_WIDTH
    bar = tqdm(bar_format="|{bar:20}| {desc}", dynamic_ncols=True, **options)
    return bar, lambda: shutil.get_terminal_size((_NOTEBOOK_WIDTH, 24)).columns - 24


def _draws_widgets(bar: type) -> bool:
    return any(base.__module__ == "tqdm.notebook" for base in bar.__mro__)


def _done_and_left(progress: Progress) -> tuple[float, str]:
    """How full the bar is, and what is left: time for a search, a percentage for a schedule."""
    if progress.fraction is not None:
        return progress.fraction, f"{progress.fraction:.0%}"
    left = max(0.0, progress.time_limit - progress.seconds)
    return progress.seconds / progress.time_limit, f"{left:.0f} s left"
