"""Build backend: scikit-build-core, with zig standing in where no C++ compiler is installed.

`pip install ceql` has to work on a machine that has Python and nothing else. zig is a C++ compiler that
pip can fetch like any other build requirement, so it is asked for when the usual compilers are missing or
when CEQL_USE_ZIG=1 says so. On Windows the compiler is found by CMake itself and nothing is changed.
"""

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scikit_build_core import build as skbuild
from scikit_build_core.build import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = dict[str, list[str] | str] | None

# zig compiles for the machine it runs on unless told otherwise, and the wheel would fail elsewhere; the
# faster instruction sets are added per file and chosen at run time. -O3 and -s are for CMake's trial
# programs: linked with other options than the extension, they make zig compile its C++ library twice.
COMPILE = "-mcpu=baseline -O3 -s"
ZIG_TOOLS = {"cc": f"cc {COMPILE}", "c++": f"c++ {COMPILE}", "ar": "ar", "ranlib": "ranlib"}


def needs_zig() -> bool:
    """Whether this build compiles with zig."""
    if sys.platform == "win32":
        return False
    if os.environ.get("CEQL_USE_ZIG") == "1":
        return True
    return not (os.environ.get("CXX") or any(map(shutil.which, ("c++", "g++", "clang++"))))


@contextmanager
def compiler() -> Iterator[None]:
    """Point CMake to zig for the duration of a build, if this build needs it."""
    if not needs_zig():
        yield
        return
    import ziglang  # a build requirement of these builds alone

    zig = Path(ziglang.__file__).with_name("zig")
    before = os.environ.copy()
    with tempfile.TemporaryDirectory(prefix="ceql-zig-") as folder:
        # CMake wants an archiver that is one program; `zig ar` is two words, hence these one-line scripts.
        tools = {name: _script(Path(folder, f"zig-{name}"), zig, words) for name, words in ZIG_TOOLS.items()}
        archiver = f"-DCMAKE_AR={tools['ar']} -DCMAKE_RANLIB={tools['ranlib']}"
        os.environ |= {
            "CC": str(tools["cc"]),
            "CXX": str(tools["c++"]),
            "CMAKE_ARGS": f"{before.get('CMAKE_ARGS', '')} {archiver}".strip(),
        }
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def _script(path: Path, zig: Path, words: str) -> Path:
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(str(zig))} {words} "$@"\n')
    path.chmod(0o755)
    return path


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return skbuild.get_requires_for_build_wheel(config_settings) + ["ziglang"] * needs_zig()


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return skbuild.get_requires_for_build_editable(config_settings) + ["ziglang"] * needs_zig()


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    with compiler():
        return skbuild.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    with compiler():
        return skbuild.build_editable(wheel_directory, config_settings, metadata_directory)
