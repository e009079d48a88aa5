"""Reads arrays from files written by NumPy's savez, without trusting the sizes that the file states.

Nothing is decompressed: `savez` does not compress, so the arrays are no larger than the file. Only requested arrays are
read.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ceql.data.content import ContentError
from ceql.storage.files import place_of

UNREADABLE = (zipfile.BadZipFile, zlib.error, ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError)
UNREADABLE += (OverflowError, MemoryError, RuntimeError, NotImplementedError)
_LARGEST_FILE = 2**30  # bytes; the largest known search needs a hundredth of it
_ENCRYPTED = 0x1


class StoredArrays:
    """The arrays of an open file, by name."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive = archive
        self._sizes = {info.filename: info.file_size for info in archive.infolist()}
        plain = all(i.compress_type == zipfile.ZIP_STORED and not i.flag_bits & _ENCRYPTED for i in archive.infolist())
        if not plain or sum(self._sizes.values()) > size:
            raise ContentError("its arrays are packed, or longer than the file")

    def __getitem__(self, name: str) -> np.ndarray:
        if f"{name}.npy" not in self._sizes:
            raise ContentError(f"the array {name!r} is missing")
        content = io.BytesIO(self._archive.read(f"{name}.npy"))
        version = np.lib.format.read_magic(content)
        if version != (1, 0):
            raise ContentError(f"the array {name!r} has a form that is not written here")
        shape, by_columns, kind = np.lib.format.read_array_header_1_0(content)
        rest = content.read()
        if kind.hasobject or kind.itemsize * math.prod(shape) != len(rest):
            raise ContentError(f"the array {name!r} is not of the size that it says")
        return np.frombuffer(rest, kind).reshape(shape, order="F" if by_columns else "C").copy()

    def of(self, name: str, kind: type, dimensions: int = 1) -> np.ndarray:
        """The array, if it has this type and number of dimensions; otherwise a ContentError."""
        array = self[name]
        if array.dtype != kind or array.ndim != dimensions:
            raise ContentError(f"the array {name!r} is of another kind")
        return array


@contextmanager
def opened(path: str | Path) -> Iterator[StoredArrays]:
    """Opens a file and yields its arrays; an OSError if it cannot be read, one of UNREADABLE if it holds something
    else.
    """
    with place_of(path).open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        if size > _LARGEST_FILE:
            raise ContentError(f"it has {size:,} bytes, which is more than a search leaves")
        with zipfile.ZipFile(file) as archive:
            yield StoredArrays(archive, size)
