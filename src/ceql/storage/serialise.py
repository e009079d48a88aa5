"""Converts trees of dataclasses to one JSON header and a few flat arrays and back, guided by the types of the fields.

The arrays of a tree are joined end to end, masks as bits, and of numbers only those that are not zero: a search has
thousands of small arrays, and a file entry for each would take more space than the numbers. Nothing that is read is
run: a field accepts only what its type says, and anything else is a ContentError. Plain floats must be at least 0; a
type made from float with `NewType` may be negative.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from ceql.data.content import ContentError, shown

BITS, PLACES, VALUES = "bits", "places", "values"  # masks; indices of nonzero numbers; the nonzero numbers
_NUMBERS_A_BYTE = 16  # at most, over all arrays of a tree: a small file must not need much memory


@dataclass(frozen=True, eq=False)
class Codec:
    """How objects of a class that is not a plain dataclass are written and read."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


Codecs = Mapping[type, Codec]


@dataclass
class Writer:
    """Writes a tree as JSON and collects its arrays."""

    codecs: Codecs
    _bits: list[np.ndarray] = field(default_factory=list)
    _places: list[np.ndarray] = field(default_factory=list)
    _values: list[np.ndarray] = field(default_factory=list)

    def write(self, value: Any) -> Any:
        """The value as JSON; its arrays are collected."""
        if type(value) in self.codecs:
            return self.codecs[type(value)].write(value)
        if is_dataclass(value) and not isinstance(value, type):
            return {f.name: self.write(getattr(value, f.name)) for f in fields(value)}
        if isinstance(value, np.ndarray):
            return self._write_array(value)
        if isinstance(value, frozenset):
            return self._write_set(value)
        if isinstance(value, tuple | list):
            return [self.write(part) for part in value]
        if isinstance(value, np.generic):
            return value.item()
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise TypeError(f"a {type(value).__name__} cannot be kept")

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            BITS: _joined(self._bits, np.uint8),
            PLACES: _joined(self._places, np.int64),
            VALUES: _joined(self._values, np.float64),
        }

    def _write_array(self, array: np.ndarray) -> Any:
        flat = np.ascontiguousarray(array).ravel()
        if array.dtype == bool:
            self._bits.append(np.packbits(flat))
            return {"mask": list(array.shape)}
        flat = flat.astype(np.float64)
        places = np.flatnonzero(flat.view(np.int64))  # compared bit by bit: a negative zero is kept
        self._places.append(places)
        self._values.append(flat[places])
        return {"numbers": list(array.shape), "stored": len(places)}

    def _write_set(self, members: frozenset[Any]) -> Any:
        ordered = sorted(members)
        if not ordered or not isinstance(ordered[0], bytes):
            return ordered
        masks = np.frombuffer(b"".join(ordered), bool).reshape(len(ordered), -1)
        return self._write_array(masks)


def _joined(parts: list[np.ndarray], kind: Any) -> np.ndarray:
    return np.concatenate(parts).astype(kind) if parts else np.zeros(0, kind)


@dataclass
class Reader:
    """Reads a tree from JSON, taking its arrays in the order in which they were written."""

    codecs: Codecs
    arrays: Mapping[str, np.ndarray]
    _taken: dict[str, int] = field(default_factory=lambda: {BITS: 0, PLACES: 0, VALUES: 0})
    _numbers: int = 0

    def read(self, kind: Any, content: Any) -> Any:
        """The value of type `kind` in this JSON; a ContentError if it has another type."""
        if kind in self.codecs:
            return self.codecs[kind].read(content)
        if is_dataclass(kind):
            return self._read_dataclass(kind, content)
        if kind is np.ndarray:
            return self._read_array(content)
        origin, parts = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            present = [part for part in parts if part is not type(None)]
            return None if content is None and len(present) < len(parts) else self.read(present[0], content)
        if origin is tuple:
            return self._read_tuple(parts, content)
        if origin is frozenset:
            return self._read_set(parts[0], content)
        return _plain(kind, content)

    def finish(self) -> None:
        """Raises a ContentError if parts of the arrays were not used."""
        if any(self._taken[name] != len(self.arrays[name]) for name in self._taken):
            raise ContentError("its arrays hold more than belongs to it")

    def _read_dataclass(self, kind: Any, content: Any) -> Any:
        names = {f.name for f in fields(kind)}
        if not isinstance(content, dict) or set(content) != names:
            raise ContentError(f"{shown(content)} does not have the fields of {kind.__name__}")
        hints = get_type_hints(kind)
        return kind(**{f.name: self.read(hints[f.name], content[f.name]) for f in fields(kind)})

    def _read_tuple(self, parts: tuple[Any, ...], content: Any) -> tuple[Any, ...]:
        if not isinstance(content, list):
            raise ContentError(f"{shown(content)} is not a list")
        if len(parts) == 2 and parts[1] is Ellipsis:
            return tuple(self.read(parts[0], part) for part in content)
        if len(content) != len(parts):
            raise ContentError(f"{shown(content)} should have {len(parts)} parts")
        return tuple(self.read(kind, part) for kind, part in zip(parts, content, strict=True))

    def _read_set(self, kind: Any, content: Any) -> frozenset[Any]:
        if kind is bytes and isinstance(content, dict):
            return frozenset(row.tobytes() for row in self._read_array(content))
        if not isinstance(content, list):
            raise ContentError(f"{shown(content)} is not a set")
        return frozenset(_plain(kind, part) for part in content)

    def _read_array(self, content: Any) -> np.ndarray:
        sizes = content.get("mask", content.get("numbers")) if isinstance(content, dict) else None
        if not isinstance(sizes, list):
            raise ContentError(f"{shown(content)} is not an array")
        shape = tuple(_plain(int, size) for size in sizes)
        size = math.prod(shape)
        self._numbers += size
        if self._numbers > _NUMBERS_A_BYTE * sum(array.nbytes for array in self.arrays.values()):
            raise ContentError("its arrays are larger than what they hold")
        if "mask" in content:
            bits = self._take(BITS, -(-size // 8))
            return np.unpackbits(bits.astype(np.uint8), count=size).astype(bool).reshape(shape)
        stored = _plain(int, content.get("stored"))
        places, values = self._take(PLACES, stored), self._take(VALUES, stored)
        if len(places) and not 0 <= places.min() <= places.max() < size:
            raise ContentError("numbers lie outside their array")
        flat = np.zeros(size)
        flat[places] = values
        return flat.reshape(shape)

    def _take(self, name: str, count: int) -> np.ndarray:
        first = self._taken[name]
        self._taken[name] = first + count
        if self._taken[name] > len(self.arrays[name]):
            raise ContentError("its arrays are too short")
        return self.arrays[name][first : first + count]


def _plain(kind: Any, content: Any) -> Any:
    """A number, flag or text of type `kind`; a ContentError for anything else."""
    signed = getattr(kind, "__supertype__", None) is float
    if (signed or kind is float) and isinstance(content, int | float) and not isinstance(content, bool):
        if content != content or (content < 0 and not signed):
            raise ContentError(f"{content} is not a number of at least 0")
        return float(min(content, math.inf))
    if type(content) is kind and (isinstance(content, bool | str) or (isinstance(content, int) and content >= 0)):
        return content
    raise ContentError(f"{shown(content)} is not of the type {getattr(kind, '__name__', kind)}")
