"""Where commands write to: a file, or `-` for standard output; whether that will work is found out before the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click

from ceql.errors import CeqlError, InputError, in_words
from ceql.storage.files import require_writable, write_atomically


def is_standard_output(path: Path) -> bool:
    return str(path) == "-"


def write_text(path: Path, text: str) -> None:
    """Writes the file, or to standard output for `-`; an error that names the file where that fails."""
    if is_standard_output(path):
        click.echo(text, nl=False)
    else:
        write_atomically(path, text)


def check_writable(*paths: Path | None) -> None:
    """Raises now what would only be found out after the work: no such folder, no permission, a full disk, a device."""
    for path in paths:
        if path is not None and not is_standard_output(path):
            require_writable(path)


def deliver(steps: Iterable[Callable[[], None]], advice: Callable[[], str] = lambda: "") -> None:
    """Takes every step, also after one that failed: a full disk must not cost what can go elsewhere.

    The `advice` ends the sentence about what failed. A reader of standard output that has left is no reason for one.
    """
    failed: list[CeqlError | OSError] = []
    for step in steps:
        try:
            step()
        except (CeqlError, OSError) as error:
            failed.append(error)
    told = [error for error in failed if not isinstance(error, BrokenPipeError)]
    if told:
        raise InputError(" ".join([*map(in_words, told), advice()]).strip()) from told[0]
    if failed:
        raise failed[0]
