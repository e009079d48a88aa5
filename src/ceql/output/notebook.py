"""The live display in a notebook: the growing front, redrawn in one output, as HTML and as text."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ceql.discovery import Progress
from ceql.expression.text.write import short_text
from ceql.output.report.card import framed
from ceql.output.report.chart import front_drawing
from ceql.output.report.markup import escape, formula_in_terms, number, table

_LOOK_EVERY, _LOOK_SHARE = 0.5, 0.03  # seconds between two looks at the front, and the share of the time they may take
_ROWS = 6  # number of formulas that are listed, the best first
_DIGITS = 4  # of constants during the search


def has_notebook() -> bool:
    """Whether this runs in a notebook that can show the display."""
    return "ipykernel" in sys.modules and importlib.util.find_spec("IPython") is not None


class NotebookFront:
    """Shows progress in one output of a cell, which is cleared at the end because the model then shows itself."""

    def __init__(self, words: Callable[[Progress], str]) -> None:
        self._words = words
        self._handle: Any = None
        self._front: Sequence[Any] = ()
        self._next_look = 0.0

    def show(self, progress: Progress) -> None:
        begin = time.monotonic()
        if self._handle is not None and begin < self._next_look:
            return
        if progress.front is not None:
            self._front = progress.front()
        words = self._words(progress)
        content = {"text/html": _page(progress, words, self._front), "text/plain": self._plain(words)}
        if self._handle is None:
            from IPython.display import display  # pyright: ignore[reportMissingImports] - only called if installed

            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
        took = time.monotonic() - begin
        self._next_look = begin + max(_LOOK_EVERY, took / _LOOK_SHARE)

    def _plain(self, words: str) -> str:
        return f"{words}: {short_text(_best(self._front).expression)}" if self._front else words

    def close(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)


def _best(front: Sequence[Any]) -> Any:
    return next((glimpse for glimpse in front if glimpse.is_best), front[-1])


def _page(progress: Progress, words: str, front: Sequence[Any]) -> str:
    share = progress.fraction if progress.fraction is not None else progress.seconds / (progress.time_limit or 1.0)
    bar = f'<progress max="1" value="{min(1.0, share):.3f}" style="width:100%"></progress>'
    told = f"<p><small>{escape(words)}</small></p>"
    if not front:
        return framed(bar + told)
    best = formula_in_terms(_best(front).expression, digits=_DIGITS)
    sizes, losses = (np.array([getattr(g, name) for g in front], float) for name in ("complexity", "loss"))
    rows = [
        (str(g.complexity), number(g.loss, 3), f"<code>{escape(short_text(g.expression, _DIGITS))}</code>")
        for g in list(reversed(front))[:_ROWS]
    ]
    listed = table(("nodes", "loss", "formula, not finished yet"), rows)
    return framed(
        bar + told + best + front_drawing(sizes, losses, len(front), list(front).index(_best(front))) + listed
    )
