"""Files that are whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_UNFINISHED = ".part"


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Writes the whole file or nothing, also when the process is killed or the power fails in between."""
    path = Path(path)
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def remove_unfinished(path: str | Path) -> None:
    """Removes what a killed writer of this file left beside it."""
    path = Path(path)
    for scratch in path.parent.glob(f".{_literally(path.name)}.*{_UNFINISHED}"):
        scratch.unlink(missing_ok=True)


def _literally(name: str) -> str:
    """The name as a pattern that matches nothing else."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
