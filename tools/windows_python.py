"""What a module for Windows is compiled against, on a machine that has no Python for Windows.

The headers are those of the running Python, with a `pyconfig.h` that defines the differences on Windows. The import
libraries list the names of Python's API that nanobind may use, since nothing else in this project calls Python. If a
name were missing from the list, the linker would fail.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

_DEFINED = {
    "MS_WINDOWS": "", "MS_WIN32": "", "MS_WIN64": "", "NT_THREADS": "", "WITH_THREAD": "1",
    "Py_ENABLE_SHARED": "1", "HAVE_DECLSPEC_DLL": "", "PLATFORM": '"win32"', "COMPILER": '"[clang]"',
    "SIZEOF_SHORT": "2", "SIZEOF_INT": "4", "SIZEOF_LONG": "4", "SIZEOF_LONG_LONG": "8", "SIZEOF_VOID_P": "8",
    "SIZEOF_SIZE_T": "8", "SIZEOF_TIME_T": "8", "SIZEOF_WCHAR_T": "2", "SIZEOF_FLOAT": "4", "SIZEOF_DOUBLE": "8",
    "ALIGNOF_LONG": "4", "ALIGNOF_SIZE_T": "8", "ALIGNOF_MAX_ALIGN_T": "8",
    "HAVE_STDINT_H": "1", "HAVE_STDDEF_H": "1", "HAVE_SYS_TYPES_H": "1", "HAVE_SYS_STAT_H": "1",
    "HAVE_WCHAR_H": "1", "HAVE_ERRNO_H": "1",
}  # fmt: skip


def config_header() -> str:
    """Python's `pyconfig.h` for Windows on x86-64, as far as an extension module depends on it."""
    lines = [f"#define {name} {value}".rstrip() for name, value in _DEFINED.items()]
    return "\n".join(["#pragma once", *lines, "#include <stdio.h>", ""])


def interface_names(symbols: str) -> list[str]:
    """The names in nanobind's list for the linker of macOS."""
    return re.findall(r"^-U _(\w+)$", symbols, re.MULTILINE)


def prepare(folder: Path, minor: int, headers: Path, nanobind: Path, zig: Path) -> Path:
    """Writes headers and import libraries below `folder`; returns the file that points scikit-build-core to the
    latter."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(headers, folder / "include")
    (folder / "include" / "pyconfig.h").write_text(config_header())
    names = interface_names((nanobind / "cmake" / "darwin-ld-cpython.sym").read_text())
    libraries = folder / "libs"
    libraries.mkdir()
    for name in ("python3", f"python3{minor}"):
        exports = libraries / f"{name}.def"
        exports.write_text("\n".join([f"LIBRARY {name}.dll", "EXPORTS", *names, ""]))
        library = libraries / f"{name}.lib"
        subprocess.run([zig, "dlltool", "-m", "i386:x86-64", "-d", exports, "-l", library], check=True)
        # CMake takes a library without a DLL beside it for a static one, and links its dependencies
        (libraries / f"{name}.dll").touch()
    told = folder / "distutils.cfg"
    told.write_text(f"[build_ext]\nlibrary_dirs={libraries}\n")
    return told
