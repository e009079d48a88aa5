"""Files that are there whole or not at all, and names beside them."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path

from ceql.errors import CeqlError, InputError

_UNFINISHED = ".part"


def write_atomically(path: str | Path, content: str | bytes, error: type[CeqlError] = InputError) -> None:
    """Writes the whole file or nothing: it is built beside its place and then moved there."""
    path = Path(path)
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_UNFINISHED}")
    try:
        try:
            with scratch.open("xb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(path)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise error(f"{path} cannot be written: {problem.strerror or problem}.") from problem


def remove_unfinished(path: str | Path) -> None:
    """Removes what a killed writer of this file left beside it."""
    path = Path(path)
    for scratch in path.parent.glob(f".{_literally(path.name)}.*{_UNFINISHED}"):
        scratch.unlink(missing_ok=True)


def _literally(name: str) -> str:
    """The name as a pattern that matches nothing else."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def beside(path: str | Path, name: str) -> Path:
    """A file of its own for one of several: run.html and lift give run-lift.html.

    Names that no file can have get a few letters that tell them apart from others.
    """
    path = Path(path)
    plain = re.sub(r"[^\w.-]", "_", name)[:100]
    mark = "" if plain == name else f"-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return path.with_name(f"{path.stem}-{plain}{mark}{path.suffix}")
