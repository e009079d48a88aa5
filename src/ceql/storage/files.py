"""Writes files completely or not at all, and names files after other files."""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import re
import secrets
import stat
from pathlib import Path

from ceql.errors import CeqlError, InputError

_UNFINISHED = ".part"
_TRIED = b" " * 4096  # written as a test: a full disk often shows only when bytes are really written
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def write_atomically(path: str | Path, content: str | bytes, error: type[CeqlError] = InputError) -> None:
    """Writes the file completely or not at all: it is written to a temporary file beside it and then moved.

    A symbolic link is kept and its target is written. Devices, pipes and folders are refused.
    """
    try:
        text = content.encode() if isinstance(content, str) else content
    except UnicodeEncodeError as problem:
        raise error(
            f"{path} cannot be written: the text contains {problem.object[problem.start]!r}, which is a lone "
            "surrogate, not a whole character."
        ) from problem
    try:
        place = place_of(path)
        _put(_scratch_for(place), text, place)
    except OSError as problem:
        raise error(f"{path} cannot be written: {problem.strerror or problem}.") from problem


def require_writable(path: str | Path, error: type[CeqlError] = InputError, tried: bytes = _TRIED) -> None:
    """Raises the error that `write_atomically` would raise later, without changing the file."""
    try:
        place = place_of(path)
        if place.exists():
            place.open("ab").close()  # a read-only file is not replaced either
        _put(_scratch_for(place), tried, None)
    except OSError as problem:
        raise error(f"{path} cannot be written: {problem.strerror or problem}. Choose another file.") from problem


def place_of(path: str | Path) -> Path:
    """The path with symbolic links resolved; an OSError if something other than a regular file is there."""
    path = Path(path)
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        kind = stat.S_IFREG  # it does not exist yet
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if kind != stat.S_IFREG:
        raise OSError(errno.EINVAL, f"it is {_KINDS.get(kind, 'something else')}, not a regular file")
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _scratch_for(place: Path) -> Path:
    return place.with_name(f".{place.name}.{secrets.token_hex(4)}{_UNFINISHED}")


def _put(scratch: Path, content: bytes, place: Path | None) -> None:
    """Writes the content to the disk and moves it to `place`; if `place` is None it is removed again."""
    try:
        with scratch.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if place is not None:
            scratch.replace(place)
    finally:
        scratch.unlink(missing_ok=True)


def remove_unfinished(path: str | Path) -> None:
    """Removes temporary files that a killed process left beside this file."""
    path = Path(path)
    for scratch in path.parent.glob(f".{glob.escape(path.name)}.*{_UNFINISHED}"):
        scratch.unlink(missing_ok=True)


def beside(path: str | Path, name: str) -> Path:
    """The path with a name added: run.html and lift give run-lift.html.

    If characters of the name cannot be used in a file name, a hash is added, so that different names stay different.
    """
    path = Path(path)
    plain = re.sub(r"[^\w.-]", "_", name)[:100]
    mark = "" if plain == name else f"-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return path.with_name(f"{path.stem}-{plain}{mark}{path.suffix}")
