"""Checks whether a wheel is what its name says: tags, module, machine, libraries, oldest system, size."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from native_module import NativeModule, read_module
from wheel_targets import MOST_BYTES, Target, is_stable, module_ending, wheel_tag

_C_LIBRARY = re.compile(r"lib(c|m|dl|pthread|rt|util)\.so\.\d|/usr/lib/libSystem\.B\.dylib")
_WINDOWS_LIBRARY = re.compile(r"(kernel32|ntdll|ucrtbase|api-ms-win-[\w-]+)\.dll", re.IGNORECASE)


def faults(path: Path, target: Target, minor: int) -> list[str]:
    """One sentence for each fault of the wheel."""
    tag = wheel_tag(target, minor)
    found = []
    if not path.stem.endswith(f"-{tag}"):
        found.append(f"The file should be tagged {tag}.")
    if path.stat().st_size > MOST_BYTES:
        found.append(f"It has {path.stat().st_size:,} bytes, more than {MOST_BYTES:,}.")
    with zipfile.ZipFile(path) as wheel:
        (about,) = [name for name in wheel.namelist() if name.endswith(".dist-info/WHEEL")]
        tags = re.findall(r"^Tag: (\S+)", wheel.read(about).decode(), re.MULTILINE)
        if tags != [tag]:
            found.append(f"Its metadata is tagged {', '.join(tags)}, not {tag}.")
        modules = [name for name in wheel.namelist() if re.fullmatch(r"ceql/_core[^/]*\.(so|pyd|dylib|dll)", name)]
        expected = f"ceql/_core{module_ending(target, minor)}"
        if modules != [expected]:
            return [*found, f"It should hold {expected}, and holds {', '.join(modules) or 'none'}."]
        return found + module_faults(read_module(wheel.read(expected)), target, minor)


def module_faults(module: NativeModule, target: Target, minor: int) -> list[str]:
    """One sentence for each fault of the module."""
    found = []
    if (module.system, module.processor) != (target.system, target.processor):
        found.append(f"The module is for {module.system} on {module.processor or 'another processor'}.")
    foreign = sorted(name for name in module.libraries if not _is_expected(name, target, minor))
    if foreign:
        found.append(f"The module asks for {', '.join(foreign)}, which may be missing where it is installed.")
    if module.least > oldest_system(target):
        found.append(f"The module asks for version {'.'.join(map(str, module.least))} of the system.")
    return found


def oldest_system(target: Target) -> tuple[int, int]:
    """The version of glibc or macOS in the tag."""
    numbers = re.search(r"_(\d+)_(\d+)_", target.tag)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def _is_expected(library: str, target: Target, minor: int) -> bool:
    if not target.is_windows:
        return _C_LIBRARY.fullmatch(library) is not None
    python = "python3.dll" if is_stable(minor) else f"python3{minor}.dll"
    return library == python or _WINDOWS_LIBRARY.fullmatch(library) is not None
