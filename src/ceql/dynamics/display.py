"""The live display of a search for equations: a bar with the stage that it is in."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ceql.output.progress import is_interactive

Tell = Callable[[str, float], None]


@contextmanager
def stage_display(verbose: bool | None = None) -> Iterator[Tell | None]:
    """Yields the callback that a search reports its stage and fraction to; None where nobody looks."""
    if verbose is False or (verbose is None and not is_interactive()):
        yield None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # in a notebook without ipywidgets tqdm says so, and draws a line of text
        from tqdm.auto import tqdm

    with tqdm(total=1.0, leave=False, bar_format="|{bar:20}| {desc}") as bar:

        def show(stage: str, fraction: float) -> None:
            bar.n = min(1.0, max(0.0, fraction))
            bar.set_description_str(stage)

        yield show
