"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from ceql.errors import CeqlError, InputError


def check_place(path: str | Path) -> None:
    """An error where nothing can be written, before hours of work that would be lost to a bad path."""
    path = Path(path)
    if not path.absolute().parent.is_dir():
        raise InputError(f"There is no folder {path.absolute().parent} to write {path.name} in: make it first.")
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file in it.")


def write_atomically(path: str | Path, text: str, error: type[CeqlError] = InputError) -> None:
    """Writes the whole file or nothing: it is built beside its place and then moved there."""
    path = Path(path)
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        try:
            with scratch.open("x", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(path)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise error(f"{path} cannot be written: {problem.strerror or problem}.") from problem
