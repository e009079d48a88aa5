"""Output of commands to a file, or to standard output for `-`; whether it can be written is checked beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click

from ceql.errors import CeqlError, InputError, in_words
from ceql.storage.files import require_writable, write_atomically


def is_standard_output(path: Path) -> bool:
    return str(path) == "-"


def write_text(path: Path, text: str) -> None:
    """Writes the text to a file, or to standard output for `-`; an error names the file."""
    if is_standard_output(path):
        click.echo(text, nl=False)
    else:
        write_atomically(path, text)


def check_writable(*paths: Path | None) -> None:
    """Raises an error if one of the files cannot be written: no such folder, no permission, a full disk, a device."""
    for path in paths:
        if path is not None and not is_standard_output(path):
            require_writable(path)


def deliver(steps: Iterable[Callable[[], None]], advice: Callable[[], str] = lambda: "") -> None:
    """Runs every step, even after one has failed: a full disk must not lose output that can be written elsewhere.

    Errors are raised at the end in one message, which closes with `advice`. A closed pipe on standard output is raised
    without advice, and only if nothing else failed.
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
