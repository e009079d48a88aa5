"""What a compiled module states about itself: machine, required libraries, oldest system that it runs on."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
_MACHO_MACHINES = {0x01000007: "x86_64", 0x0100000C: "arm64"}
_PE_MACHINES = {0x8664: "AMD64", 0xAA64: "ARM64"}
_LOADS_LIBRARY, _BUILT_FOR = 0xC, 0x32  # commands of a Mach-O file


@dataclass(frozen=True)
class NativeModule:
    system: str  # as CMake calls it
    processor: str  # likewise; empty if unknown
    libraries: frozenset[str]
    least: tuple[int, int] = (0, 0)  # version of glibc or macOS; (0, 0) where there is no such thing


def read_module(data: bytes) -> NativeModule:
    """Reads a module; raises ValueError if it is not a 64-bit little-endian ELF, Mach-O or PE file."""
    if data[:6] == b"\x7fELF\x02\x01":
        return _elf(data)
    if data[:4] == b"\xcf\xfa\xed\xfe":
        return _macho(data)
    if data[:2] == b"MZ":
        return _pe(data)
    raise ValueError("This is no module that Linux, macOS or Windows could load.")


def _elf(data: bytes) -> NativeModule:
    (machine,) = struct.unpack_from("<H", data, 18)
    # Names of libraries and versions are strings in the file; searching all of them misses none.
    libraries = {name.decode() for name in re.findall(rb"\x00(lib[\w+-]+\.so[.\d]*)(?=\x00)", data)}
    versions = {(int(a), int(b)) for a, b in re.findall(rb"\x00GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\x00)", data)}
    if b"\x00GLIBC_ABI" in data or b"\x00GLIBC_PRIVATE" in data:
        versions.add((999, 0))  # no baseline has these
    return NativeModule("Linux", _ELF_MACHINES.get(machine, ""), frozenset(libraries), max(versions, default=(0, 0)))


def _macho(data: bytes) -> NativeModule:
    (machine,) = struct.unpack_from("<I", data, 4)
    libraries, least = set(), (0, 0)
    for kind, body in _commands(data):
        if kind == _LOADS_LIBRARY:
            (start,) = struct.unpack_from("<I", body, 8)
            libraries.add(body[start:].split(b"\x00")[0].decode())
        if kind == _BUILT_FOR:
            (version,) = struct.unpack_from("<I", body, 12)
            least = version >> 16, version >> 8 & 0xFF
    return NativeModule("Darwin", _MACHO_MACHINES.get(machine, ""), frozenset(libraries), least)


def _commands(data: bytes) -> Iterator[tuple[int, bytes]]:
    (count,) = struct.unpack_from("<I", data, 16)
    place = 32  # the length of the header
    for _ in range(count):
        kind, size = struct.unpack_from("<II", data, place)
        yield kind, data[place : place + size]
        place += size


def _pe(data: bytes) -> NativeModule:
    (start,) = struct.unpack_from("<I", data, 0x3C)
    (machine,) = struct.unpack_from("<H", data, start + 4)
    libraries = {name.decode() for name in re.findall(rb"\x00([\w.-]+\.dll)(?=\x00)", data, re.IGNORECASE)}
    return NativeModule("Windows", _PE_MACHINES.get(machine, ""), frozenset(libraries))
