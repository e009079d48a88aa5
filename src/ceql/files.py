"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from ceql.errors import CeqlError, InputError


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
