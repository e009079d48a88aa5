"""Where commands write to: a file, or `-` for standard output; whether that will work is found out before the work."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ceql.errors import InputError

_TRIED = 4096  # bytes


def is_standard_output(path: Path) -> bool:
    return str(path) == "-"


def write_text(path: Path, text: str) -> None:
    """Writes the file, or to standard output for `-`; an error that names the file where that fails."""
    if is_standard_output(path):
        click.echo(text, nl=False)
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwritable(path, error) from error


def check_writable(*paths: Path | None) -> None:
    """Raises now what would only be found out after the work: no such folder, no permission, a full disk."""
    for path in paths:
        if path is None or is_standard_output(path):
            continue
        try:
            _try(path)
        except OSError as error:
            raise _unwritable(path, error) from error


def _try(path: Path) -> None:
    existed = path.exists()
    if existed and not path.is_file() and not path.is_dir():
        return  # a pipe or a device: what is written there does not come back
    with path.open("ab", buffering=0) as file:
        end = file.tell()
        try:
            file.write(b" " * _TRIED)  # a full disk often shows only when bytes are really written
            os.fsync(file.fileno())
        finally:
            file.truncate(end)
    if not existed:
        path.unlink()


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path} cannot be written: {error.strerror or error}. Choose another file.")
